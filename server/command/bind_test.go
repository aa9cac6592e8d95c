package command

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// file is a database for running commands in the test's process. Its methods set Out, so
// tests with one do not run in parallel.
type file struct {
	t  *testing.T
	db string
}

func newFile(t *testing.T) *file {
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	t.Setenv("PUNCHCARD_PUBLIC_URL", "https://cards.example.com")
	f.run("shop", "create", "--name", "Bar Lux")
	return f
}

// try runs a command on the file.
func (f *file) try(args ...string) (string, error) {
	f.t.Helper()
	var out bytes.Buffer
	Out = &out
	parser, err := kong.New(New(), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Setenv("PUNCHCARD_DB", f.db)
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run()
	}
	return out.String(), err
}

// run runs a command that must succeed.
func (f *file) run(args ...string) string {
	f.t.Helper()
	out, err := f.try(args...)
	if err != nil {
		f.t.Fatalf("%v: %v", args, err)
	}
	return out
}

// json runs a command with --json and decodes its output.
func (f *file) json(v any, args ...string) {
	f.t.Helper()
	if out := f.run(append(args, "--json")...); json.Unmarshal([]byte(out), v) != nil {
		f.t.Fatalf("%v printed %q", args, out)
	}
}

// prints checks that the output of a command contains texts.
func (f *file) prints(args []string, texts ...string) {
	f.t.Helper()
	out := f.run(args...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			f.t.Errorf("%v lacks %q:\n%s", args, text, out)
		}
	}
}

// refused checks that a command is refused with texts.
func (f *file) refused(args []string, texts ...string) {
	f.t.Helper()
	out, err := f.try(args...)
	if err == nil || out != "" {
		f.t.Errorf("%v: no error, but %q", args, out)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			f.t.Errorf("%v: the error lacks %q: %v", args, text, err)
		}
	}
}

// value returns the first value that a query of the file has.
func (f *file) value(query string) (v string) {
	f.t.Helper()
	db, err := sql.Open("sqlite", "file:"+f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&v); err != nil {
		f.t.Fatal(err)
	}
	return v
}

func words(text string) []string { return strings.Fields(text) }

// TestBoundPrograms makes, publishes and changes a program and its prizes.
func TestBoundPrograms(t *testing.T) {
	f := newFile(t)
	f.prints([]string{"program", "create", "--name", "Coffee card", "--type", "standard", "--total-stamps", "10", "--icon-key", "cup", "--no-repeat-after-reset", "--prize", "5=Croissant", "--prize", "10=Coffee, large"}, "Coffee card", "10 stamps", "draft", "Coffee, large")
	f.refused(words("program create"), "--name is required", "--type is required")
	f.refused(words("program create --name Tea --type standard --total-stamps 1001 --bg-color-hex red"), "--total-stamps must be", "--bg-color-hex")
	f.refused(words("program create --name Tea --type standard --prize 5"), "--prize (value 1)", "10=Free coffee")
	f.refused(words("program create --name Tea --type standard --total-stamps 5 --icon-key cup --prize 3=Cake --prize 9=Tart"), "total_stamps")
	f.refused([]string{"program", "create", "--name", " "}, "--name: must not be empty")
	f.refused(words("card issue coffee"), "no program is named coffee; there are: prg_", "(Coffee card, draft)")
	f.prints([]string{"program", "publish", "coffee CARD"}, "published")
	f.run(words("program create --name Bare --type private --total-stamps 3 --icon-key star")...)
	f.prints(words("program publish Bare"), "It has no prizes: see punchcard prize add.")
	f.prints([]string{"program", "suspend", "Coffee card"}, "suspended")
	f.prints([]string{"program", "unsuspend", "Coffee card"}, "published")
	f.prints([]string{"program", "unpublish", "Coffee card"}, "draft")
	f.prints(words("program list"), "Coffee card")
	f.run(words("program create --name Tea --type discount --discount-percent 12.5")...)
	f.run(words("program create --name Tea --type prepaid --initial-balance-cents 2550")...)
	f.prints(words("program list"), "12.5 %", "2550 cents at first")
	f.refused(words("program show Tea"), "2 programs are named Tea", "give the id of one: prg_")
	f.refused(words("program show prg_none"), "No such program")

	f.prints([]string{"prize", "add", "Coffee card", "--threshold", "8", "--name", "Cake"}, "Cake")
	f.refused([]string{"prize", "add", "Coffee card", "--threshold=-1"}, "--threshold must be at least 0", "--name is required")
	f.prints([]string{"prize", "update", "Coffee card", "croissant", "--name", "Cornetto", "--description", "Warm"}, "Cornetto", "Warm")
	f.prints([]string{"prize", "update", "Coffee card", "Cornetto", "--description", "none"}, "Cornetto", " -")
	f.refused([]string{"prize", "update", "Coffee card", "Cornetto", "--name", ""}, "--name: must not be empty")
	f.prints([]string{"prize", "delete", "Coffee card", "Cake"}, "deleted")
	f.refused([]string{"prize", "delete", "Coffee card", "Cake"}, "no prize is named Cake", "Coffee, large, 10 stamps")
	var ladder operation.Ladder
	if f.json(&ladder, "prize", "list", "Coffee card"); len(ladder.Data) != 2 {
		t.Errorf("the ladder is %+v", ladder)
	}
	f.prints(words("shop create --name Second"), "has 2 shops now, so commands need --shop")
	f.refused(words("program list"), "--shop")
}

