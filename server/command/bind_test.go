package command

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// file is a database for running commands in the test's process. Its methods set Out, so
// tests with one do not run in parallel.
type file struct {
	t  *testing.T
	db string
}

// The tests keep the priority of their process, which cannot be raised again.
func init() { copied = func() {} }

func newFile(t *testing.T) *file {
	t.Helper()
	return fileOf(t, "shop create --name 'Bar Lux'")
}

// made are the files of fileOf, by their commands.
var made = map[string][]byte{}

// fileOf returns a file that commands have made. Later tests get a copy of what the first one made.
func fileOf(t *testing.T, commands ...string) *file {
	t.Helper()
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	t.Setenv("PUNCHCARD_PUBLIC_URL", "https://cards.example.com")
	all := strings.Join(commands, "\n")
	if made[all] == nil {
		for _, command := range commands {
			f.run(command)
		}
		made[all] = require.Must(os.ReadFile(f.db))
	}
	noError(t, os.WriteFile(f.db, made[all], 0o600))
	return f
}

// newParser returns the parser of all commands.
func newParser(t *testing.T, options ...kong.Option) *kong.Kong {
	t.Helper()
	parser, err := kong.New(New(), append(options, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD"))...)
	noError(t, err)
	return parser
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// try runs a command on the file. Words with blanks stand in single quotes.
func (f *file) try(line string) (string, error) {
	f.t.Helper()
	var out bytes.Buffer
	Out = &out
	f.t.Setenv("PUNCHCARD_DB", f.db)
	var args []string
	for _, w := range word.FindAllString(line, -1) {
		args = append(args, strings.Trim(w, "'"))
	}
	err := Run(args)
	return out.String(), err
}

// run runs a command that must succeed.
func (f *file) run(line string) string {
	f.t.Helper()
	out, err := f.try(line)
	if err != nil {
		f.t.Fatalf("%s: %v", line, err)
	}
	return out
}

// json runs a command with --json and decodes its output.
func (f *file) json(v any, line string) {
	f.t.Helper()
	if out := f.run(line + " --json"); json.Unmarshal([]byte(out), v) != nil {
		f.t.Fatalf("%s printed %q", line, out)
	}
}

// prints checks that the output of a command contains texts.
func (f *file) prints(line string, texts ...string) {
	f.t.Helper()
	out := f.run(line)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			f.t.Errorf("%s lacks %q:\n%s", line, text, out)
		}
	}
}

// refused checks that a command is refused with texts.
func (f *file) refused(line string, texts ...string) {
	f.t.Helper()
	out, err := f.try(line)
	if err == nil || out != "" {
		f.t.Errorf("%s: printed %q, the error is %v", line, out, err)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			f.t.Errorf("%s: the error lacks %q: %v", line, text, err)
		}
	}
}

// value returns the first value that a query of the file has.
func (f *file) value(query string) (v string) {
	f.t.Helper()
	db, err := sql.Open("sqlite", "file:"+f.db)
	noError(f.t, err)
	defer db.Close()
	noError(f.t, db.QueryRow(query).Scan(&v))
	return v
}

// TestBoundPrograms makes, publishes and changes a program and its prizes.
func TestBoundPrograms(t *testing.T) {
	f := newFile(t)
	f.prints(
		"program create --name 'Coffee card' --type standard --total-stamps 10 --icon-key cup "+
			"--no-repeat-after-reset --prize 5=Croissant --prize '10=Coffee, large'",
		"Coffee card", "10 stamps", "draft", "Coffee, large",
	)
	f.refused("program create", "--name is required", "--type is required")
	f.refused(
		"program create --name Tea --type standard --total-stamps 1001 --bg-color-hex red", "--total-stamps must be", "--bg-color-hex",
	)
	f.refused("program create --name Tea --type standard --prize 5", "--prize (value 1)", "10=Free coffee")
	f.refused("program create --name Tea --type standard --total-stamps 5 --icon-key cup --prize 3=Cake --prize 9=Tart", "total_stamps")
	f.refused("program create --name ' '", "--name: must not be empty")
	f.refused("card issue coffee", "no program is named coffee; there are: prg_", "(Coffee card, draft)")
	f.prints("program publish 'coffee CARD'", "published")
	f.run("program create --name Bare --type private --total-stamps 3 --icon-key star")
	f.prints("program publish Bare", "It has no prizes: see punchcard prize add.")
	f.prints("program suspend 'Coffee card'", "suspended")
	f.prints("program unsuspend 'Coffee card'", "published")
	f.prints("program unpublish 'Coffee card'", "draft")
	f.prints("program list", "Coffee card")
	f.run("program create --name Tea --type discount --discount-percent 12.5")
	f.run("program create --name Tea --type prepaid --initial-balance-cents 2550")
	f.prints("program list", "12.5 %", "2550 cents at first")
	f.refused("program show Tea", "2 programs are named Tea", "give the id of one: prg_")
	f.refused("program show prg_none", "No such program")

	f.prints("prize add 'Coffee card' --threshold 8 --name Cake", "Cake")
	f.refused("prize add 'Coffee card' --threshold=-1", "--threshold must be at least 0", "--name is required")
	f.prints("prize update 'Coffee card' croissant --name Cornetto --description Warm", "Cornetto", "Warm")
	f.prints("prize update 'Coffee card' Cornetto --description none", "Cornetto", " -")
	f.refused("prize update 'Coffee card' Cornetto --name ''", "--name: must not be empty")
	f.prints("prize delete 'Coffee card' Cake", "deleted")
	f.refused("prize delete 'Coffee card' Cake", "no prize is named Cake", "Coffee, large, 10 stamps")
	var ladder operation.Ladder
	if f.json(&ladder, "prize list 'Coffee card'"); len(ladder.Data) != 2 {
		t.Errorf("the ladder is %+v", ladder)
	}
	f.prints("shop create --name Second", "has 2 shops now, so commands need --shop")
	f.refused("program list", "--shop")
}

