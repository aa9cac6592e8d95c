package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// Classes of errors by SQLite's result code. Test with errors.Is.
var (
	ErrFull     = errors.New("the disk or the database is full")
	ErrIO       = errors.New("the disk failed")
	ErrBusy     = errors.New("another process holds the database")
	ErrReadOnly = errors.New("the database cannot be written")
	ErrNotADB   = errors.New("not a database")
	ErrCorrupt  = errors.New("the database is damaged")
	ErrUnique   = errors.New("a unique index refused the row")
	ErrCheck    = errors.New("a constraint refused the row")
	ErrCantOpen = errors.New("the file cannot be opened")
	ErrEndless  = errors.New("a query reads more than a file of this size can contain: the database is damaged")
)

// classes maps primary result codes to the class of the error.
var classes = map[sqlite.ResultCode]error{
	sqlite.ResultFull:       ErrFull,
	sqlite.ResultIOErr:      ErrIO,
	sqlite.ResultNoMem:      ErrIO,
	sqlite.ResultBusy:       ErrBusy,
	sqlite.ResultLocked:     ErrBusy,
	sqlite.ResultReadOnly:   ErrReadOnly,
	sqlite.ResultCantOpen:   ErrCantOpen,
	sqlite.ResultNotADB:     ErrNotADB,
	sqlite.ResultCorrupt:    ErrCorrupt,
	sqlite.ResultConstraint: ErrCheck,
}

// classify wraps an error of SQLite together with its class.
func classify(err error) error {
	if err == nil {
		return nil
	}
	code := sqlite.ErrCode(err)
	class := classes[code.ToPrimary()]
	if code == sqlite.ResultConstraintUnique || code == sqlite.ResultConstraintPrimaryKey {
		class = ErrUnique
	}
	if class == nil {
		return err
	}
	return fmt.Errorf("%w: %w", class, err)
}

// classify does what the function classify does, and also classifies the error of a
// statement that took too many steps, or that was interrupted as the context of the connection ended.
func (c *Conn) classify(err error) error {
	interrupted := err != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt
	switch {
	case interrupted && c.over:
		return fmt.Errorf("%w: %w", ErrEndless, err)
	case interrupted && c.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", c.ctx.Err(), err)
	}
	return classify(err)
}

// Class returns the class of an error that concerns the whole database file,
// whose text is meant for operators. It returns any other error unchanged.
func Class(err error) error {
	for _, class := range []error{ErrNotADB, ErrReadOnly, ErrCantOpen, ErrFull, ErrIO, ErrBusy, ErrCorrupt, ErrEndless} {
		if errors.Is(err, class) {
			return class
		}
	}
	return err
}
