package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// The maximum number of bytes that are read of a line: a PIN has at most eight digits, and
// a bearer token 1024 characters.
const (
	pinBytes   = 64
	tokenBytes = 2048
)

// errPINArgument is the error of a PIN on the command line.
var errPINArgument = errors.New("is read from standard input and not taken as an argument, which other users of this machine can read")

var errNoPIN = errors.New("the first line of standard input is empty")

// pinRefusal is the flag of a PIN where there is none.
type pinRefusal struct {
	StaffPIN *string `name:"staff-pin" env:"-" hidden:"" help:"Refused: set-pin reads the PIN from standard input."`
}

// prepare refuses a PIN.
func (f *pinRefusal) prepare(*invocation) error {
	if f.StaffPIN != nil {
		return fmt.Errorf("--staff-pin: %w; create the location without it, then run: punchcard location set-pin ID", errPINArgument)
	}
	return nil
}

// noneFlag is the flag of the command that also removes a PIN.
type noneFlag struct {
	None bool `env:"-" help:"Remove the PIN instead of reading one."`
}

func (f *noneFlag) prepare(i *invocation) error {
	if f.None {
		i.args.Fields.Set("staff_pin", "")
	}
	return nil
}

// readPIN reads a PIN from standard input: one line. At a terminal it asks for the PIN and does not
// show what is typed.
func readPIN() (string, error) {
	pin, err := readSecretLine("PIN", pinBytes)
	if err != nil {
		return "", fmt.Errorf("PIN: %w", err)
	}
	return pin, nil
}

// addPIN adds the PIN of a command that reads one.
func (b *Bound) addPIN(form url.Values) error {
	field := b.binding.pin
	if field == "" {
		return nil
	}
	if b.flags.argument(pinArgument) != "" {
		return fmt.Errorf("PIN: %w; run the same command without it", errPINArgument)
	}
	if form.Has(field) {
		return nil
	}
	pin, err := readPIN()
	if _, removes := b.extra.(*noneFlag); removes && errors.Is(err, errNoPIN) {
		err = fmt.Errorf("%w; --none removes the PIN", err)
	}
	form.Set(field, pin)
	return err
}

// secretFlag is a flag that says that a secret is to be read. It takes no value.
type secretFlag bool

// IsBool makes the flag one without a value.
func (*secretFlag) IsBool() bool { return true }

// somePIN matches what may be a PIN and is no short code.
var somePIN = regexp.MustCompile(`^[0-9]{1,7}$`)

// Decode refuses a value, also one that looks like a PIN and follows after a blank. It does not
// repeat it.
func (f *secretFlag) Decode(ctx *kong.DecodeContext) error {
	next := ctx.Scan.Peek()
	if text, ok := next.Value.(string); next.Type == kong.FlagValueToken || ok && somePIN.MatchString(text) {
		return errPINArgument
	}
	*f = true
	return nil
}

// readSecrets adds the fields of the flags of secrets that are given.
func (s flagSet) readSecrets(form url.Values) error {
	for _, in := range s.flags {
		prompt := secretFields[in.Name]
		if prompt == "" || in.value.IsZero() {
			continue
		}
		text, err := readSecretLine(prompt, tokenBytes)
		if err != nil {
			return fmt.Errorf("%s: %w", flagOf(in.Name), err)
		}
		form.Set(in.Name, text)
	}
	return nil
}

// readSecretLine reads one line of at most max bytes from standard input. At a terminal it
// asks for what prompt says, and does not show what is typed.
func readSecretLine(prompt string, max int64) (string, error) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return readLine(os.Stdin, max)
	}
	fmt.Fprint(os.Stderr, prompt, ": ")
	defer fmt.Fprintln(os.Stderr)
	stop := restoreOnSignal(fd)
	defer stop()
	secret, err := term.ReadPassword(fd)
	if err == nil && len(secret) == 0 {
		return "", errNoPIN
	}
	return string(secret), err
}

// readLine reads the first line of an input, of which it reads at most max bytes.
func readLine(r io.Reader, max int64) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, max)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return "", errNoPIN
	}
	return line, nil
}

// restoreOnSignal makes SIGINT and SIGTERM restore the terminal, which would keep
// hiding what is typed, and end the process. The function that it returns ends this.
func restoreOnSignal(fd int) (stop func()) {
	state, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			term.Restore(fd, state)
			fmt.Fprintln(os.Stderr)
			os.Exit(1)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
