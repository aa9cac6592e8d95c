package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
)

var update = flag.Bool("update", false, "write the generated parts of README.md")

// TestReadmeFlags keeps the table of flags in README.md equal to the code.
func TestReadmeFlags(t *testing.T) {
	var cli command.CLI
	parser, err := kong.New(&cli, kong.DefaultEnvars("PUNCHCARD"))
	if err != nil {
		t.Fatal(err)
	}
	serve, dev := flagsOf(parser, "serve"), flagsOf(parser, "dev")
	var b strings.Builder
	b.WriteString("| flag of `serve` and `dev` | variable | default | what |\n|---|---|---|---|\n")
	for _, f := range serve {
		writeFlag(&b, f)
	}
	b.WriteString("\n| flag of `dev` alone | variable | default | what |\n|---|---|---|---|\n")
	for _, f := range dev {
		if find(serve, f.Name) == nil || f.Name == "db" {
			writeFlag(&b, f)
		}
	}
	section(t, "flags", b.String())
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

// section compares the part of README.md between two markers with what it
// should be, or writes it.
func section(t *testing.T, name, want string) {
	t.Helper()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok1 := strings.Cut(string(raw), open)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("README.md has no section %s", name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("README.md, section %s is not what the code says; run: go test . -run TestReadme -update\n%s", name, want)
	}
	if err := os.WriteFile("README.md", []byte(before+open+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