// TestBoundCards issues cards and names them by what their holders have.
func TestBoundCards(t *testing.T) {
	f := newFile(t)
	f.run(words("program create --name Coffee --type standard --total-stamps 10 --icon-key cup")...)
	f.run(words("program publish Coffee")...)
	f.prints(words("card issue Coffee --holder-name Ada --holder-email ada@example.com --external-ref M-1"), "https://cards.example.com/i/")
	f.run(words("card issue Coffee --holder-name Adam --external-ref M-2 --expires 90d")...)
	f.run(words("card issue Coffee --holder-name Ada")...)
	f.refused(words("card issue Coffee --external-ref M-1"), "already has a live card")
	f.refused(words("card issue Coffee --expires never"), "--expires")
	f.refused(words("card issue Coffee --expires yesterday"), "--expires", "90d")
	f.prints(words("card find ada"), "M-1", "M-2", "0 of 10")
	f.prints(words("card find --status invited --limit 1"), "ID")
	f.refused(words("card find --status lost"), "--status")
	f.prints(words("card show ADA@example.com"), "M-1", "Short code")
	f.refused(words("card lock Ada"), "2 cards are named Ada", "ada@example.com, M-1, Coffee, invited")
	f.refused(words("card lock Grace"), "no card is named Grace")
	f.prints(words("card lock ada@example.com"), "locked")
	f.prints(words("card unlock M-1"), "invited")
	var shown struct {
		ShortCode string `json:"short_code"`
	}
	f.json(&shown, "card", "show", "M-1")
	f.prints([]string{"card", "lock", shown.ShortCode}, "locked")
	f.prints([]string{"card", "unlock", strings.ToLower(shown.ShortCode)}, "invited")
	f.prints(words("card update M-2 --expires none --holder-email adam@example.com"), "adam@example.com")
	f.refused(words("card update M-2 --holder-email nobody"), "--holder-email")
	f.refused([]string{"card", "update", "M-2", "--holder-email", ""}, "--holder-email: must not be empty; none clears it")
	f.prints(words("card link M-2"), "https://cards.example.com/i/")
	f.prints(words("card archive M-2"), "archived")
	f.run(words("card issue Coffee --external-ref M-2")...)
	f.prints(words("card show M-2"), "invited") // not the archived one
	f.refused(words("card delete M-1"), "Erase the holder of crd_", "M-1", "--yes")
	f.prints(words("card show M-1"), "Ada")
	f.prints(words("transaction list --program Coffee --card M-1 --from 30d"), "AT")
	f.refused(words("transaction list --program Tea"), "--program: no program is named Tea")
	f.refused(words("transaction list --limit -1"), "--limit")
	f.prints(words("stats"), "New cards of 30 days", "4")
	f.prints(words("stats coffee"), "Stamps given")
	f.prints(words("card delete M-1 --yes"), "deleted")
	f.refused(words("card show M-1"), "no card is named M-1")
	f.refused(words("program delete Coffee"), "Delete the program prg_", "(Coffee, published)", "--yes")
	f.prints(words("program delete Coffee --yes"), "deleted")
	f.run(words("key create --name CRM")...)
	f.refused(words("key revoke-all"), "--yes")
	f.prints(words("key rotate CRM"), "CRM")
	f.refused(words("key revoke CRM"), "2 keys are named CRM")
	f.prints(words("key revoke-all --yes"), "2 keys revoked")
}

