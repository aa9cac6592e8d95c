//go:build !unix

package file

// noFollow is 0: the system has no such flags. Check finds links before.
const noFollow = 0
