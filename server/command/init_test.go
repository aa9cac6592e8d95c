package command

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/templates"
	"punchcard/server/wire"
	"punchcard/store"
)

// initArgs are the flags of init that have no default.
const initArgs = "init --name 'Bar Lux' --timezone Europe/Rome --email ada@example.com --location Centrale --address 'Via Po 1' " +
	"--city Torino --postal-code 10123 --country-code IT"

// folder returns the names in the folder of the file.
func (f *file) folder() (names []string) {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(f.db))
	noError(f.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestInit checks that init makes a shop that can issue cards at once, and that it leaves no file
// when it is refused and changes none that is there.
func TestInit(t *testing.T) {
	onStdin(t, "")
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	f.refused("init --name 'Bar Lux'", "missing flags: --timezone, --email, --location, --address, --city, --postal-code, --country-code")
	f.refused(
		initArgs+" --timezone Europe/Atlantis --country-code Italy --total-stamps 0 --currency LIR --email ada",
		"--timezone", "--country-code", "--total-stamps", "--currency", "--email",
	)
	f.refused(initArgs+" --program "+strings.Repeat("x", 201), "--program must be")
	f.refused(initArgs+" --prize 11=Cake", "total_stamps") // by the store
	f.refused(initArgs+" --prize Cake", "--prize (value 1)")
	f.refused(initArgs+" --public-url cards.example.com", "--public-url")
	f.refused(initArgs+" --write-deploy "+t.TempDir()+" --public-url http://127.0.0.1:8080", "--write-deploy", "https://")
	if left := f.folder(); len(left) != 0 {
		t.Fatalf("refused commands left %v", left)
	}

	deploy := filepath.Join(t.TempDir(), "deploy")
	args := initArgs + " --public-url https://lux.example.com/ --write-deploy " + deploy
	var made opened
	f.json(&made, args)
	if left := f.folder(); len(left) != 1 || left[0] != "shop.db" {
		t.Errorf("init left %v", left)
	}
	if !strings.HasPrefix(made.OwnerLink.URL, "https://lux.example.com/invite/") || !strings.HasPrefix(made.Key.Secret, "tsk_live_") ||
		!strings.HasPrefix(made.Device.Token, "tdk_live_") ||
		made.Shop.Currency != "EUR" || !made.Program.Active ||
		len(made.Program.Prizes) != 2 ||
		made.Device.LocationID != made.Location.ID {
		t.Errorf("made %+v", made)
	}
	for name, want := range map[string]string{
		"Caddyfile":         "\n{$CARDS_HOST:lux.example.com} {",
		"punchcard.service": "PUNCHCARD_PUBLIC_URL=https://lux.example.com\n",
	} {
		if text, err := os.ReadFile(filepath.Join(deploy, name)); err != nil || !strings.Contains(string(text), want) ||
			strings.Contains(string(text), "cards.example.com") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	f.prints("card issue 'coffee card' --holder-name Ada", "https://lux.example.com/i/")
	f.prints("card reissue Ada --public-url https://other.example.com", "https://other.example.com/i/", "Ada")
	f.prints("device pair --location Centrale", "https://lux.example.com/till/pair/", "█")
	f.prints("device list", "(Centrale)")
	f.prints("audit", "(Ada)", "(Centrale)")
	f.prints("check", "ok")
	before, _ := os.ReadFile(f.db)
	f.refused(initArgs, "is there already")
	if after, _ := os.ReadFile(f.db); string(after) != string(before) {
		t.Error("init changed a file that was there")
	}

	f.db = filepath.Join(t.TempDir(), "second.db")
	f.refused(args, "--write-deploy", "is there already")
	if left := f.folder(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	f.prints(initArgs+" --total-stamps 8 --prize '8=Pizza, large'", "punchcard serve --db "+f.db, "/invite/", "tsk_live_", "tdk_live_")
	var list struct{ Data []store.Program }
	if f.json(&list, "program list"); len(list.Data) != 1 || list.Data[0].TotalStamps.V != 8 {
		t.Errorf("the programs are %+v", list.Data)
	}
}

// TestInitOnFullDisk checks that init makes no file where the disk has room for the log of a new one alone.
func TestInitOnFullDisk(t *testing.T) {
	onStdin(t, "")
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1300k", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a full disk, since no tmpfs can be mounted here: %v %s", err, out)
	}
	defer exec.Command("umount", dir).Run()
	f := &file{t, filepath.Join(dir, "shop.db")}
	f.refused(initArgs, f.db, "full")
	if left := f.folder(); len(left) != 0 {
		t.Errorf("init on a full disk left %v", left)
	}
}

// programIn returns a program of a file with all of its fields, as JSON without ids, times
// and state.
func programIn(t *testing.T, st *store.Store, shop int64, id string) string {
	t.Helper()
	p, err := kernel.Do[store.ProgramForm](
		t.Context(),
		kernel.New(st, kernel.Config{}),
		person(shop),
		operation.GetProgramForm,
		kernel.Args{Params: on(id)},
	)
	noError(t, err)
	p.ID, p.CreatedAt, p.UpdatedAt, p.PublishedAt, p.Active = "", 0, 0, store.Null[store.Time]{}, false
	for i := range p.Prizes {
		p.Prizes[i].Prize = store.Prize{
			Threshold:   p.Prizes[i].Threshold,
			Name:        p.Prizes[i].Name,
			Description: p.Prizes[i].Description,
			Ordinal:     p.Prizes[i].Ordinal,
		}
	}
	return string(wire.Append(nil, &p))
}

// sendNewProgram sends the form of a template as the dashboard shows it, and returns the id
// of the program that it makes.
func sendNewProgram(t *testing.T, s *servertest.Server, session, template string) string {
	t.Helper()
	send := func(method, path string, fields url.Values) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, s.Origin+path, strings.NewReader(fields.Encode()))
		noError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.AddCookie(&http.Cookie{Name: "punchcard", Value: session})
		resp, err := s.HTTP.Do(req)
		noError(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	page, err := html.Parse(send("GET", "/dashboard/new/program?template="+template, nil).Body)
	noError(t, err)
	resp := send("POST", "/dashboard/new/program", formFields(page, "/dashboard/new/program"))
	id, ok := strings.CutPrefix(resp.Header.Get("Location"), "/dashboard/program/")
	if !ok {
		t.Fatalf("the form of %s: %s", template, resp.Status)
	}
	id, _, _ = strings.Cut(id, "?")
	return id
}

// formFields returns what the fields of the form for a path contain.
func formFields(page *html.Node, action string) url.Values {
	fields := url.Values{}
	for form := range page.Descendants() {
		if form.Data != "form" || attributes(form)["action"] != action {
			continue
		}
		for n := range form.Descendants() {
			a := attributes(n)
			_, checked := a["checked"]
			switch {
			case n.Data == "input" && a["name"] != "" && (checked || a["type"] != "checkbox" && a["type"] != "radio"):
				fields.Add(a["name"], a["value"])
			case n.Data == "textarea" && n.FirstChild != nil:
				fields.Add(a["name"], n.FirstChild.Data)
			case n.Data == "option" && attributes(n.Parent)["name"] != "":
				if _, selected := a["selected"]; selected {
					fields.Add(attributes(n.Parent)["name"], a["value"])
				}
			}
		}
	}
	return fields
}

func attributes(n *html.Node) map[string]string {
	all := map[string]string{}
	for _, a := range n.Attr {
		all[a.Key] = a.Val
	}
	return all
}

// TestTemplates makes a program of each template by init, by program create and by the form
// of the dashboard, in an Italian shop: all three are the same.
func TestTemplates(t *testing.T) {
	onStdin(t, "")
	s := servertest.Start(t)
	shop, session := s.Row(store.KindShop, s.ShopID), ""
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		if _, err := tx.UpdateShop(shop, store.ShopFields{Language: store.Given("it")}, ""); err != nil {
			return err
		}
		user, err := tx.AddUser(store.NewUser{Email: "ada@example.com", Name: "Ada", Language: "en", Operator: true})
		if err == nil {
			_, session, err = tx.BeginSession(store.NewSession{User: user, Shop: shop})
		}
		return err
	})
	for key, want := range map[string]struct {
		name   string
		prizes []string
	}{
		"coffee": {"Tessera caffè", []string{
			"Cornetto", "Caffè gratis",
		}}, "pizza": {"Tessera pizza", []string{"Bibita", "Pizza a scelta"}}, "gym": {"Pass palestra", nil},
		"gift": {"Carta regalo", nil}, "discount": {"Amici del negozio", nil},
	} {
		f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
		var made opened
		f.json(&made, initArgs+" --language it --template "+key+" --public-url "+s.Origin)
		var created store.ProgramDetail
		f.json(&created, "program create --template "+key+" --public-url "+s.Origin)
		st, err := store.Open(f.db, store.Options{})
		noError(t, err)
		in, err := st.ResolveShop("")
		noError(t, err)
		form := programIn(t, s.App.Store, shop, sendNewProgram(t, s, session, key))
		if byInit := programIn(t, st, in, made.Program.ID); byInit != form {
			t.Errorf("%s: init made\n%s\nand the form\n%s", key, byInit, form)
		}
		if byCreate := programIn(t, st, in, created.ID); byCreate != form {
			t.Errorf("%s: program create made\n%s\nand the form\n%s", key, byCreate, form)
		}
		var prizes []string
		for _, z := range made.Program.Prizes {
			prizes = append(prizes, z.Name)
		}
		if made.Program.Name != want.name || !slices.Equal(prizes, want.prizes) || !made.Program.Active {
			t.Errorf("%s: init made %s with %q", key, made.Program.Name, prizes)
		}
		noError(t, st.Close())
	}
	if keys := templates.Keys(); len(keys) != 5 {
		t.Errorf("there are the templates %v", keys)
	}
}

