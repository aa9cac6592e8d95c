//go:build !linux

package command

// stepBack would let others go first on the processors; here it does nothing.
func stepBack() {}

// aside calls f; it would give it the time that nobody else wants.
func aside(f func()) { f() }
