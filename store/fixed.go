package store

import "sync/atomic"

// Fixed is a value that never changes, and its text once somebody has written
// it: who shows it over and over need not write it anew each time. It is used
// by many at once.
type Fixed[T any] struct {
	V    T
	text atomic.Pointer[[]byte]
}

// NewFixed makes a value fixed.
func NewFixed[T any](v T) *Fixed[T] { return &Fixed[T]{V: v} }

// Text is what Keep was given; nil before.
func (f *Fixed[T]) Text() []byte {
	if p := f.text.Load(); p != nil {
		return *p
	}
	return nil
}

// Keep takes the text of the value, which nobody may change from then on.
func (f *Fixed[T]) Keep(text []byte) { f.text.Store(&text) }