// TestBoundCards issues cards, and gives commands the name, the address, the reference or the
// short code of a card in place of its id.
func TestBoundCards(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type standard --total-stamps 10 --icon-key cup")
	f.run("program publish Coffee")
	f.prints("card issue Coffee --holder-name Ada --holder-email ada@example.com --external-ref M-1", "https://cards.example.com/i/")
	f.run("card issue Coffee --holder-name Adam --external-ref M-2 --expires 90d")
	f.run("card issue Coffee --holder-name Ada")
	f.refused("card issue Coffee --external-ref M-1", "already has a live card")
	f.refused("card issue Coffee --expires never", "--expires")
	f.refused("card issue Coffee --expires yesterday", "--expires", "90d")
	f.prints("card find ada", "M-1", "M-2", "0 of 10")
	f.prints("card find --status invited --limit 1", "ID")
	f.refused("card find --status lost", "--status")
	f.prints("card show ADA@example.com", "M-1", "Short code")
	f.refused("card lock Ada", "2 cards are named Ada", "ada@example.com, M-1, Coffee, invited")
	f.refused("card lock Grace", "no card is named Grace")
	f.prints("card lock ada@example.com", "locked")
	f.prints("card unlock M-1", "invited")
	var shown struct {
		ShortCode string `json:"short_code"`
	}
	f.json(&shown, "card show M-1")
	f.prints("card lock "+shown.ShortCode, "locked")
	f.prints("card unlock "+strings.ToLower(shown.ShortCode), "invited")
	f.prints("card update M-2 --expires none --holder-email adam@example.com", "adam@example.com")
	f.refused("card update M-2 --holder-email nobody", "--holder-email")
	f.refused("card update M-2 --holder-email ''", "--holder-email: must not be empty; none clears it")
	f.prints("card link M-2", "https://cards.example.com/i/")
	f.prints("card archive M-2", "archived")
	f.run("card issue Coffee --external-ref M-2")
	f.prints("card show M-2", "invited") // not the archived one
	f.refused("card delete M-1", "Erase the holder of crd_", "M-1", "--yes")
	f.prints("card show M-1", "Ada")
	f.prints("transaction list --program Coffee --card M-1 --from 30d", "AT")
	f.refused("transaction list --program Tea", "--program: no program is named Tea")
	f.refused("transaction list --limit -1", "--limit")
	f.prints("stats", "New cards of 30 days", "4")
	f.prints("stats coffee", "Stamps given")
	f.prints("card delete M-1 --yes", "deleted")
	f.refused("card show M-1", "no card is named M-1")
	f.refused("program delete Coffee", "Delete the program prg_", "(Coffee, published)", "--yes")
	f.prints("program delete Coffee --yes", "deleted")
	f.run("key create --name CRM")
	f.refused("key create --name Till --location Nowhere", "--location: no location is named Nowhere")
	f.refused("key revoke-all", "--yes")
	f.prints("key rotate CRM", "CRM")
	f.refused("key revoke CRM", "2 keys are named CRM")
	f.prints("key revoke-all --yes", "2 keys revoked")
}

// TestBoundWebhooks makes a webhook and reads its log.
func TestBoundWebhooks(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type discount --discount-percent 10")
	create := "webhook create Coffee --url http://127.0.0.1:9/hook --event card.*,stamp.assigned --only-program Coffee"
	f.refused(create, "--url", "--webhook-allow-http")
	f.refused("webhook create Coffee --url https://127.0.0.1:9/hook --event *", "--url", "--webhook-allow-cidr")
	f.refused("webhook create Coffee --url https://192.0.2.1/ --event card.gone --payload-version v3", "--event", "--payload-version")
	relaxed := create + " --webhook-allow-http --webhook-allow-cidr 127.0.0.0/8"
	var made struct{ ID, Secret string }
	if f.json(&made, relaxed); !strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("created %+v", made)
	}
	f.prints("webhook list", made.ID, "card.* stamp.assigned", "active")
	f.prints("webhook test http://127.0.0.1:9/hook --wait 0", "test.ping", "pending", "punchcard serve")
	if out, err := f.try("webhook test http://127.0.0.1:9/hook --wait 1ms"); err == nil ||
		!strings.Contains(err.Error(), "has not accepted it within 1ms") ||
		!strings.Contains(out, "pending") {
		t.Errorf("a test that nobody sends: %q, %v", out, err)
	}
	f.prints("webhook log "+made.ID, "test.ping")
	f.refused("webhook log whk_none", "No such webhook")
	f.refused("webhook redeliver "+made.ID+" dlv_none", "No such")
	f.refused("webhook test "+made.ID+" --wait -1s", "--wait")
}

var (
	copyFile  = servertest.CopyFile
	noError   = require.NoError
	unchanged = servertest.Unchanged
)
