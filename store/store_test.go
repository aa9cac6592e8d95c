package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// serveChild holds the serve lock of path until its input ends.
func serveChild(path string) {
	s, err := Open(path, Options{Serve: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("serving")
	io.Copy(io.Discard, os.Stdin)
	s.Close()
}

// childProcess starts this binary to run a child function on path, and returns its output and the
// end of its input.
func childProcess(t *testing.T, does, path string) (cmd *exec.Cmd, out *bufio.Scanner, stdin io.Closer) {
	exe := check(os.Executable())
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+does, "STORE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	stdout := check(cmd.StdoutPipe())
	in := check(cmd.StdinPipe())
	succeed(cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(stdout), in
}

// fingerprint returns the mode and a hash of a file, the entries of a folder, or why it cannot be
// read.
func fingerprint(t *testing.T, path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	if info.IsDir() {
		list, err := os.ReadDir(path)
		return fmt.Sprint(list, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprint(info.Size(), err)
	}
	return fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(b))
}

// refuses opens path. Open must fail with one line that has the path and the reason, and must not
// change the file.
func refuses(t *testing.T, path string, opts Options, why string) {
	t.Helper()
	before := fingerprint(t, path)
	s, err := Open(path, opts)
	if err == nil {
		s.Close()
		t.Fatal("it was opened")
	}
	if msg := err.Error(); !strings.HasPrefix(msg, path+": ") || !strings.Contains(msg, why) || strings.ContainsAny(msg, "\r\n") ||
		strings.Contains(msg, "%!") {
		t.Errorf("the refusal is %q, want one line that begins with the path and contains %q", msg, why)
	}
	if after := fingerprint(t, path); after != before {
		t.Errorf("the file changed from %s to %s", before, after)
	}
}

// createEmpty creates an empty file, unless there is a file, and returns its path.
func createEmpty(t *testing.T, path string) string {
	t.Helper()
	if err := file.Create(path); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return path
}

// createWithScript runs a script on a SQLite file, which it creates if there is none.
func createWithScript(t *testing.T, path, script string) {
	c := check(sqlite.Open(createEmpty(t, path), sqlite.ReadWrite))
	succeed(c.EditSchema(func() error { return c.Script(script) }))
	succeed(c.Close())
}

// writeText writes a text file.
func writeText(t *testing.T, path, content string) {
	succeed(os.WriteFile(path, []byte(content), 0o644))
}

// TestOpenRefuses checks that Open refuses a path that it cannot use, changes nothing there, and gives
// the reason.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {Serve: true}, {MustExist: true}} {
		t.Run(fmt.Sprintf("serve %t must exist %t", opts.Serve, opts.MustExist), func(t *testing.T) {
			refusesFiles(t, opts)
			refusesPaths(t, opts)
		})
	}
	t.Run("nothing where something must be", func(t *testing.T) { refuses(t, newPath(t), Options{MustExist: true}, "no such database") })
	t.Run("no path", func(t *testing.T) { refuses(t, "", Options{}, "") })
	t.Run("a secret of the wrong length", func(t *testing.T) { refuses(t, newPath(t), Options{IDSecret: []byte("short")}, "") })
}

// refusesFiles opens files that are not a database of this version.
func refusesFiles(t *testing.T, opts Options) {
	t.Run("a text file", func(t *testing.T) {
		for _, content := range []string{"x", "shop,card\n1,2\n", strings.Repeat("not a database\n", 500)} {
			path := newPath(t)
			writeText(t, path, content)
			refuses(t, path, opts, "is not a database")
		}
	})
	t.Run("a foreign database", func(t *testing.T) {
		path := newPath(t)
		createWithScript(t, path, "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Yesterday')")
		refuses(t, path, opts, "is a SQLite database, but not one of punchcard")
	})
	t.Run("a foreign database without tables", func(t *testing.T) {
		for _, mark := range []string{"application_id=77", "user_version=1", "user_version=9", "application_id=77; PRAGMA user_version=1"} {
			path := newPath(t)
			createWithScript(t, path, "PRAGMA "+mark)
			refuses(t, path, opts, "is a SQLite database, but not one of punchcard")
		}
	})
	t.Run("a foreign database with a write-ahead log", func(t *testing.T) {
		from, path := newPath(t), newPath(t)
		c := check(sqlite.Open(createEmpty(t, from), sqlite.ReadWrite, "journal_mode=WAL"))
		defer c.Close()
		succeed(c.Script("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Yesterday')"))
		for _, end := range []string{"", "-wal"} {
			b := check(os.ReadFile(from + end))
			writeText(t, path+end, string(b))
		}
		log := fingerprint(t, path+"-wal")
		refuses(t, path, opts, "is a SQLite database, but not one of punchcard")
		if after := fingerprint(t, path+"-wal"); after != log {
			t.Errorf("its WAL changed from %s to %s", log, after)
		}
	})
	t.Run("a newer schema", func(t *testing.T) {
		path := newDatabase(t)
		createWithScript(t, path, fmt.Sprintf("PRAGMA user_version=%d", version()+1))
		why := "was written by a newer punchcard: it needs a version that knows schema %d, and this one knows schema %d"
		refuses(t, path, opts, fmt.Sprintf(why, version()+1, version()))
	})
	t.Run("a damaged file of ours", func(t *testing.T) {
		path := newDatabase(t)
		b := check(os.ReadFile(path))
		copy(b[100:], strings.Repeat("\xff", 60)) // the first page, which has the schema
		writeText(t, path, string(b))
		refuses(t, path, opts, sqlite.ErrCorrupt.Error())
	})
}

// refusesPaths opens paths where no database can be opened or created.
func refusesPaths(t *testing.T, opts Options) {
	t.Run("a folder", func(t *testing.T) { refuses(t, t.TempDir(), opts, "is a folder, not a database") })
	t.Run("something that is no file", func(t *testing.T) { refuses(t, os.DevNull, opts, "is not a regular file") })
	t.Run("below a file", func(t *testing.T) {
		path := newPath(t)
		writeText(t, path, "x")
		refuses(t, filepath.Join(path, "cards.db"), opts, "not a directory")
	})
	t.Run("a missing folder", func(t *testing.T) {
		why := "does not exist"
		if opts.MustExist {
			why = "no such database"
		}
		refuses(t, filepath.Join(t.TempDir(), "none", "cards.db"), opts, why)
	})
	t.Run("a folder that takes no files", func(t *testing.T) {
		path, why := "/proc/cards.db", sqlite.ErrCantOpen.Error()
		if os.Geteuid() != 0 {
			path, why = newPath(t), "permission denied"
			succeed(os.Chmod(filepath.Dir(path), 0o500))
		}
		if opts.MustExist {
			why = "no such database"
		} else if opts.Serve && os.Geteuid() == 0 {
			why = "cannot write next to the database"
		}
		refuses(t, path, opts, why)
	})
	if os.Geteuid() != 0 { // permissions do not apply to root
		t.Run("no permission", func(t *testing.T) {
			for mode, why := range map[os.FileMode]string{0: "may not read", 0o400: "may not write"} {
				path := newDatabase(t)
				succeed(os.Chmod(path, mode))
				refuses(t, path, opts, why)
			}
		})
	}
}

func TestOneServerPerFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	const why = "another punchcard is serving this database"

	server := open(t, path, Options{Serve: true})
	refuses(t, path, Options{Serve: true}, why)
	open(t, path, Options{}).Close() // a command beside a server
	_, out, _ := childProcess(t, "serve", path)
	if out.Scan(); out.Text() != path+": "+why {
		t.Errorf("another process beside the server printed %q", out.Text())
	}
	server.Close()

	cmd, out, stdin := childProcess(t, "serve", path)
	if out.Scan(); out.Text() != "serving" {
		t.Fatalf("another process after the server printed %q", out.Text())
	}
	refuses(t, path, Options{Serve: true}, why)
	stdin.Close()
	cmd.Wait()
	open(t, path, Options{Serve: true}).Close()

	// A killed server leaves no lock.
	cmd, out, _ = childProcess(t, "serve", path)
	if out.Scan(); out.Text() != "serving" {
		t.Fatalf("another process printed %q", out.Text())
	}
	cmd.Process.Kill()
	cmd.Wait()
	open(t, path, Options{Serve: true}).Close()
}

