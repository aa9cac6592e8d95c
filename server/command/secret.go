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

// readPIN reads a PIN from standard input: one line. At a terminal it asks for the
// PIN and does not show what is typed. argument is what the command line has in place of
// the PIN, where it must not be.
func readPIN(argument string) (pin string, err error) {
	if argument != "" {
		return "", fmt.Errorf("PIN: %w; run the same command without it", errPINArgument)
	}
	if pin, err = readSecretLine("PIN", pinBytes); err != nil {
		return "", fmt.Errorf("PIN: %w", err)
	}
	return pin, nil
}

// pinFlags are the flags of commands that read a PIN from standard input.
type pinFlags struct {
	Argument string `arg:"" name:"pin" optional:"" hidden:"" help:"Refused: the PIN is read from standard input."`
}

// add reads the PIN.
func (f *pinFlags) add(form url.Values, _ flagSet) error {
	pin, err := readPIN(f.Argument)
	form.Set("pin", pin)
	return err
}

// explain returns err with the name PIN in place of the flag that the PIN would have.
func (f *pinFlags) explain(err error) error {
	return errors.New(strings.NewReplacer("--staff-pin", "PIN", "--pin", "PIN").Replace(err.Error()))
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
		if prompt == "" || !in.given() {
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
