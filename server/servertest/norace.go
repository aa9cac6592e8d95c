//go:build !race

package servertest

const racing = false