// TestRefusalFreesTheLock checks that a refused Open releases its lock.
func TestRefusalFreesTheLock(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	succeed(os.WriteFile(path, []byte("text"), 0o644))
	refuses(t, path, Options{Serve: true}, "is not a database")
	succeed(os.Remove(path))
	open(t, path, Options{Serve: true})
}

func TestOpenCreates(t *testing.T) {
	t.Parallel()
	t.Run("a missing file", func(t *testing.T) {
		path := newPath(t)
		open(t, path, Options{}).Close()
		open(t, path, Options{MustExist: true})
	})
	t.Run("an empty file", func(t *testing.T) {
		path := newPath(t)
		writeText(t, path, "")
		refuses(t, path, Options{MustExist: true}, "an empty file")
		f := reopen(t, path, Options{})
		f.shop(ShopFields{})
		if info := check(os.Lstat(path)); info.Mode() != 0o600 {
			t.Errorf("the file has the mode %v", info.Mode())
		}
	})
	t.Run("the same ids after a restart", func(t *testing.T) {
		path := newPath(t)
		s := open(t, path, Options{})
		id := s.ID(KindCard, 7)
		s.Close()
		if key, ok := open(t, path, Options{IDSecret: make([]byte, 16)}).Key(KindCard, id); !ok || key != 7 {
			t.Errorf("%s is %d, %t after a restart", id, key, ok)
		}
	})
}

