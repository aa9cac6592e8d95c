package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirmFlag is the flag of commands that cannot be undone, which ask first.
type confirmFlag struct {
	Yes bool `env:"-" help:"Do it without asking."`
}

// errNotConfirmed is the error of a command that was not confirmed.
var errNotConfirmed = usageError("nothing was changed")

func (f *confirmFlag) prepare(i *invocation) error {
	i.confirmed = f.Yes
	return nil
}

// confirm asks the question at a terminal. Elsewhere the flag is needed.
func confirm(question string) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usagef("%s This cannot be undone, so without a terminal it needs --yes", Printable(question))
	}
	fmt.Fprintf(os.Stderr, "%s This cannot be undone. Type yes to go on: ", Printable(question))
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return errNotConfirmed
	}
	return nil
}
