package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"punchcard/deploy"
	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
	storefile "punchcard/store/file"
)

// Init is the command that makes a file with a shop that is ready to stamp. It makes the
// file completely or not at all.
type Init struct {
	File
	Name        string `env:"-" help:"Name of the shop."`
	Timezone    string `env:"-" help:"IANA time zone, such as Europe/Rome."`
	Currency    string `env:"-" help:"ISO 4217. Default: EUR."`
	Language    string `env:"-" help:"Of its pages and mail: en, it, es, fr, de or pt. Default: en."`
	Email       string `env:"-" help:"Email of the owner, who gets an account by a one-time link."`
	Location    string `env:"-" help:"Name of the first location."`
	Address     string `env:"-" help:"Its street and number."`
	City        string `env:"-" help:"Its city."`
	PostalCode  string `env:"-" help:"Its postal code."`
	CountryCode string `env:"-" help:"Its country: two letters A-Z."`
	templateFlag
	Program     string   `env:"-" help:"Name of the program. Default: that of the template, which is coffee by default."`
	TotalStamps string   `env:"-" placeholder:"N" help:"Stamps of a full card. Default: those of the template, whose prize for a full card moves with them."`
	Prize       []string `env:"-" sep:"none" placeholder:"STAMPS=NAME" help:"A prize of the stamp card; may be repeated. Default: those of the template; none for no prizes."`
	PublicURL   string   `name:"public-url" placeholder:"URL" help:"Where customers reach the server, which the file remembers for serve and all commands. Default: http://127.0.0.1:8080, for a trial on this machine."`
	WriteDeploy string   `type:"path" env:"-" placeholder:"DIR" help:"Also write a Caddyfile and a unit file of systemd for the public URL into this folder."`
}

// step is an operation of init.
type step struct {
	op    *kernel.Operation
	form  url.Values
	flags *strings.Replacer // the flags of init in place of those of the operation
	run   func(*kernel.Kernel, kernel.Caller, kernel.Input) error
}

// newStep returns the step that runs an operation and keeps its answer in made.
func newStep[O any](op *kernel.Operation, form url.Values, flags *strings.Replacer, made *O) step {
	return step{op, form, flags, func(k *kernel.Kernel, by kernel.Caller, in kernel.Input) (err error) {
		*made, err = kernel.Do[O](context.Background(), k, by, op, in)
		return err
	}}
}

