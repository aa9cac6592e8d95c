package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"punchcard/server/dev"
)

// liveLog returns the function that shows each request to a fixture on stderr. It returns
// nil, which shows none, unless stdout and stderr are terminals. A program that reads the
// ready line from a pipe has the journal instead, and a log in a file gets no such lines.
func liveLog() func(dev.Answered) {
	if !term.IsTerminal(int(os.Stdout.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	return writeLive(os.Stderr, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// writeLive returns a function that writes a line for each request to w.
func writeLive(w io.Writer, colors bool) func(dev.Answered) {
	var mu sync.Mutex
	return func(a dev.Answered) {
		var line bytes.Buffer
		fmt.Fprintf(&line, "%-7s ", a.Method)
		color, status := colorOf(a.Status), "cut"
		switch {
		case a.Status != 0:
			status = fmt.Sprint(a.Status)
		case a.Method == "WEBHOOK":
			status = "---"
		}
		if colors {
			status = color + status + "\x1b[0m"
		}
		fmt.Fprintf(&line, "%s %8s  %s", status, milliseconds(a.Duration), Printable(a.Path))
		if len(a.Hints) > 0 {
			fmt.Fprintf(&line, "  %s", Printable(strings.Join(a.Hints, "; ")))
		}
		line.WriteByte('\n')
		mu.Lock()
		defer mu.Unlock()
		w.Write(line.Bytes()) // an error is ignored: the server goes on without its terminal
	}
}

// colorOf returns the sequence that sets the color of a status on a terminal: green for a
// success, cyan for a redirect, yellow for a refusal, and red for what went wrong.
func colorOf(status int) string {
	switch status / 100 {
	case 2:
		return "\x1b[32m"
	case 3:
		return "\x1b[36m"
	case 4:
		return "\x1b[33m"
	}
	return "\x1b[31m"
}

// milliseconds returns a duration for people, such as 0.4 ms or 1204 ms.
func milliseconds(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}
