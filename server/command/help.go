package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// Help is the command that prints the help of another.
type Help struct {
	Command []string `arg:"" optional:"" help:"The command, such as: card issue."`
}

// Run prints the help. The flag --help ends the process.
func (c *Help) Run(app *kong.Kong) error {
	_, err := app.Parse(append(c.Command, "--help"))
	return err
}

// versionFlag is the flag that prints the version and ends the process.
type versionFlag bool

// BeforeReset prints the version.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if err := (Version{}).Run(); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

// Completion is the command that prints a script by which a shell completes commands and
// flags.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh" help:"bash or zsh."`
}

// Run prints the script.
func (c *Completion) Run(app *kong.Kong) error {
	words, values := map[string][]string{}, map[string][]string{}
	complete(words, values, app.Model.Node, "")
	if c.Shell == "zsh" {
		fmt.Fprintln(Out, "autoload -U +X bashcompinit && bashcompinit")
	}
	return printCompletion(Out, words, values)
}

// complete adds what may follow a command, by its path such as " card issue": its commands,
// and its flags with those of the commands above it. It also adds the values of each flag that
// takes one of a few, by the path of its command and its name, such as " init --template".
func complete(words, values map[string][]string, node *kong.Node, path string) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			words[path] = append(words[path], "--"+f.Name)
			if f.IsBool() && f.Tag.Negatable != "" {
				words[path] = append(words[path], "--no-"+f.Name)
			}
			if few := strings.Split(f.PlaceHolder, "|"); len(few) > 1 {
				values[path+" --"+f.Name] = few
			} else if f.Enum != "" {
				values[path+" --"+f.Name] = f.EnumSlice()
			}
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			words[path] = append(words[path], child.Name)
			complete(words, values, child, path+" "+child.Name)
		}
	}
}

// printCompletion prints the script for bash. The words of a line that are commands lead to
// what may follow, and a flag before the last word to its values, after a blank or an equals
// sign, which is a word of its own. Files are completed where nothing else fits.
func printCompletion(w io.Writer, words, values map[string][]string) error {
	var b strings.Builder
	b.WriteString("_punchcard() {\n  local path=\"\" word words flag=\"${COMP_WORDS[COMP_CWORD-1]}\" last=\"${COMP_WORDS[COMP_CWORD]}\"\n")
	b.WriteString(
		"  if [ \"$flag\" = \"=\" ]; then flag=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n  if [ \"$last\" = \"=\" ]; then last=\"\"; fi\n",
	)
	b.WriteString("  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $word\" in\n")
	paths := slices.Sorted(maps.Keys(words))
	for _, path := range paths {
		if path != "" {
			fmt.Fprintf(&b, "      %q) path=\"$path $word\" ;;\n", path)
		}
	}
	b.WriteString("    esac\n  done\n  case \"$path\" in\n")
	for _, path := range paths {
		fmt.Fprintf(&b, "    %q) words=%q ;;\n", path, strings.Join(words[path], " "))
	}
	b.WriteString("  esac\n  case \"$path $flag\" in\n")
	for _, flag := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "    %q) words=%q ;;\n", flag, strings.Join(values[flag], " "))
	}
	b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$last\"))\n}\ncomplete -o default -F _punchcard punchcard\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// CheckArguments returns an error for an argument that is not UTF-8. The parser would
// replace its bytes without a word, also in the path of a file.
func CheckArguments(args []string) error {
	for n, text := range args {
		if !utf8.ValidString(text) {
			return fmt.Errorf("argument %d, %s, is not UTF-8", n+1, text)
		}
	}
	return nil
}
