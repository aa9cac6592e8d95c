package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

//go:embed schema.sql
var schema string

// applicationID is the application_id of punchcard's files ("pnch").
const applicationID = 0x706e6368

// migrations[i] brings a file from version i+1 to i+2. A migrated file must
// have the schema of a fresh one; the tests compare the two for every version.
var migrations = []string{to2, to3, to4, to5, to6, to7, to8, to9, to10, to11}

//go:embed migrations/11.sql
var to11 string

//go:embed migrations/10.sql
var to10 string

//go:embed migrations/9.sql
var to9 string

//go:embed migrations/8.sql
var to8 string

//go:embed migrations/7.sql
var to7 string

//go:embed migrations/6.sql
var to6 string

//go:embed migrations/5.sql
var to5 string

//go:embed migrations/4.sql
var to4 string

//go:embed migrations/3.sql
var to3 string

//go:embed migrations/2.sql
var to2 string

// countedSince is the version since which the sums of the statistics have their
// meaning. Files of older versions are counted when they are migrated.
const countedSince = 6

func version() int64 { return int64(len(migrations)) + 1 }

// Inspect returns an error for a file that is not a punchcard database, or is one
// of a newer version. It does not write to the file. It uses a read-only
// connection, since opening the file beside SQLite would drop the locks that this
// process may hold on it.
func Inspect(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil
	}
	if err == nil && info.Size() < sqlite.MinSize {
		return fmt.Errorf("%s: is not a database", path)
	}
	c, err := sqlite.OpenContext(ctx, path, sqlite.ReadOnly, "busy_timeout=5000")
	if err != nil {
		return OpenError(path, err)
	}
	defer c.Close()
	// One snapshot: another process may migrate the file meanwhile.
	if err = c.Script("BEGIN"); err == nil {
		_, err = SchemaVersion(c, path)
	}
	if errors.Is(err, sqlite.ErrReadOnly) {
		// A process was killed during a change of the file itself. SQLite must first
		// roll that back with the journal, for which it writes to the file.
		var w *sqlite.Conn
		if w, err = sqlite.OpenContext(ctx, path, sqlite.ReadWrite, "busy_timeout=5000"); err != nil {
			return OpenError(path, err)
		}
		defer w.Close()
		_, err = SchemaVersion(w, path)
	}
	return err
}

// SchemaVersion returns the version of the file's schema, 0 for an empty file.
// It returns an error for files that are not punchcard's, those of a newer version,
// and those whose schema or id secret is not the one that punchcard made. Its errors
// name the file as path.
func SchemaVersion(c *sqlite.Conn, path string) (v int64, err error) {
	defer c.FewSteps()()
	app, err := c.Number("PRAGMA application_id")
	if err != nil {
		return 0, OpenError(path, err)
	}
	// Not count(*), which SQLite does not interrupt.
	tables, err := c.Number("SELECT 1 FROM sqlite_schema LIMIT 1")
	if err != nil {
		return 0, OpenError(path, err)
	}
	if v, err = c.Number("PRAGMA user_version"); err != nil {
		return 0, OpenError(path, err)
	}
	switch {
	case app == 0 && v == 0 && tables == 0:
		return 0, nil
	case app != applicationID || v < 1:
		return 0, fmt.Errorf("%s: is a SQLite database, but not one of punchcard", path)
	case v > version():
		return 0, fmt.Errorf("%s: was written by a newer punchcard (schema %d, this one knows %d)", path, v, version())
	}
	err = checkSchema(c, v)
	if err == nil {
		_, err = (*conn)(c).readIDs(v)
	}
	if err != nil {
		return 0, OpenError(path, err)
	}
	return v, nil
}

