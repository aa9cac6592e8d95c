package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
	"punchcard/server/servertest/require"
	"punchcard/store/event"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

// The paths of the documents with generated parts.
const (
	commandDoc = "server/command/README.md"
	devDoc     = "server/dev/README.md"
	webhookDoc = "webhook/README.md"
)

// TestReadmeFlags checks that the tables of flags agree with the code.
func TestReadmeFlags(t *testing.T) {
	parser := require.Must(kong.New(command.New(), kong.DefaultEnvars("PUNCHCARD")))
	serve, dev := flagsOf(parser, "serve"), flagsOf(parser, "dev")
	var b strings.Builder
	b.WriteString("| flag of `serve` and `dev` | variable | default | what |\n|---|---|---|---|\n")
	for _, f := range serve {
		if find(dev, f.Name) != nil && f.Name != "db" {
			writeFlag(&b, f)
		}
	}
	alone := func(name string, flags, others []*kong.Flag) {
		b.WriteString("\n| flag of `" + name + "` alone | variable | default | what |\n|---|---|---|---|\n")
		for _, f := range flags {
			if find(others, f.Name) == nil || f.Name == "db" {
				writeFlag(&b, f)
			}
		}
	}
	alone("serve", serve, dev)
	alone("dev", dev, serve)
	section(t, commandDoc, "flags", b.String())
}

// TestReadmeCommands checks that a row of the table of commands names each command.
func TestReadmeCommands(t *testing.T) {
	var rows [][]string // the words of the first columns
	for line := range strings.Lines(string(require.Must(os.ReadFile(absolute(commandDoc))))) {
		if rest, ok := strings.CutPrefix(line, "| `punchcard "); ok {
			name, _, _ := strings.Cut(rest, " | ")
			rows = append(rows, strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("`\\|[], ", r) }))
		}
	}
	for _, c := range require.Must(kong.New(command.New())).Model.Leaves(true) {
		path := strings.Fields(c.Path())
		if !slices.ContainsFunc(rows, func(words []string) bool {
			return !slices.ContainsFunc(path, func(word string) bool { return !slices.Contains(words, word) })
		}) {
			t.Errorf("%s has no row for %s", commandDoc, c.Path())
		}
	}
}

// TestReadmeEvents checks that the table of events agrees with the catalogue.
func TestReadmeEvents(t *testing.T) {
	var b strings.Builder
	b.WriteString("| event | sent | when | `data` | of |\n|---|---|---|---|---|\n")
	for _, e := range event.All() {
		sent, of := "yes", "located"
		if !e.Sends {
			sent = "not yet"
		}
		switch {
		case e.Name == event.TestPing:
			of = "–"
		case e.ShopWide:
			of = "shop-wide"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s |\n", e.Name, sent, e.Doc, strings.Join(e.Fields, "`, `"), of)
	}
	section(t, webhookDoc, "events", b.String())
}

// TestReadmeReceivers checks that the receivers in the documents are those that other tests run.
func TestReadmeReceivers(t *testing.T) {
	for name, language := range map[string]string{"verify.go": "go", "verify.mjs": "js", "verify.py": "python"} {
		code := require.Must(os.ReadFile(absolute("testdata/verify/" + name)))
		section(t, webhookDoc, name, "```"+language+"\n"+string(code)+"```\n")
	}
}

// TestReadmeRecipe checks that the recipe in the document is the one that is run.
func TestReadmeRecipe(t *testing.T) {
	code := require.Must(os.ReadFile(absolute("testdata/recipes/shop.sh")))
	section(t, devDoc, "shop.sh", "```sh\n"+string(code)+"```\n")
}

func flagsOf(parser *kong.Kong, name string) (flags []*kong.Flag) {
	for _, c := range parser.Model.Children {
		if c.Name == name {
			return c.Flags
		}
	}
	return nil
}

func find(flags []*kong.Flag, name string) *kong.Flag {
	for _, f := range flags {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func writeFlag(b *strings.Builder, f *kong.Flag) {
	def := "–"
	if f.HasDefault {
		def = "`" + f.Default + "`"
	}
	fmt.Fprintf(b, "| `--%s` | `%s` | %s | %s |\n", f.Name, f.Envs[0], def, f.Help)
}

// section compares the part of a document between two markers with want, or writes it.
func section(t *testing.T, file, name, want string) {
	t.Helper()
	raw := require.Must(os.ReadFile(absolute(file)))
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok1 := strings.Cut(string(raw), open)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no section %s", file, name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s, section %s differs from the code; run: go test ./server/e2e -run TestReadme -update\n%s", file, name, want)
	}
	noError(t, os.WriteFile(file, []byte(before+open+want+end+after), 0o644))
}
