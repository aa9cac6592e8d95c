package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"punchcard/server/dashboard"
)

// The bounds of what is remembered.
const (
	maxErrors  = 20
	maxMessage = 500 // bytes
)

// lastErrors are the newest errors of the log.
type lastErrors struct {
	mu   sync.Mutex
	list []dashboard.LoggedError
}

// newest returns the errors, the newest first.
func (l *lastErrors) newest() []dashboard.LoggedError {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.list)
	slices.Reverse(list)
	return list
}

// remember returns a logger that writes to another and remembers the errors.
func (l *lastErrors) remember(log *slog.Logger) *slog.Logger {
	return slog.New(errorHandler{Handler: log.Handler(), last: l})
}

// errorHandler is a slog.Handler that remembers errors.
type errorHandler struct {
	slog.Handler
	last  *lastErrors
	attrs []slog.Attr
}

// Enabled reports whether a level is logged. Errors always reach Handle.
func (h errorHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || h.Handler.Enabled(ctx, level)
}

// Handle remembers an error and passes the record on.
func (h errorHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.last.add(h.attrs, r)
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attributes to each record.
func (h errorHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorHandler{h.Handler.WithAttrs(attrs), h.last, append(slices.Clone(h.attrs), attrs...)}
}

// WithGroup returns a handler whose attributes are in a group.
func (h errorHandler) WithGroup(name string) slog.Handler {
	return errorHandler{h.Handler.WithGroup(name), h.last, h.attrs}
}

func (l *lastErrors) add(attrs []slog.Attr, r slog.Record) {
	var b strings.Builder
	b.WriteString(r.Message)
	write := func(a slog.Attr) bool {
		if a.Key != "stack" {
			b.WriteString(" " + a.Key + "=" + a.Value.String())
		}
		return true
	}
	for _, a := range attrs {
		write(a)
	}
	r.Attrs(write)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, dashboard.LoggedError{At: r.Time, Message: shorten(b.String(), maxMessage)})
	if len(l.list) > maxErrors {
		l.list = slices.Delete(l.list, 0, 1)
	}
}

// shorten cuts a text that is longer than n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