// OpenError returns an error of opening or reading a file as one line for the
// operator.
func OpenError(path string, err error) error {
	if why := denied(path, err); why != nil {
		return why
	}
	switch {
	case errors.Is(err, sqlite.ErrNotADB):
		return fmt.Errorf("%s: is not a database", path)
	case errors.Is(err, sqlite.ErrCantOpen):
		return fmt.Errorf("%s: %w", path, sqlite.ErrCantOpen)
	case errors.Is(err, sqlite.ErrEndless):
		return fmt.Errorf("%s: %w", path, sqlite.ErrEndless)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// denied returns the error of a file that the system does not let this process use, which
// SQLite calls a file that cannot be opened or written: it names the permission that is
// missing, and wraps err. It returns nil for other errors.
func denied(path string, err error) error {
	if !errors.Is(err, sqlite.ErrCantOpen) && !errors.Is(err, sqlite.ErrReadOnly) && !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	why := file.Denied(path, append([]string{".lock"}, BesideSuffixes...)...)
	if why == nil {
		return nil
	}
	return deniedError{why, err}
}

// deniedError is an error with the text of its reason.
type deniedError struct{ why, err error }

func (e deniedError) Error() string { return e.why.Error() }

func (e deniedError) Unwrap() []error { return []error{e.why, e.err} }

// migrate brings the file to the current schema in one transaction.
func (s *Store) migrate() error {
	if _, err := s.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := s.migrateTo(version(), newMeter(s.writer, s.opts.Progress))
	if err != nil {
		s.writer.exec("ROLLBACK")
		s.opts.Progress.End()
		return err
	}
	if _, err := s.writer.exec("COMMIT"); err != nil {
		return err
	}
	s.opts.Progress.End()
	if err := s.readFloors(); err != nil {
		return err
	}
	s.IDs, err = s.writer.readIDs(version())
	return err
}

// migrateTo creates the schema in an empty file, or runs the migrations that an
// older one lacks. It runs inside a transaction.
func (s *Store) migrateTo(want int64, m *meter) error {
	w := s.writer
	have, err := w.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	if have == want {
		// This changes no row, but fails if the file cannot be written, which
		// neither opening it nor BEGIN IMMEDIATE does.
		_, err := w.exec("UPDATE meta SET auth_epoch=0 WHERE id=0")
		return err
	}
	if have == 0 {
		if err := w.script(schema); err != nil {
			return err
		}
		secret := s.opts.IDSecret
		if secret == nil {
			secret = make([]byte, 16)
			if _, err := io.ReadFull(s.opts.Rand, secret); err != nil {
				return err
			}
		}
		if _, err := w.exec("INSERT INTO meta (id, id_secret, id_check) VALUES (1, ?, ?)", secret, secretCheck(secret)); err != nil {
			return err
		}
	} else {
		if err := w.db().EditSchema(true); err != nil {
			return err
		}
		defer w.db().EditSchema(false)
		for v := have; v < want; v++ {
			if err := m.script(w, fmt.Sprintf("migrating to schema %d", v+1), migrations[v-1]); err != nil {
				return fmt.Errorf("from schema %d to %d: %w", v, v+1, err)
			}
		}
		if have < countedSince {
			if err := s.recountAll(m); err != nil {
				return fmt.Errorf("counting for schema %d: %w", countedSince, err)
			}
		}
		if have >= countedSince && have < quarterMoneySince && want >= quarterMoneySince {
			if err := s.recountQuarters(m); err != nil {
				return fmt.Errorf("counting quarter hours for schema %d: %w", quarterMoneySince, err)
			}
		}
		if have < secretCheckSince && want >= secretCheckSince {
			if err := fillSecretCheck(w.db()); err != nil {
				return fmt.Errorf("the check value of the id secret: %w", err)
			}
		}
		if have < shortCodesSince && want >= shortCodesSince {
			if err := w.fillShortCodes(m, want); err != nil {
				return fmt.Errorf("short codes for schema %d: %w", shortCodesSince, err)
			}
		}
		if have < cardWordsSince && want >= cardWordsSince {
			if err := w.fillCardWords(m); err != nil {
				return fmt.Errorf("words of names for schema %d: %w", cardWordsSince, err)
			}
		}
		if have < lastSeenSince && want >= lastSeenSince {
			if err := w.fillLastSeen(m, ""); err != nil {
				return fmt.Errorf("days on which cards were seen for schema %d: %w", lastSeenSince, err)
			}
		}
		if err := checkSchema(w.db(), want); err != nil {
			return err
		}
		m.begin("committing the migration", 0)
	}
	return w.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, want))
}
