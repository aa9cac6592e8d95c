package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// TestEmptyPath checks that commands refuse an empty path, of a variable or of a flag, and make no file.
func TestEmptyPath(t *testing.T) {
	t.Chdir(t.TempDir())
	onStdin(t, "")
	f := &file{t, ""} // sets PUNCHCARD_DB
	for _, args := range []string{
		"serve", initArgs, "program list", "shop create --name Lux", "check", "backup copy.db", "restore copy.db", "program list --db=",
		"staff list",
	} {
		f.refused(args, "--db", ": must not be empty")
	}
	f = &file{t, "punchcard.db"}
	f.refused("serve --backup-every 1h --backup-dir=", "--backup-dir (PUNCHCARD_BACKUP_DIR): must not be empty")
	f.refused("restore ''", "<backup>: must not be empty")
	t.Setenv("PUNCHCARD_TLS_CACHE", "")
	f.refused("serve", "--tls-cache (PUNCHCARD_TLS_CACHE): must not be empty")
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// TestSecretFlags makes webhooks with bearer tokens and secret headers, and checks that no
// command prints them.
func TestSecretFlags(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type discount --discount-percent 10")
	const create = "webhook create Coffee --url https://192.0.2.1/hook --event card.* --webhook-allow-cidr 192.0.2.0/24 "
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
	noError(t, os.WriteFile(large, make([]byte, maxHeaderFile+1), 0o600))
	noError(t, os.WriteFile(file, []byte("X-Token: s3same\r\n\nX-Other:a:b\n"), 0o600))

	onStdin(t, "0pen-t0ken\nmore\n")
	var made store.CreatedWebhook
	out := hide(f.try(create + "--bearer-token --http-method PUT --header 'X-Shop: main, 2; x' --json --header-file " + file))
	if err := json.Unmarshal([]byte(out), &made); err != nil || !made.HasBearerToken || made.HTTPMethod != "PUT" ||
		len(made.CustomHeaders) != 3 {
		t.Errorf("created %s: %v", out, err)
	}
	if got := stored(); got != `0pen-t0ken {"X-Other":"a:b","X-Shop":"main, 2; x","X-Token":"s3same"} PUT` {
		t.Errorf("the file has %s", got)
	}
	onStdin(t, "X-Token: s3same\n")
	hide(f.try(create + "--header-file -"))
	if got := stored(); got != `- {"X-Token":"s3same"} POST` {
		t.Errorf("from standard input: %s", got)
	}
	before := f.run("webhook list")
	for _, c := range []struct {
		stdin string
		flags string
		want  string
	}{
		{"", "--bearer-token", "--bearer-token: the first line of standard input is empty"},
		{"s3same 0pen\n", "--bearer-token", "--bearer-token must be"},
		{strings.Repeat("s3same", 500), "--bearer-token", "--bearer-token must be"},
		{"x\n", "--bearer-token=s3same", "--bearer-token: is read from standard input"},
		{"x\n", "--bearer-token --header-file -", "--header-file: must be a file"},
		{"", "--header s3same", "--header: value 1 must be a name, a colon and a value"},
		{"", "--header 'X-A: b' --header :s3same", "--header: value 2 must be"},
		{"", "--header ''", "--header: value 1 must be"},
		{"", "--header 'X-A: 0pen' --header 'X-A: s3same'", "--header: value 2 has the name of an earlier header"},
		{"", "--header 'X-Token: x' --header-file " + file, "--header-file: line 1 has the name"},
		{"X-A: b\n\n0pen\n", "--header-file -", "--header-file: line 3 must be"},
		{"", "--header-file " + large, "--header-file: must have at most"},
		{"", "--header-file " + file + ".not", "--header-file: open "},
		{"", "--header 'Content-Type: 0pen'", "--header (Content-Type) must not be a header"},
		{"", "--header 'Cookie: 0pen'", "--header (Cookie) must be a header of the request"},
		{"", "--header 'X-A: s3same\u00e9'", "--header (X-A) must"},
		{"", "--http-method GET", "--http-method must be one of"},
	} {
		onStdin(t, c.stdin)
		out, err := f.try(create + c.flags)
		if hide(out, err); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.flags, err, c.want)
		}
	}
	if after := f.run("webhook list"); after != before {
		t.Errorf("refused commands made webhooks:\n%s", after)
	}
	hide(f.run("audit --json"), nil)
}

// TestSendEmail queues the mail of install links, which a server with a mail server sends.
func TestSendEmail(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type discount --discount-percent 10")
	f.run("program publish Coffee")
	issue := "card issue Coffee --holder-name Ada --holder-email ada@example.com"
	f.refused(issue+" --send-email", "--send-email: needs the --smtp-url (PUNCHCARD_SMTP_URL)")
	t.Setenv("PUNCHCARD_SMTP_URL", "mail.example.com")
	f.prints(issue, "/i/")
	f.refused(issue+" --send-email", "--smtp-url (PUNCHCARD_SMTP_URL): must be a URL")
	t.Setenv("PUNCHCARD_SMTP_URL", "smtp://mail.example.com")
	f.refused("card issue Coffee --send-email", "--holder-email is required with")
	f.refused("card issue Coffee --holder-name Grace --send-email --holder-email grace", "--holder-email")
	if out := f.run("card link ada@example.com"); strings.Contains(out, "mails it") {
		t.Errorf("printed %s", out)
	}
	for _, command := range []string{
		"card link ada@example.com", "card reissue ada@example.com", "card issue Coffee --holder-email grace@example.com",
	} {
		f.prints(command+" --send-email", "/i/", "The server mails it to ", "@example.com")
	}
	if n := f.value("SELECT count(*) FROM mails"); n != "2" { // one for each card, with its newest link
		t.Errorf("%s messages are queued", n)
	}
}

