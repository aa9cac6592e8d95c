//go:build !unix

package file

// noFollow is 0, since the system has no such flags. Check refuses links before a file is opened.
const noFollow = 0
