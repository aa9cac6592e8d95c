//go:build !linux

package sqlite

import (
	"sync"
	_ "unsafe" // for go:linkname
)

//go:linkname heapMu modernc.org/libc.allocMu
var heapMu sync.Mutex