// steps returns the operations in their order, without the ids that only earlier ones make. They keep their answers in o.
func (c *Init) steps(o *opened) ([]step, error) {
	fields := func(pairs ...string) url.Values {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	same, program, ofProgram := strings.NewReplacer(), url.Values{}, strings.NewReplacer("--name", "--program")
	return []step{
		newStep(
			operation.OpenShop,
			fields("name", c.Name, "timezone", c.Timezone, "currency", c.Currency, "language", c.Language, "country_code", c.CountryCode),
			same,
			&o.Shop,
		),
		newStep(
			operation.CreateLocation,
			fields("name", c.Location, "address", c.Address, "city", c.City, "postal_code", c.PostalCode, "country_code", c.CountryCode),
			strings.NewReplacer("--name", "--location"),
			&o.Location,
		),
		newStep(operation.CreateDevice, fields("location_id", "-", "name", "Till"), same, &o.Device),
		newStep(operation.CreateProgramWithPrizes, program, ofProgram, &o.Program),
		newStep(operation.PublishProgram, url.Values{}, ofProgram, &o.Program),
		newStep(operation.CreateKey, fields("name", "First key"), same, &o.Key),
		newStep(operation.InvitePerson, fields("email", c.Email, "role", "operator"), same, &o.OwnerLink),
	}, c.fillProgram(program)
}

// fillProgram adds the fields of the program: those of the flags, and what else its template
// has.
func (c *Init) fillProgram(form url.Values) error {
	for field, value := range map[string]string{"name": c.Program, "total_stamps": c.TotalStamps} {
		if value != "" {
			form.Set(field, value)
		}
	}
	if err := addPrizes(form, "prizes", c.Prize); err != nil || c.Template == "" {
		return err
	}
	t, err := c.find()
	if err != nil {
		return err
	}
	return fillTemplate(form, t, c.Language, c.PublicURL)
}

// faults returns what is wrong with the values of flags, each with its flag. It returns an
// error for what no operation can judge.
func (c *Init) faults() (faults []string, err error) {
	steps, err := c.steps(&opened{})
	for _, s := range steps {
		err := s.op.Validate(kernel.Form{Fields: s.form}, fieldLimits, store.TimeOf(time.Now()))
		for _, fault := range faultsIn(err) {
			faults = append(faults, s.flags.Replace(fault))
		}
	}
	if c.PublicURL != "" {
		if _, err := app.CheckPublicURL(c.PublicURL, app.PublicURLFlag); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults, err
}

// opened is what init has made. It is printed once.
type opened struct {
	DB        string                  `json:"db"`
	Shop      store.Shop              `json:"shop"`
	Location  store.Location          `json:"location"`
	Program   store.ProgramDetail     `json:"program"`
	Key       operation.CreatedKey    `json:"key"`
	Device    operation.CreatedDevice `json:"device"`
	OwnerLink store.CreatedLink       `json:"owner_link"`
}

// Run makes the file.
func (c *Init) Run() error { return c.run(newAsker()) }

func (c *Init) run(a *asker) error {
	if _, err := os.Lstat(c.DB); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--db (PUNCHCARD_DB): %s is there already; init makes a new file, and punchcard shop create a further shop", c.DB)
	}
	if err := c.askAll(a); err != nil {
		return err
	}
	files, err := c.deployFiles()
	if err != nil {
		return err
	}
	if err := c.check(""); err != nil {
		return err
	}
	o := opened{DB: c.DB}
	err = c.build(&o)
	for errors.As(err, new(programError)) && a.terminal { // the store judges the prizes, after all questions
		a.say(err.Error())
		if err = c.askPrizes(a); err == nil {
			err = c.build(&o)
		}
	}
	if err != nil {
		return err
	}
	if failed := writeNew(files); failed != nil { // the secrets are shown all the same
		err = fmt.Errorf("the shop is in %s, but --write-deploy: %w", c.DB, failed)
		files = nil
	}
	return errors.Join(err, c.show(&o, func(w io.Writer) { c.print(w, o, files) }))
}

// build makes the shop in a file of a folder of its own, and then gives the file its name,
// so that a process that is killed leaves no half of a shop.
func (c *Init) build(o *opened) error {
	steps, err := c.steps(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(c.DB), ".punchcard-init-")
	if err != nil {
		return fmt.Errorf("--db (PUNCHCARD_DB): %w", err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "shop.db")
	err = File{DB: made}.with(store.Options{PublicURL: c.PublicURL}, func(st *store.Store) error {
		k := kernel.New(st, kernel.Config{Fields: fieldLimits})
		shop := int64(0)
		for _, s := range steps {
			if s.form.Has("location_id") {
				s.form.Set("location_id", o.Location.ID)
			}
			err := s.run(k, person(shop), kernel.Form{Params: on(o.Program.ID), Fields: s.form})
			switch {
			case err != nil:
				err = usageError(s.flags.Replace(plain(err).Error()))
			case shop == 0:
				shop, err = st.ResolveShop(o.Shop.ID)
			}
			if err != nil && s.op == operation.CreateProgramWithPrizes {
				err = programError{err}
			}
			if err != nil {
				return err
			}
		}
		return st.Write(
			context.Background(),
			store.Write{Actor: person(0).Actor, Do: func(tx *store.Tx) error { return tx.RememberPublicURL(c.PublicURL) }},
		)
	})
	if err != nil {
		return err
	}
	// SQLite moves the log into the file when it closes that, and keeps the log without an error if it cannot.
	if _, err := os.Lstat(made + "-wal"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--db (PUNCHCARD_DB): %s was not made, since the disk is full or has failed", c.DB)
	}
	if err := os.Link(made, c.DB); err != nil {
		return fmt.Errorf("--db (PUNCHCARD_DB): %w", err)
	}
	return storefile.SyncFolder(c.DB)
}

// programError is the error of a program that the store refuses.
type programError struct{ error }

func (e programError) Unwrap() error { return e.error }

// deployFiles returns the files of --write-deploy by their paths. None of them may exist.
func (c *Init) deployFiles() (map[string]string, error) {
	publicURL, err := app.CheckPublicURL(c.PublicURL, app.PublicURLFlag)
	if err != nil {
		return nil, err
	}
	if c.PublicURL = publicURL; c.WriteDeploy == "" {
		return nil, nil
	}
	u, _ := url.Parse(publicURL)
	if u.Scheme != "https" || u.Port() != "" || u.Path != "" {
		return nil, fmt.Errorf("--write-deploy: needs a --public-url such as https://%s, without a port and a path", deploy.Host)
	}
	files := map[string]string{}
	for name, text := range map[string]string{"Caddyfile": deploy.Caddyfile, "punchcard.service": deploy.Unit} {
		path := filepath.Join(c.WriteDeploy, name)
		if _, err := os.Lstat(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("--write-deploy: %w", err)
		} else if err == nil {
			return nil, fmt.Errorf("--write-deploy: %s is there already, and is not replaced", path)
		}
		files[path] = strings.ReplaceAll(text, deploy.Host, u.Host)
	}
	return files, nil
}

// writeNew writes files that must not exist, and their folder.
func writeNew(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// atTill returns what the command till does with a card of a program of a type.
func atTill(programType string) string {
	switch {
	case store.CollectsStamps(programType):
		return "stamp SHORT-CODE"
	case programType == store.ProgramPrepaid:
		return "spend SHORT-CODE 5.00"
	}
	return "use SHORT-CODE"
}

// print prints what was made, and what comes next.
func (c *Init) print(w io.Writer, o opened, files map[string]string) {
	printf(
		w,
		"The shop %s is in %s, with the location %s and the program %s.\n\n"+
			"These are shown this once. The owner's account, by a link that is valid until %s once the server runs:\n\n%s\n\n",
		o.Shop.Name, o.DB, o.Location.Name, o.Program.Name, o.OwnerLink.ExpiresAt, o.OwnerLink.URL,
	)
	printf(w, "A key for the API:\n\n%s\n\nThe token of the first till:\n\n%s\n\nNext:\n\n", o.Key.Secret, o.Device.Token)
	db := shellWord(o.DB)
	printf(w, "  punchcard serve --db %s\n  punchcard card issue %s --holder-name Ada --db %s\n", db, shellWord(o.Program.Name), db)
	printf(
		w, "  punchcard card show Ada --db %s\n  PUNCHCARD_TILL_TOKEN=… punchcard till %s\n"+
			"  punchcard device pair --location %s --db %s\n",
		db,
		atTill(o.Program.Type),
		shellWord(o.Location.Name),
		db,
	)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		printf(w, "\n%s is written.\n", path)
	}
}
