package command

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"punchcard/server/app"
)

// Run runs the command that arguments name; without any it prints the help.
func Run(args []string) error {
	if err := CheckArguments(args); err != nil {
		return err
	}
	parser, err := kong.New(For(args),
		kong.Name("punchcard"),
		kong.Description("Loyalty and access cards: a server in one binary on one SQLite file. Start with: punchcard dev"),
		kong.DefaultEnvars("PUNCHCARD"),
		kong.UsageOnError(),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(joinNegative(args))
	if err != nil {
		return explain(err)
	}
	return ctx.Run()
}

// decodePath reads the path of a file or a folder. It refuses an empty one, which a variable that is set to nothing gives, and which
// would be the current folder.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("path", &path); err != nil {
		return err
	}
	if path == "" {
		return errors.New("must not be empty")
	}
	target.SetString(kong.ExpandPath(path))
	return nil
}

// negative matches a number that the parser takes for a flag.
var negative = regexp.MustCompile(`^-[0-9]+$`)

// joinNegative joins negative numbers to the flags before them, as in --stamps=-2.
func joinNegative(args []string) (joined []string) {
	for i, arg := range args {
		if i > 0 && negative.MatchString(arg) && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			joined[len(joined)-1] += "=" + arg
		} else {
			joined = append(joined, arg)
		}
	}
	return joined
}

// The errors of the parser that explain recognises.
var (
	wrongFlag       = regexp.MustCompile(`^--([a-z-]+)(=\S+)?(: | must )`) // the flag whose value is wrong
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
	m := wrongFlag.FindStringSubmatch(err.Error())
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