// TestTemplateFlags changes what templates have by flags, and checks the refusals of flags that
// contradict a template.
func TestTemplateFlags(t *testing.T) {
	onStdin(t, "")
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	f.refused(initArgs+" --template tea", "--template: must be coffee, pizza, gym, gift or discount")
	f.refused(initArgs+" --template gym --prize 5=Towel", "--prize: must be left out", "gym", "access")
	f.refused(initArgs+" --template gift --total-stamps 5", "--total-stamps: must be left out", "gift", "prepaid")
	f.refused(initArgs+" --total-stamps 5", "--total-stamps: must be above 5", "Croissant", "--prize")
	if left := f.folder(); len(left) != 0 {
		t.Fatalf("refused commands left %v", left)
	}
	f.run(initArgs + " --program 'Lux card'")
	for _, c := range []struct {
		flags       string
		name        string
		stamps      int64
		prizes      string
		description bool
	}{
		{"", "Coffee card", 10, "5=Croissant 10=Free coffee", true},
		{"--name Lunch", "Lunch", 10, "5=Croissant 10=Free coffee", true},
		{"--total-stamps 12", "Coffee card", 12, "5=Croissant 12=Free coffee", false},
		{"--total-stamps 10 --prize 5=Croissant --prize '10=Free coffee'", "Coffee card", 10, "5=Croissant 10=Free coffee", true},
		{"--prize 10=Cake", "Coffee card", 10, "10=Cake", false},
		{"--prize none", "Coffee card", 10, "", false},
		{"--prize none --description Ours", "Coffee card", 10, "", true},
		{"--total-stamps 3 --prize 3=Tea", "Coffee card", 3, "3=Tea", false},
	} {
		var p store.ProgramDetail
		f.json(&p, "program create --template coffee "+c.flags)
		var prizes []string
		for _, z := range p.Prizes {
			text, _ := json.Marshal(z.Threshold)
			prizes = append(prizes, string(text)+"="+z.Name)
		}
		if got := strings.Join(prizes, " "); p.Name != c.name || p.TotalStamps.V != c.stamps || got != c.prizes ||
			(p.Description != "") != c.description {
			t.Errorf("%s made %s of %d stamps with %s, described as %q", c.flags, p.Name, p.TotalStamps.V, got, p.Description)
		}
	}
	f.prints("program create --template gym", "Gym pass") // with the public URL of init
	f = newFile(t)
	t.Setenv("PUNCHCARD_PUBLIC_URL", "")
	f.refused("card issue Coffee", "--public-url (PUNCHCARD_PUBLIC_URL): is required")
	f.refused("program create --template gym", "--template: gym needs --public-url (PUNCHCARD_PUBLIC_URL)", "--access-image-url")
	f.refused("program create --template gym --public-url cards.example.com", "--public-url")
	f.prints("program create --template gym --access-image-url https://example.com/gym.png", "Gym pass")
	f.refused(
		"program create --template gym --access-image-url https://example.com/gym.png --type prepaid", "--type: must be left out or access",
	)
	f.refused("program create --template gift --prize 5=Cake", "--prize: must be left out")
	f.refused("program create --template coffee --total-stamps 0", "--total-stamps must be at least 1")
}

