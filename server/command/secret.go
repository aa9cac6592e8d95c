package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// pinBytes bounds what readPIN reads of a line: a PIN has at most eight digits.
const pinBytes = 64

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
	if pin, err = readSecretLine(); err != nil {
		return "", fmt.Errorf("PIN: %w", err)
	}
	return pin, nil
}

// namePIN returns err with the name PIN in place of the flag that the PIN would have.
func namePIN(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.NewReplacer("--staff-pin", "PIN", "--pin", "PIN").Replace(err.Error()))
}

// readSecretLine reads one line from standard input, without echo at a terminal.
func readSecretLine() (string, error) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return readLine(os.Stdin)
	}
	fmt.Fprint(os.Stderr, "PIN: ")
	defer fmt.Fprintln(os.Stderr)
	stop := restoreOnSignal(fd)
	defer stop()
	pin, err := term.ReadPassword(fd)
	if err == nil && len(pin) == 0 {
		return "", errNoPIN
	}
	return string(pin), err
}

// readLine reads the only line of an input.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, pinBytes)).ReadString('\n')
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
