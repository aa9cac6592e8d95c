// Command punchcard is a server for loyalty and access cards: one binary on one
// SQLite file.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"punchcard/server/app"
	"punchcard/server/command"
)

func main() {
	args := os.Args[1:]
	command.CatchSignals(args)
	if err := command.CheckArguments(args); err != nil {
		fail(err)
	}
	parser, err := kong.New(command.For(args),
		kong.Name("punchcard"),
		kong.Description("Loyalty and access cards: a server in one binary on one SQLite file. Start with: punchcard dev"),
		kong.DefaultEnvars("PUNCHCARD"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		fail(explain(err))
	}
	if err := ctx.Run(); err != nil {
		fail(err)
	}
}

// The errors of the parser that explain recognises.
var (
	flagName        = regexp.MustCompile(`^--([a-z-]+)(=\S+)?(: | must )`) // the flag whose value is wrong
	wholeNumber     = regexp.MustCompile(`expected a valid 64 bit int but got "[^"]*"`)
	missingArgument = regexp.MustCompile(`^expected "(<[^>"]+>)`)
)

// explain adds the name of the environment variable to the error of a flag's value,
// since the value may come from there, and replaces the parser's texts about a number and
// about an argument that is missing.
func explain(err error) error {
	var perr *kong.ParseError
	if !errors.As(err, &perr) || perr.Context == nil {
		return err
	}
	if m := missingArgument.FindStringSubmatch(err.Error()); m != nil {
		words := []string{perr.Context.Model.Name}
		for _, p := range perr.Context.Path {
			if p.Command != nil {
				words = append(words, p.Command.Name)
			}
		}
		return fmt.Errorf("missing argument %s; see: %s --help", m[1], strings.Join(words, " "))
	}
	m := flagName.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	for _, f := range perr.Context.Flags() {
		if f.Name == m[1] && len(f.Envs) > 0 {
			what := wholeNumber.ReplaceAllString(strings.TrimLeft(m[3], ": ")+err.Error()[len(m[0]):], "must be a whole number")
			return fmt.Errorf("--%s (%s): %s", m[1], app.Variable(f.Name, f.Envs[0]), what)
		}
	}
	return err
}

// fail prints an error and ends the process.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "punchcard: "+command.Printable(err.Error()))
	os.Exit(1)
}
