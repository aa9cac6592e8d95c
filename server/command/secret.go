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

// readPIN reads a PIN from standard input: one line. At a terminal it asks for the
// PIN and does not show what is typed.
func readPIN() (string, error) {
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

var errNoPIN = errors.New("the first line of standard input is empty; --none removes the PIN")

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