// TestBoundWebhooks makes a webhook and reads its log.
func TestBoundWebhooks(t *testing.T) {
	f := newFile(t)
	f.run(words("program create --name Coffee --type discount --discount-percent 10")...)
	create := words("webhook create Coffee --url http://127.0.0.1:9/hook --event card.*,stamp.assigned --only-program Coffee")
	f.refused(create, "--url")
	f.refused(words("webhook create Coffee --url https://127.0.0.1:9/hook --event *"), "--url")
	f.refused(words("webhook create Coffee --url https://192.0.2.1/ --event card.gone --payload-version v3"), "--event", "--payload-version")
	relaxed := append(create, "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	var made struct{ ID, Secret string }
	if f.json(&made, relaxed...); !strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("created %+v", made)
	}
	f.prints(words("webhook list"), made.ID, "card.* stamp.assigned", "active")
	f.prints(words("webhook test http://127.0.0.1:9/hook --wait 1ms"), "test.ping", "pending", "punchcard serve")
	f.prints([]string{"webhook", "log", made.ID}, "test.ping")
	f.refused(words("webhook log whk_none"), "No such webhook")
	f.refused([]string{"webhook", "redeliver", made.ID, "dlv_none"}, "No such")
	f.refused([]string{"webhook", "test", made.ID, "--wait", "-1s"}, "--wait")
}

