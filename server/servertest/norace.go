//go:build !race

package servertest

// racing is true if the race detector is on.
const racing = false
