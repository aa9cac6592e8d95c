package store

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

//go:embed schema.sql
var schema string

// applicationID is the application_id of punchcard's files ("pnch").
const applicationID = 0x706e6368

// IsDatabase reports whether the first 100 bytes of a file are those of a punchcard database, also
// of a damaged one.
func IsDatabase(header []byte) bool {
	return len(header) >= 100 && bytes.HasPrefix(header, []byte("SQLite format 3\x00")) &&
		binary.BigEndian.Uint32(header[68:]) == applicationID
}

// firstVersion is the first version of the schema whose files can be migrated.
const firstVersion = 11

// firstSchema is the schema of firstVersion.
//
//go:embed migrations/11.sql
var firstSchema string

// migrations[i] brings a file from version firstVersion+i to the next. A migrated file must
// have the schema of a new one; see checkSchema.
var migrations = []string{to12}

//go:embed migrations/12.sql
var to12 string

func version() int64 { return firstVersion + int64(len(migrations)) }

// schemaOf returns the script that makes the schema of a version.
func schemaOf(v int64) string {
	if v == version() {
		return schema
	}
	return strings.Join(append([]string{firstSchema}, migrations[:v-firstVersion]...), ";\n")
}

// Inspect returns the version of the file's schema, 0 for a file that does not exist or is
// empty. It returns an error for a file that is not a punchcard database, or is one of a newer
// version. It does not write to the file.
func Inspect(ctx context.Context, path string) (v int64, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
		return 0, nil
	}
	if err == nil && info.Size() < sqlite.MinSize {
		return 0, fmt.Errorf("%s: is not a database", path)
	}
	c, err := openInspected(ctx, path)
	if err != nil {
		return 0, OpenError(path, err)
	}
	defer c.Close()
	// One snapshot: another process may migrate the file meanwhile.
	if err = c.Script("BEGIN"); err == nil {
		v, err = SchemaVersion(c, path)
	}
	if errors.Is(err, sqlite.ErrReadOnly) {
		// A process was killed during a change of the file itself. SQLite must first
		// roll that back with the journal, for which it writes to the file.
		var w *sqlite.Conn
		if w, err = sqlite.OpenContext(ctx, path, sqlite.ReadWrite, "busy_timeout=5000"); err != nil {
			return 0, OpenError(path, err)
		}
		defer w.Close()
		v, err = SchemaVersion(w, path)
	}
	return v, err
}

// openInspected opens a file to read it. Opening the file beside SQLite would drop the locks
// that this process may hold on it.
//
// A read-only connection leaves files beside the database, and one that may write moves the log
// of a killed process into the database when it is closed. So a file that has neither log nor
// journal is opened for writing, and a file that has one for reading.
func openInspected(ctx context.Context, path string) (*sqlite.Conn, error) {
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return sqlite.OpenContext(ctx, path, sqlite.ReadOnly, "busy_timeout=5000")
		}
	}
	return sqlite.OpenContext(ctx, path, sqlite.ReadWrite, "busy_timeout=5000", "query_only=1")
}

// ErrOlder is the error of opening a file of an older version without the serve lock, which a
// migration needs: an older server may be serving the file.
var ErrOlder = errors.New("has an older schema")

// refuse returns an error if the store must not use a file whose schema has the version.
func (s *Store) refuse(have int64) error {
	switch {
	case have == 0 && s.opts.MustExist:
		return fmt.Errorf("%s: is not a punchcard database, but an empty file", s.path)
	case have > 0 && have < version() && !s.opts.Serve:
		return fmt.Errorf("%s: %w (%d; this punchcard needs %d)", s.path, ErrOlder, have, version())
	}
	return nil
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
		return 0, fmt.Errorf("%s: was written by a newer punchcard: it needs a version that knows schema %d, and this one knows schema %d",
			path, v, version())
	case v < firstVersion:
		return 0, fmt.Errorf("%s: was written by an older punchcard: it has schema %d, and this one knows schema %d and newer; "+
			"run \"punchcard migrate\" of a version before this one first", path, v, firstVersion)
	}
	err = checkSchema(c, v)
	if err == nil {
		_, err = readIDs(c)
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

// migrate brings the file to the current schema in one transaction, and copies an older one
// before.
func (s *Store) migrate() error {
	if _, err := s.writer.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := Migration{To: version()}
	err := s.migrateHere(&done)
	if err != nil {
		s.writer.Exec("ROLLBACK")
		s.opts.Progress.End()
		return err
	}
	if _, err := s.writer.Exec("COMMIT"); err != nil {
		return err
	}
	s.opts.Progress.End()
	if done.From > 0 && done.From < done.To {
		if s.opts.Migrated != nil {
			s.opts.Migrated(done)
		}
		if err := s.removeCopies(func(version int64, _ fs.FileInfo) bool { return version != done.From }); err != nil {
			s.opts.Log.Warn("an older copy was not removed", "error", err)
		}
	}
	if err := s.readFloors(); err != nil {
		return err
	}
	s.IDs, err = readIDs(s.writer)
	return err
}

// migrateHere does what migrate does inside the transaction, and sets the fields of done.
func (s *Store) migrateHere(done *Migration) (err error) {
	if done.From, err = s.writer.Number("PRAGMA user_version"); err != nil {
		return err
	}
	if err = s.refuse(done.From); err != nil {
		return err
	}
	if done.From > 0 && done.From < done.To && !s.opts.NoCopy {
		if done.Copy, err = s.copyBefore(done.From); err != nil {
			return err
		}
	}
	return s.migrateTo(done.From, done.To, newMeter(s.writer, s.opts.Progress))
}

// migrateTo creates the schema in an empty file, or runs the migrations from the version that
// the file has. It runs inside a transaction.
func (s *Store) migrateTo(have, want int64, m *meter) error {
	w := s.writer
	if have == want {
		// This changes no row, but fails if the file cannot be written, which
		// neither opening it nor BEGIN IMMEDIATE does.
		_, err := w.Exec("UPDATE meta SET auth_epoch=0 WHERE id=0")
		return err
	}
	if have == 0 {
		if err := w.Script(schema); err != nil {
			return err
		}
		secret := s.opts.IDSecret
		if secret == nil {
			secret = make([]byte, 16)
			if _, err := io.ReadFull(s.opts.Rand, secret); err != nil {
				return err
			}
		}
		if _, err := w.Exec("INSERT INTO meta (id, id_secret, id_check) VALUES (1, ?, ?)", secret, secretCheck(secret)); err != nil {
			return err
		}
	} else {
		for v := have; v < want; v++ {
			step := fmt.Sprintf("migrating to schema %d", v+1)
			if err := w.EditSchema(func() error { return m.script(w, step, migrations[v-firstVersion]) }); err != nil {
				return fmt.Errorf("from schema %d to %d: %w", v, v+1, err)
			}
		}
		if err := checkSchema(w, want); err != nil {
			return err
		}
		m.begin("committing the migration", 0)
	}
	return w.Script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, want))
}
