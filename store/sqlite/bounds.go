package sqlite

import (
	"context"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
)

// A statement on a sound file takes a number of SQLite's steps that grows with the
// file: the heaviest of check take less than one step for each byte. In a file that
// was made to do harm a page can be part of many trees, or of one tree many times, so
// that a statement never ends. A statement is ended after stepsAtLeast, plus
// stepsPerByte for each byte of the file and its log. What is written is in the cache
// before it is in the log, which stepsAtLeast takes into account.
const (
	stepsAtLeast = 10_000_000
	stepsPerByte = 20
	fewSteps     = 500_000 // of FewSteps
	stepsPerCall = 1 << 16 // of the progress handler
)

// A query of a sound file returns fewer rows than rowsAtLeast, plus one for each
// bytesPerRow bytes of the file and its log. One of a file that was made to do harm
// could return so many before it is ended that a list of them fills the memory.
const (
	rowsAtLeast = 100_000
	bytesPerRow = 8
)

// maxValue is the maximum size in bytes of a value, a row and a statement. Bodies of
// requests, the largest values, have 1 MiB.
const maxValue = 64 << 20

// bounds holds what a connection's progress handler reads.
type bounds struct {
	raw   handle
	path  string
	calls int64 // of the progress handler since the statement began
	max   int64 // calls; grows with the file's size
	over  bool  // there were more
	few   bool  // see FewSteps

	ctx    context.Context // of InterruptOn; context.Background without
	wait   time.Duration   // for a busy file, see WaitFor
	waited time.Time       // when the wait for a busy file began
}

// bound makes the connection safe for any content of the file: no statement runs
// without end, no value takes more memory than maxValue, and views, and functions in
// the schema that can do more than compute, are errors.
func (c *Conn) bound(path string) error {
	c.bounds = bounds{raw: handleOf(c.db), path: path, ctx: context.Background(), max: stepsAtLeast / stepsPerCall}
	c.raw.handleProgress(c)
	c.db.Limit(sqlite.LimitLength, maxValue)
	if err := c.raw.harden(); err != nil {
		return err
	}
	return c.Script("PRAGMA cell_size_check=ON")
}

// progress is called after each stepsPerCall steps. It reports whether the statement must end.
func (c *Conn) progress() (end bool) {
	c.calls++
	if c.ctx.Err() != nil {
		return true
	}
	if c.calls > c.max && !c.few {
		c.max = (stepsAtLeast + stepsPerByte*fileSize(c.path)) / stepsPerCall
	}
	if c.over = c.calls > c.max; !c.over {
		c.watch.tell()
	}
	return c.over
}

// fileSize returns the size of a database and its log in bytes.
func fileSize(path string) (size int64) {
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// begin begins to count the steps of a statement, unless it runs between the rows of
// another.
func (c *Conn) begin() {
	if len(c.open) == 0 {
		c.calls, c.over = 0, false
	}
}

// Attach adds the database at the path under a name. From then on its size bounds the steps of
// statements, in the place of that of the connection's own file.
func (c *Conn) Attach(path, name string) error {
	_, err := c.Exec("ATTACH ? AS "+name, path)
	c.path = path
	return err
}

// FewSteps ends statements after fewSteps, whatever the size of the file, until the
// function that it returns is called. It is for reading the schema and single rows:
// SQLite's steps take longer while it reads the schema.
func (c *Conn) FewSteps() (end func()) {
	c.few, c.max = true, fewSteps/stepsPerCall
	return func() { c.few, c.max = false, stepsAtLeast/stepsPerCall }
}

// InterruptOn interrupts the connection when ctx ends, also while it waits for a busy
// file, after which it can only be closed.
func (c *Conn) InterruptOn(ctx context.Context) {
	c.ctx = ctx
	c.db.SetInterrupt(ctx.Done())
}

// NoInterrupt ends what InterruptOn began.
func (c *Conn) NoInterrupt() { c.InterruptOn(context.Background()) }

// WaitFor sets how long a statement waits for a busy file, and returns how long it waited before.
func (c *Conn) WaitFor(wait time.Duration) (before time.Duration) {
	before, c.wait = c.wait, wait
	return before
}

// busy waits a moment for a busy file, for the count-th time after the first. It reports whether
// to try again. SQLite's own handler soon waits for 25 to 100 ms, and so misses many of the moments in which
// a process that makes one write after the other does not hold the file.
func (c *Conn) busy(count int) (again bool) {
	if count == 0 {
		c.waited = time.Now()
	}
	if time.Since(c.waited) >= c.wait {
		return false
	}
	select {
	case <-c.ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}
