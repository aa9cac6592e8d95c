// Package command is the command line: the commands that start a server, those that
// operate on a database file, and those that call a running server.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CLI is the tree of all commands.
type CLI struct {
	Serve       Serve       `cmd:"" help:"Serve a database file."`
	Dev         Dev         `cmd:"" help:"Serve a temporary database with a demo shop and a control API, for tests and trials."`
	Init        Init        `cmd:"" help:"Make a file with a shop that is ready to stamp: location, program with prizes, till, key and the link of its owner."`
	Shop        ShopGroup   `cmd:"" help:"Create, list, change, move and delete shops."`
	Location    Group       `cmd:"" help:"Create and list locations, set a staff PIN."`
	Staff       Group       `cmd:"" help:"Add, list, update, disable and enable the people who work at tills, set their PINs."`
	Device      Group       `cmd:"" help:"Create, pair, list and revoke tills' devices."`
	Key         Group       `cmd:"" help:"Create, list, rotate and revoke keys."`
	Program     Group       `cmd:"" help:"Create, publish and change programs."`
	Prize       Group       `cmd:"" help:"Add, list, change and delete the prizes of a program."`
	Card        Group       `cmd:"" help:"Issue, find, show and change cards."`
	Webhook     Group       `cmd:"" help:"Create, list and test webhooks, read their delivery logs."`
	Wallet      WalletGroup `cmd:"" help:"Set up passes in wallets of phones."`
	Transaction Group       `cmd:"" help:"List the ledger."`
	Stats       Bound       `cmd:"" help:"Print the main figures of the shop or of a program."`
	Till        Till        `cmd:"" help:"Stamp, redeem, top up and spend at a running server, as a till does."`
	User        Group       `cmd:"" help:"Invite people, list their accounts, reset passwords, end sessions."`
	Audit       Bound       `cmd:"" help:"Print the audit log, newest first."`
	Check       Check       `cmd:"" help:"Verify a database file: integrity and invariants."`
	Migrate     Migrate     `cmd:"" help:"Bring a file of an older version to the schema of this one. A start of serve does the same."`
	Backup      Backup      `cmd:"" help:"Copy a database file while it is served; the copy is verified."`
	Restore     Restore     `cmd:"" help:"Replace a database file that is not served with a backup."`
	Export      Export      `cmd:"" help:"Write all data of a shop to a new folder or zip file with export --out, or a part of them."`
	Openapi     Openapi     `cmd:"" help:"Print the OpenAPI document of the REST API."`
	Version     Version     `cmd:"" help:"Print the version."`
	Upgrade     Upgrade     `cmd:"" help:"Tell whether a newer release is there."`
	MCP         MCP         `cmd:"" help:"Relay standard input and output to the MCP endpoint of a server, for assistants that speak stdio."`
	Healthcheck Healthcheck `cmd:"" help:"Exit with status 0 if a server is ready."`
	Help        Help        `cmd:"" help:"Print the help of a command."`
	Completion  Completion  `cmd:"" help:"Print a script by which bash or zsh completes commands and flags."`

	ShowVersion versionFlag `name:"version" env:"-" help:"Print the version."`
}

// New returns the tree of all commands, with those that are made of operations.
func New() *CLI {
	cli := &CLI{}
	tree := reflect.ValueOf(cli).Elem()
	for i := range tree.NumField() {
		addBound(tree.Field(i), strings.ToLower(tree.Type().Field(i).Name))
	}
	return cli
}

// For returns the tree of the commands that arguments can mean: the one that the first of
// them names, if it names one, and all otherwise. The parser reads the flags of every command
// of the tree, which for all of them takes about a third of the start of a server.
func For(args []string) any {
	all := reflect.TypeFor[CLI]()
	for i := range all.NumField() {
		name := strings.ToLower(all.Field(i).Name)
		if len(args) == 0 || args[0] != name || name == "help" || name == "completion" {
			continue
		}
		version, _ := all.FieldByName("ShowVersion")
		tree := reflect.New(reflect.StructOf([]reflect.StructField{all.Field(i), version}))
		addBound(tree.Elem().Field(0), name)
		return tree.Interface()
	}
	return New()
}

