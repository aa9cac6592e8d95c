package command

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/operation"
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
		f.t.Errorf("%v: printed %q, the error is %v", args, out, err)
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

// TestBoundCards issues cards, and gives commands the name, the address, the reference or the
// short code of a card in place of its id.
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
	f.refused(words("key create --name Till --location Nowhere"), "--location: no location is named Nowhere")
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
	f.refused(create, "--url", "--webhook-allow-http")
	f.refused(words("webhook create Coffee --url https://127.0.0.1:9/hook --event *"), "--url", "--webhook-allow-cidr")
	f.refused(words("webhook create Coffee --url https://192.0.2.1/ --event card.gone --payload-version v3"), "--event", "--payload-version")
	relaxed := append(create, "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	var made struct{ ID, Secret string }
	if f.json(&made, relaxed...); !strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("created %+v", made)
	}
	f.prints(words("webhook list"), made.ID, "card.* stamp.assigned", "active")
	f.prints(words("webhook test http://127.0.0.1:9/hook --wait 0"), "test.ping", "pending", "punchcard serve")
	if out, err := f.try(words("webhook test http://127.0.0.1:9/hook --wait 1ms")...); err == nil || !strings.Contains(err.Error(), "has not accepted it within 1ms") || !strings.Contains(out, "pending") {
		t.Errorf("a test that nobody sends: %q, %v", out, err)
	}
	f.prints([]string{"webhook", "log", made.ID}, "test.ping")
	f.refused(words("webhook log whk_none"), "No such webhook")
	f.refused([]string{"webhook", "redeliver", made.ID, "dlv_none"}, "No such")
	f.refused([]string{"webhook", "test", made.ID, "--wait", "-1s"}, "--wait")
}
