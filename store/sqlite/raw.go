package sqlite

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// The functions of SQLite for which zombiezen.com/go/sqlite has no method: the progress
// handler, a busy handler, the counters of statements and sqlite3_db_config. They need SQLite's
// handles, which that library keeps in fields of its own. No other file knows these fields, and
// TestLayout fails if a version of the library has others.

// init does what the driver of modernc.org/sqlite does too. Without it, reading
// pages of 64 KiB fails with an I/O error on Linux and arm64.
func init() { sqlite3.PatchIssue199() }

// noFollow makes SQLite refuse a symbolic link at the end of the path.
const noFollow sqlite.OpenFlags = sqlite3.SQLITE_OPEN_NOFOLLOW

// handle is SQLite's own connection.
type handle struct {
	tls *libc.TLS
	db  uintptr
}

// handleOf returns the handle of a connection.
func handleOf(db *sqlite.Conn) handle {
	v := reflect.ValueOf(db).Elem()
	return handle{(*libc.TLS)(v.FieldByName("tls").UnsafePointer()), uintptr(v.FieldByName("conn").Uint())}
}

// harden forbids functions in the schema that can do more than compute, and views. The plan of
// a statement does not depend on its arguments. Otherwise SQLite compiles many statements a
// second time when their arguments are bound.
func (h handle) harden() error {
	for option, on := range map[int32]int32{
		sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
		sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW:    0,
		sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG:    1,
	} {
		if err := h.set(option, on, uintptr(0)); err != nil {
			return err
		}
	}
	return nil
}

// defend forbids, or allows again, statements that can damage the file, such as those that write to
// the text of the schema.
//
// It does not call SetDefensive of the library, which passes one argument to SQLite where
// SQLite reads two, and so lets SQLite write to any address.
func (h handle) defend(on bool) error {
	value := int32(0)
	if on {
		value = 1
	}
	return h.set(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, value, uintptr(0))
}

// noLookaside frees the memory for small objects. See NoLookaside.
func (h handle) noLookaside() error {
	return h.set(sqlite3.SQLITE_DBCONFIG_LOOKASIDE, uintptr(0), int32(0), int32(0))
}

// set sets an option of sqlite3_db_config.
func (h handle) set(option int32, values ...any) error {
	args := libc.NewVaList(values...)
	if args == 0 {
		return fmt.Errorf("%w: no memory", ErrIO)
	}
	defer libc.Xfree(h.tls, args)
	return sqlite.ResultCode(sqlite3.Xsqlite3_db_config(h.tls, h.db, option, args)).ToError()
}

// handled are the connections by SQLite's handle, for the handlers.
var handled sync.Map // of uintptr to *Conn

// handleProgress makes SQLite call c.progress after each stepsPerCall steps.
func (h handle) handleProgress(c *Conn) {
	handled.Store(h.db, c)
	sqlite3.Xsqlite3_progress_handler(h.tls, h.db, stepsPerCall, callback(progressHandler), h.db)
}

// handleBusy makes SQLite call busy of the connection while the file is busy.
func (h handle) handleBusy() { sqlite3.Xsqlite3_busy_handler(h.tls, h.db, callback(busyHandler), h.db) }

// forget ends the handlers of a connection that is closed. Another connection may have got the same handle meanwhile.
func (h handle) forget(c *Conn) { handled.CompareAndDelete(h.db, c) }

// callback is a function that SQLite calls. Its first words are those of a Go
// closure, which is how modernc.org/libc represents functions of C.
func callback[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// progressHandler is SQLite's progress handler. It returns 1 to end the statement.
func progressHandler(_ *libc.TLS, db uintptr) int32 {
	if c, ok := handled.Load(db); ok && c.(*Conn).progress() {
		return 1
	}
	return 0
}

// busyHandler is SQLite's busy handler. It returns 0 to give up.
func busyHandler(_ *libc.TLS, db uintptr, count int32) int32 {
	if c, ok := handled.Load(db); ok && c.(*Conn).busy(int(count)) {
		return 1
	}
	return 0
}

// The counters of a statement. SQLite documents the one of full scans; it counts the
// steps of all other loops in the first, which check, foreign_key_check and CREATE INDEX
// use to go through a table. TestWatch fails if a version of SQLite counts otherwise.
const (
	otherLoops = 0
	fullScans  = sqlite3.SQLITE_STMTSTATUS_FULLSCAN_STEP
)

// counter is a counter of a statement.
type counter struct {
	handle
	stmt uintptr
	kind int32
}

// counterOf returns a counter of a statement, which begins at 0.
func (h handle) counterOf(s *sqlite.Stmt, kind int32) counter {
	c := counter{h, uintptr(reflect.ValueOf(s).Elem().FieldByName("stmt").Uint()), kind}
	sqlite3.Xsqlite3_stmt_status(h.tls, c.stmt, kind, 1)
	return c
}

// read returns what was counted.
func (c counter) read() int64 {
	return int64(uint32(sqlite3.Xsqlite3_stmt_status(c.tls, c.stmt, c.kind, 0)))
}