// addBound adds what is made of operations to a command or group.
func addBound(command reflect.Value, name string) {
	switch c := command.Addr().Interface().(type) {
	case *Group:
		c.Plugins = groupsOf(name)
	case *ShopGroup:
		c.Plugins = groupsOf(name)
	case *WalletGroup:
		c.Plugins, c.Apple.Plugins, c.Google.Plugins = groupsOf("wallet"), groupsOf("wallet apple"), groupsOf("wallet google")
	case *Bound:
		i := slices.IndexFunc(bindings, func(b binding) bool { return b.path == name })
		c.make(&bindings[i])
	}
}

// Group is a group of commands that are made of operations.
type Group struct{ kong.Plugins }

// Out is the output of the commands.
var Out io.Writer = os.Stdout

// File has the flags of a command on a database file, which may be served meanwhile.
type File struct {
	DB   string `default:"punchcard.db" type:"path" help:"The database file."`
	JSON bool   `name:"json" env:"-" help:"Print JSON."`
}

// OfShop has the flags of a command on one shop of the file.
type OfShop struct {
	File
	Shop string `placeholder:"TEXT" help:"The shop: its id or name; needed only if the file has several."`
}

// with opens the file, calls f, and closes the file. It shows the progress of what f does.
func (c File) with(opts store.Options, f func(*store.Store) error) error {
	opts.Readers, opts.Progress = 1, commandProgress(true)
	st, err := store.Open(c.DB, opts)
	if errors.Is(err, store.ErrOlder) {
		return fmt.Errorf("%w; bring it there with: punchcard migrate --db %s", err, shellWord(c.DB))
	}
	if err != nil {
		return err
	}
	err = f(st)
	if cerr := st.Close(); err == nil {
		err = cerr
	}
	if errors.As(err, new(usageError)) {
		return err
	}
	if _, refused := store.AsError(err); err != nil && !refused {
		return store.OpenError(c.DB, err)
	}
	return plain(err)
}

// fieldLimits are the bounds of fields that a server can set by flags. Commands have no
// such flags and use the defaults.
var fieldLimits = app.DefaultLimits().Fields()

// on returns the parameters of an operation on the resource with an id.
func on(id string) map[string]string { return map[string]string{"id": id} }

// existing are the store's options for a file that must exist.
var existing = store.Options{MustExist: true}

// person returns the caller at the command line, with the name of the system's
// account.
func person(shop int64) kernel.Caller {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return kernel.OperatorCaller(name, shop)
}

// hints are what an operator can do about an error.
var hints = map[error]string{
	store.ErrNoShop:       "make one with: punchcard shop create",
	store.ErrSeveralShops: "say which with --shop",
}

// plain returns an error of an operation as one line for the operator.
func plain(err error) error {
	e, ok := store.AsError(err)
	if !ok {
		return err
	}
	if len(e.Details) == 0 {
		message := e.Message
		if hint, ok := hints[e]; ok {
			message = strings.TrimSuffix(message, ".") + "; " + hint + "."
		}
		return errors.New(message)
	}
	return errors.New(strings.Join(faultsIn(err), "; "))
}

// faultsIn returns what is wrong with each flag by an error of an operation.
func faultsIn(err error) (faults []string) {
	if e, ok := store.AsError(err); ok {
		for _, d := range e.Details {
			faults = append(faults, faultOf(d))
		}
	}
	return faults
}

// show prints v as JSON, or calls human to print it as text.
func (c File) show(v any, human func(w io.Writer)) error {
	if c.JSON {
		_, err := Out.Write(append(printableJSON(wire.Append(nil, v)), '\n'))
		return err
	}
	w := tabwriter.NewWriter(Out, 0, 4, 2, ' ', 0)
	human(w)
	return w.Flush()
}