// shopAnswers are answers to the questions of init about the shop and its first location.
var shopAnswers = []string{"Bar Lux", "Europe/Rome", "", "it", "ada@example.com", "Centrale", "Via Po 1", "Torino", "10123", "IT"}

// emptyInit returns the command without flags.
func emptyInit(t *testing.T) Init { return Init{File: File{DB: filepath.Join(t.TempDir(), "shop.db")}} }

// answerInit runs the command with answers, and returns it as it is afterwards, and what it has asked.
func answerInit(c Init, answers ...string) (*Init, string, error) {
	var asked strings.Builder
	in := bufio.NewReader(strings.NewReader(strings.Join(answers, "\n") + "\n"))
	err := c.run(&asker{in: in, out: &asked, terminal: true})
	return &c, asked.String(), err
}

// TestInitAsks answers the questions of init at a terminal, some of them wrongly at first.
func TestInitAsks(t *testing.T) {
	Out = new(strings.Builder)
	programOf := func(c *Init) string {
		f := &file{t, c.DB}
		return f.run("program list") + f.run("prize list '"+c.Program+"'")
	}

	c, asked, err := answerInit(emptyInit(t), append(shopAnswers, "", "", "", "", "")...)
	if err != nil || c.Template != "coffee" || c.Program != "Tessera caffè" {
		t.Errorf("the defaults made %+v: %v", c, err)
	}
	for _, want := range []string{
		"  1  coffee    Coffee card: ", "  5  discount  10 % discount: ", "Number or word [1]: ", "[Tessera caffè]", "[10]",
		"[5=Cornetto, 10=Caffè gratis]", "[http://127.0.0.1:8080]",
	} {
		if !strings.Contains(asked, want) {
			t.Errorf("init did not ask %q:\n%s", want, asked)
		}
	}
	wrong := []string{
		"Bar Lux", "Europe/Atlantis", "Europe/Rome", "LIR", "EUR", "la", "it", "ada", "ada@example.com", "", "Centrale", "Via Po 1",
		"Torino", "10123", "Italy", "IT",
	}
	c, asked, err = answerInit(
		emptyInit(t),
		append(
			wrong, "6", "tea", "PIZZA", "Pizze", "0", "5", "Torta", "2=Torta", "9=Pizza", "", "cards.example.com", "", "2=Torta", "5=Pizza",
			"",
		)...)
	if err != nil {
		t.Fatalf("%v:\n%s", err, asked)
	}
	for _, want := range []string{
		"--timezone must be", "--currency must be", "--language must be", "--email must be", "--country-code must be",
		"--template: must be", "--total-stamps must be at least 1", "--prize (value 1): must be the number of stamps", "--public-url",
		"above the program's total_stamps of 5", "Prizes [4=Bibita, 5=Pizza a scelta]",
	} {
		if !strings.Contains(asked, want) {
			t.Errorf("init did not say %q:\n%s", want, asked)
		}
	}
	if got := programOf(c); !strings.Contains(got, "Torta") || !strings.Contains(got, "Pizze") || !strings.Contains(got, "5 stamps") ||
		strings.Contains(got, "Bibita") {
		t.Errorf("made %s", got)
	}
	c, asked, err = answerInit(emptyInit(t), append(shopAnswers, "3", "", "")...)
	if err != nil || c.Template != "gym" || strings.Contains(asked, "Stamps of a full card") || strings.Contains(asked, "Prizes") {
		t.Errorf("gym made %+v: %v\n%s", c, err, asked)
	}
	c, _, err = answerInit(emptyInit(t), append(shopAnswers, "1", "", "", "none", "")...)
	if err != nil || strings.Contains(programOf(c), "Cornetto") {
		t.Errorf("no prizes: %v", err)
	}
	c, asked, err = answerInit(emptyInit(t), append(shopAnswers, "1", "", "4", "", "")...) // too few for the template's prizes
	if err != nil || !strings.Contains(asked, "Prizes [none]") || strings.Contains(programOf(c), "Cornetto") {
		t.Errorf("four stamps: %v\n%s", err, asked)
	}
}

