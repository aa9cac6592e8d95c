package sqlite

import (
	"sync"
	_ "unsafe" // for go:linkname
)

//go:linkname heapMu modernc.org/libc.allocatorMu
var heapMu sync.Mutex