// TestTextsByLanguage sets the texts of programs and prizes in further languages.
func TestTextsByLanguage(t *testing.T) {
	f := newFile(t)
	create := "program create --name Coffee --type standard --total-stamps 10 --icon-key cup"
	f.refused(create+" --name-localizations it", "--name-localizations (value 1): must be a language and the text")
	f.refused(create+" --name-localizations it=A --name-localizations it=B", "--name-localizations (it): must be given once")
	f.refused(create+" --name-localizations xx=A", "--name-localizations (xx) ")
	f.refused(create+" --description-localizations de="+strings.Repeat("x", 501), "--description-localizations (de) must be")
	f.run(create + " --name-localizations 'it=Caffè; uno, due' --name-localizations de=A=B --description-localizations fr=Bon")
	got := f.value("SELECT name_localizations || description_localizations FROM programs")
	if got != `{"de":"A=B","it":"Caffè; uno, due"}{"fr":"Bon"}` {
		t.Errorf("the program has %s", got)
	}
	f.run("prize add Coffee --threshold 5 --name Cake --name-localizations it=Torta --description-localizations 'it=Di mele'")
	for given, want := range map[string]string{"de=Kuchen": `{"de":"Kuchen"}{"it":"Di mele"}`, "none": `{}{"it":"Di mele"}`} {
		f.run("prize update Coffee Cake --name-localizations " + given)
		if got := f.value("SELECT name_localizations || description_localizations FROM prizes"); got != want {
			t.Errorf("with %s the prize has %s", given, got)
		}
	}
}

// TestEveryFieldHasAFlag checks that each field of an operation is a flag or an argument of
// its command, or is left out for a reason, and that an operator may use the operation.
func TestEveryFieldHasAFlag(t *testing.T) {
	nodes := map[string]*kong.Node{}
	for _, group := range newParser(t).Model.Children {
		nodes[group.Name] = group
		for _, command := range group.Children {
			nodes[group.Name+" "+command.Name] = command
			for _, below := range command.Children {
				nodes[group.Name+" "+command.Name+" "+below.Name] = below
			}
		}
	}
	for _, b := range bindings {
		settable := map[string]bool{}
		for _, f := range nodes[b.path].Flags {
			settable[f.Name] = !f.Hidden
			if f.Help == "" || strings.Contains(f.Help, "PATCH") {
				t.Errorf("%s --%s has the help %q", b.path, f.Name, f.Help)
			}
		}
		if settable["limit"] != (paged(b.op) && b.path != "location list") { // which lists all
			t.Errorf("%s has --limit: %t", b.path, settable["limit"])
		}
		for _, op := range b.operations() {
			if op.Callers.Person == kernel.NoRole || op.Callers.Person > kernel.Operator {
				t.Errorf("%s binds %s, which no operator may use", b.path, op.ID)
			}
			for _, in := range wire.Inputs(op.In) {
				_, without := withoutFlag[in.Name]
				if without == (settable[flagName(in.Name)] && in.Name != "limit") && !b.isArgument(in.Name) && !in.Fixed {
					t.Errorf("%s: the field %s of %s is a flag: %t", b.path, in.Name, op.ID, !without)
				}
			}
		}
	}
}

// TestColumns checks that each field that a command prints is one of its answer.
func TestColumns(t *testing.T) {
	for _, b := range bindings {
		var fields []string
		for _, op := range b.operations() {
			fields = append(fields, fieldsOf(op.Out)...)
		}
		if strings.HasPrefix(b.path, "webhook ") && b.extra != nil { // which may wait for the outcome
			fields = append(fields, fieldsOf(operation.GetDelivery.Out)...)
		}
		var names []string
		for _, column := range slices.Concat(b.columns, b.otherColumns) {
			_, path := headingOf(column)
			names = append(names, path)
		}
		for _, l := range b.lists {
			names = append(names, l.field)
			for _, column := range l.columns {
				_, path := headingOf(column)
				names = append(names, l.field+"."+path)
			}
		}
		for _, name := range names {
			if computed[name[strings.LastIndex(name, ".")+1:]] != nil {
				continue
			}
			if !slices.Contains(fields, name) && !slices.Contains(fields, "data."+name) {
				t.Errorf("%s prints %s, and the answer has %v", b.path, name, fields)
			}
		}
	}
}

// fieldsOf returns the paths of the fields of a type in JSON.
func fieldsOf(t reflect.Type) (paths []string) {
	if t == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	if strings.HasPrefix(t.Name(), "Null[") {
		return fieldsOf(t.Field(0).Type)
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			paths = append(paths, fieldsOf(field.Type)...)
			continue
		}
		paths = append(paths, name)
		for _, inner := range fieldsOf(field.Type) {
			paths = append(paths, name+"."+inner)
		}
	}
	return paths
}