func TestOpenAcceptsAnyPath(t *testing.T) {
	for _, name := range []string{
		"with space.db", "what?mode=memory", "a#b.db", "100%41.db", `quo"te's.db`, "naïve-日本-🎟.db", `back\slash.db`,
		"file:cards.db",
		":memory:", "tab\tname.db", "-dash",
	} {
		t.Run(url.PathEscape(name), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name+".d")
			succeed(os.Mkdir(dir, 0o700))
			t.Chdir(dir)
			for _, path := range []string{filepath.Join(dir, name), name, "/" + filepath.Join(dir, name)} {
				f := reopen(t, path, Options{Serve: true, Ephemeral: true, Readers: 1})
				f.shop(ShopFields{})
				succeed(f.Close())
				list, err := os.ReadDir(dir)
				if err != nil || len(list) != 2 || list[0].Name() != name && list[1].Name() != name {
					t.Fatalf("opening %q left %v, %v", path, list, err)
				}
			}
			f := reopen(t, filepath.Join(dir, name), Options{MustExist: true, Readers: 1})
			f.selects(3, "SELECT count(*) FROM shops")
		})
	}
}

func TestReadersCannotWrite(t *testing.T) {
	f := start(t, Options{Readers: 3})
	before := f.dump()
	for range 6 { // more than there are readers
		for _, sql := range []string{
			"UPDATE shops SET name='changed'", "DELETE FROM audit", "INSERT INTO audit SELECT * FROM audit",
			"DROP TABLE cards", "PRAGMA user_version=9",
		} {
			f.reads(func(v *View) {
				if _, err := v.conn.Exec(sql); err == nil || sql[0] != 'P' && !strings.Contains(err.Error(), sqlite.ErrReadOnly.Error()) {
					t.Errorf("a reader ran %q: %v", sql, err)
				}
			})
		}
	}
	if after := f.dump(); after != before {
		t.Error("a reader changed the file")
	}
	succeed(f.Write(context.Background(), noting("the writer can")))
}

// TestNullColumns checks that null and values of the domain's types are read as they were bound.
func TestNullColumns(t *testing.T) {
	f := start(t)
	f.view(func(v *View) error {
		return errorOf(one(v.conn, func(r *rows) {
			if at, n, x := r.nullTime(), r.nullInt(), r.nullFloat(); at.Valid || n.Valid || x.Valid {
				t.Errorf("null is read as %v, %v and %v", at, n, x)
			}
			if at, n, x, s := r.nullTime(), r.nullInt(), r.nullFloat(), r.nullStr(); at != Some(Time(1<<40)) || n != Some(int64(-7)) ||
				x != Some(0.5) ||
				s != Some("a") {
				t.Errorf("values are read as %v, %v, %v and %v", at, n, x, s)
			}
			if at, kind, code, s := r.time(), r.int(), r.str(), r.nullStr(); at != 1<<40 || kind != int64(KindCard) ||
				code != string(Gone) ||
				s.Valid {
				t.Errorf("plain values are read as %v, %v, %v and %v", at, kind, code, s)
			}
		}, "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", Null[Time]{}, Null[int64]{}, Null[float64]{},
			Some(Time(1<<40)), Some(int64(-7)), Some(0.5), Some("a"), Time(1<<40), KindCard, Gone, Null[string]{}))
	})
}