// TestEmptyDatabasePath checks that a variable that is set to nothing is no file, and no
// folder in which one is made.
func TestEmptyDatabasePath(t *testing.T) {
	t.Chdir(t.TempDir())
	onStdin(t, "")
	f := &file{t, ""} // sets PUNCHCARD_DB
	for _, args := range [][]string{{"serve"}, initArgs, words("program list"), words("shop create --name Lux"), words("check"), words("backup copy.db"), words("restore copy.db"), words("program list --db="), words("staff list")} {
		f.refused(args, "--db: must not be empty")
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// withoutFlag are the fields of operations that a command cannot set by a flag, by command
// and field, each with the reason.
var withoutFlag = map[string]string{
	"program create prizes.name_localizations":        "--prize has stamps and name; prize update sets the rest, as long as the program is a draft",
	"program create prizes.description":               "as prizes.name_localizations",
	"program create prizes.description_localizations": "as prizes.name_localizations",
	"program create prizes.ordinal":                   "the order of the flags",
	"shop update mode":                                "it is part of the keys, and never changes",
	"location create staff_pin":                       "location set-pin reads it from standard input",
	"key rotate grace_hours":                          "--credential-rotation-grace-hours is that of the deployment, and of the command",
	"staff add pin":                                   "it is read from standard input",
}

// unbound are the operations of commands that are written by hand.
var unbound = map[string][]*kernel.Operation{
	"shop create": {operation.CreateShop}, "shop update": {operation.UpdateShop}, "location create": {operation.CreateLocation}, "staff add": {operation.CreateStaff},
	"device create": {operation.CreateDevice}, "key create": {operation.CreateKey}, "key rotate": {operation.RotateKey}, "user invite": {operation.InvitePerson},
	"program update": {operation.UpdateProgramSettings, operation.UpdateEnrolment},
}

// TestSecretFlags makes webhooks with what is sent to their receivers alone, and checks that
// nothing prints it.
func TestSecretFlags(t *testing.T) {
	f := newFile(t)
	f.run(words("program create --name Coffee --type discount --discount-percent 10")...)
	create := func(more ...string) []string {
		return append(words("webhook create Coffee --url https://192.0.2.1/hook --event card.* --webhook-allow-cidr 192.0.2.0/24"), more...)
	}
	stored := func() string {
		return f.value("SELECT ifnull(bearer_token, '-') || ' ' || custom_headers || ' ' || http_method FROM webhooks ORDER BY id DESC")
	}
	hide := func(out string, err error) string {
		t.Helper()
		if err != nil {
			out += err.Error()
		}
		if strings.Contains(out, "s3same") || strings.Contains(out, "0pen") {
			t.Errorf("a secret is printed: %s", out)
		}
		return out
	}
	file := filepath.Join(t.TempDir(), "headers")
	large := file + ".large"
	if err := os.WriteFile(large, make([]byte, maxHeaderFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("X-Token: s3same\r\n\nX-Other:a:b\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	onStdin(t, "0pen-t0ken\nmore\n")
	var made store.CreatedWebhook
	out := hide(f.try(create("--bearer-token", "--http-method", "PUT", "--header", "X-Shop: main, 2; x", "--header-file", file, "--json")...))
	if err := json.Unmarshal([]byte(out), &made); err != nil || !made.HasBearerToken || made.HTTPMethod != "PUT" || len(made.CustomHeaders) != 3 {
		t.Errorf("created %s: %v", out, err)
	}
	if got := stored(); got != `0pen-t0ken {"X-Other":"a:b","X-Shop":"main, 2; x","X-Token":"s3same"} PUT` {
		t.Errorf("the file has %s", got)
	}
	onStdin(t, "X-Token: s3same\n")
	hide(f.try(create("--header-file", "-")...))
	if got := stored(); got != `- {"X-Token":"s3same"} POST` {
		t.Errorf("from standard input: %s", got)
	}
	before := f.run("webhook", "list")
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"--bearer-token"}, "--bearer-token: the first line of standard input is empty"},
		{"s3same 0pen\n", []string{"--bearer-token"}, "--bearer-token must be"},
		{strings.Repeat("s3same", 500), []string{"--bearer-token"}, "--bearer-token must be"},
		{"x\n", []string{"--bearer-token=s3same"}, "--bearer-token: is read from standard input"},
		{"x\n", []string{"--bearer-token", "--header-file", "-"}, "--header-file: must be a file"},
		{"", []string{"--header", "s3same"}, "--header: value 1 must be a name, a colon and a value"},
		{"", []string{"--header", "X-A: b", "--header", ":s3same"}, "--header: value 2 must be"},
		{"", []string{"--header", ""}, "--header: value 1 must be"},
		{"", []string{"--header", "X-A: 0pen", "--header", "X-A: s3same"}, "--header: value 2 has the name of an earlier header"},
		{"", []string{"--header", "X-Token: x", "--header-file", file}, "--header-file: line 1 has the name"},
		{"X-A: b\n\n0pen\n", []string{"--header-file", "-"}, "--header-file: line 3 must be"},
		{"", []string{"--header-file", large}, "--header-file: must have at most"},
		{"", []string{"--header-file", file + ".not"}, "--header-file: open "},
		{"", []string{"--header", "Content-Type: 0pen"}, "--header (Content-Type) must not be a header"},
		{"", []string{"--header", "Cookie: 0pen"}, "--header (Cookie) must be a header of the request"},
		{"", []string{"--header", "X-A: s3same\u00e9"}, "--header (X-A) must"},
		{"", []string{"--http-method", "GET"}, "--http-method must be one of"},
	} {
		onStdin(t, c.stdin)
		out, err := f.try(create(c.args...)...)
		if hide(out, err); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	if after := f.run("webhook", "list"); after != before {
		t.Errorf("refused commands made webhooks:\n%s", after)
	}
	hide(f.try("audit", "--json"))
}

// TestSendEmail queues the mail of install links, which a server with a mail server sends.
func TestSendEmail(t *testing.T) {
	f := newFile(t)
	f.run(words("program create --name Coffee --type discount --discount-percent 10")...)
	f.run(words("program publish Coffee")...)
	issue := words("card issue Coffee --holder-name Ada --holder-email ada@example.com")
	f.refused(append(issue, "--send-email"), "--send-email: needs the --smtp-url (PUNCHCARD_SMTP_URL)")
	t.Setenv("PUNCHCARD_SMTP_URL", "mail.example.com")
	f.prints(issue, "/i/")
	f.refused(append(issue, "--send-email"), "--smtp-url (PUNCHCARD_SMTP_URL): must be a URL")
	t.Setenv("PUNCHCARD_SMTP_URL", "smtp://mail.example.com")
	f.refused(words("card issue Coffee --send-email"), "--holder-email is required with")
	f.refused(words("card issue Coffee --holder-name Grace --send-email --holder-email grace"), "--holder-email")
	if out := f.run("card", "link", "ada@example.com"); strings.Contains(out, "mails it") {
		t.Errorf("printed %s", out)
	}
	for _, command := range []string{"card link ada@example.com", "card reissue ada@example.com", "card issue Coffee --holder-email grace@example.com"} {
		f.prints(append(words(command), "--send-email"), "/i/", "The server mails it to ", "@example.com")
	}
	if n := f.value("SELECT count(*) FROM mails"); n != "2" {
		t.Errorf("%s messages are queued", n)
	}
}

// TestTextsByLanguage sets the texts of programs and prizes in further languages.
func TestTextsByLanguage(t *testing.T) {
	f := newFile(t)
	create := words("program create --name Coffee --type standard --total-stamps 10 --icon-key cup")
	f.refused(append(create, "--name-localizations", "it"), "--name-localizations (value 1): must be a language and the text")
	f.refused(append(create, "--name-localizations", "it=A", "--name-localizations", "it=B"), "--name-localizations (it): must be given once")
	f.refused(append(create, "--name-localizations", "xx=A"), "--name-localizations (xx) ")
	f.refused(append(create, "--description-localizations", "de="+strings.Repeat("x", 501)), "--description-localizations (de) must be")
	f.run(append(create, "--name-localizations", "it=Caffè; uno, due", "--name-localizations", "de=A=B", "--description-localizations", "fr=Bon")...)
	if got := f.value("SELECT name_localizations || description_localizations FROM programs"); got != `{"de":"A=B","it":"Caffè; uno, due"}{"fr":"Bon"}` {
		t.Errorf("the program has %s", got)
	}
	f.run("prize", "add", "Coffee", "--threshold", "5", "--name", "Cake", "--name-localizations", "it=Torta", "--description-localizations", "it=Di mele")
	f.run("prize", "update", "Coffee", "Cake", "--name-localizations", "de=Kuchen")
	if got := f.value("SELECT name_localizations || description_localizations FROM prizes"); got != `{"de":"Kuchen"}{"it":"Di mele"}` {
		t.Errorf("the prize has %s", got)
	}
	f.run("prize", "update", "Coffee", "Cake", "--name-localizations", "none")
	if got := f.value("SELECT name_localizations || description_localizations FROM prizes"); got != `{}{"it":"Di mele"}` {
		t.Errorf("the prize has %s", got)
	}
}

// TestEveryFieldHasAFlag checks that each field of an operation is a flag or an argument of
// its command, or is left out for a reason.
func TestEveryFieldHasAFlag(t *testing.T) {
	parser, err := kong.New(New(), kong.DefaultEnvars("PUNCHCARD"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]*kong.Node{}
	for _, group := range parser.Model.Children {
		for _, command := range group.Children {
			nodes[group.Name+" "+command.Name] = command
		}
	}
	commands := maps.Clone(unbound)
	for _, b := range bindings {
		if b.op.Callers.Person == kernel.NoRole || b.op.Callers.Person > kernel.Operator {
			t.Errorf("%s binds %s, which no operator may use", b.path, b.op.ID)
		}
		commands[b.path] = []*kernel.Operation{b.op}
	}
	excepted := map[string]bool{}
	for path, ops := range commands {
		node := nodes[path]
		if node == nil {
			t.Errorf("there is no command %s", path)
			continue
		}
		settable := map[string]bool{"cursor": true} // pages are read to the end, or to --limit
		for _, f := range node.Flags {
			settable[f.Name] = !f.Hidden
			if f.Help == "" || strings.Contains(f.Help, "PATCH") {
				t.Errorf("%s --%s has the help %q", path, f.Name, f.Help)
			}
		}
		for _, a := range node.Positional {
			settable[a.Name] = !a.Tag.Hidden
		}
		for _, b := range bindings {
			for _, a := range b.args {
				if b.path == path && a.field != "" {
					settable[flagName(a.field)] = true
				}
			}
		}
		for _, op := range ops {
			for _, field := range fieldsOf(op) {
				_, left := withoutFlag[path+" "+field]
				if excepted[path+" "+field] = left; left == settable[flagName(field)] {
					t.Errorf("%s: the field %s of %s is a flag: %t; an exception: %t", path, field, op.ID, !left, left)
				}
			}
		}
	}
	for name := range withoutFlag {
		if !excepted[name] {
			t.Errorf("%s is an exception, and no field", name)
		}
	}
}

// fieldsOf returns the fields of the body or query of an operation, and those of objects in
// lists that are not part of the value of a flag such as --prize.
func fieldsOf(op *kernel.Operation) (names []string) {
	for _, in := range wire.Inputs(op.In) {
		names = append(names, in.Name)
		if in.Kind != wire.InputObjects {
			continue
		}
		for _, part := range wire.Inputs(reflect.TypeFor[store.PrizeFields]()) {
			if part.Name != "threshold" && part.Name != "name" {
				names = append(names, in.Name+"."+part.Name)
			}
		}
	}
	return names
}
