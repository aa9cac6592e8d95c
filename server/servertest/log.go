package servertest

import (
	"bytes"
	"strings"
	"sync"
)

// Log is a writer for a log. It can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Has reports whether the log contains a text.
func (l *Log) Has(text string) bool { return strings.Contains(l.String(), text) }