// TestInitAsksTheRest answers the questions of init that flags leave, and checks that it refuses
// flags before it asks.
func TestInitAsksTheRest(t *testing.T) {
	Out = new(strings.Builder)
	given := emptyInit(t)
	given.Prize = []string{"10=Cake"}
	if _, asked, err := answerInit(given, append(shopAnswers, "gym", "coffee", "", "", "")...); err != nil ||
		!strings.Contains(asked, "--prize: must be left out") ||
		strings.Contains(asked, "Prizes") {
		t.Errorf("prizes by a flag: %v\n%s", err, asked)
	}
	given = emptyInit(t)
	given.Template, given.Prize, given.Timezone = "gym", []string{"10=Cake"}, "Europe/Rome"
	if _, asked, err := answerInit(given, shopAnswers...); err == nil || !strings.Contains(err.Error(), "--prize") || asked != "" {
		t.Errorf("init asks before it refuses flags: %v\n%s", err, asked)
	}
	given = emptyInit(t)
	given.Timezone = "Europe/Atlantis"
	if _, asked, err := answerInit(given, shopAnswers...); err == nil || !strings.Contains(err.Error(), "--timezone") ||
		strings.Contains(err.Error(), "--name") ||
		asked != "" {
		t.Errorf("init asks before it refuses a flag: %v\n%s", err, asked)
	}
	given = emptyInit(t)
	if _, _, err := answerInit(given, shopAnswers...); err != errNotConfirmed {
		t.Errorf("the input ends: %v", err)
	}
	if left := (&file{t, given.DB}).folder(); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}
