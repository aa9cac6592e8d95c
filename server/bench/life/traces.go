package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"punchcard/store/sqlite"
)

// garbageRequests is how many large answers make the server collect garbage more than twice. A buffer that is kept for use again
// is garbage after two of its collections.
const garbageRequests = 1000

// writeTraces writes the files in which the words of erased people must not be: what the server has on disk, its backups
// and exports.
func (y *year) writeTraces() error {
	if err := errors.Join(y.passTime(), y.copyMemory()); err != nil {
		return err
	}
	if err := copyFile(y.server.db+"-wal", y.path("shop.db-wal.copy")); err != nil { // the file ends with the process
		return err
	}
	if err := errors.Join(y.endBackups(0), y.backUp(y.now)); err != nil {
		return err
	}
	db, err := filepath.Rel(y.out, y.server.db)
	if err != nil {
		return err
	}
	files := []string{db, "shop.db-wal.copy", "server.log"}
	for _, folder := range []string{"backups", "export"} {
		err := filepath.WalkDir(y.path(folder), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				path, err = filepath.Rel(y.out, path)
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := y.writeJSON("traces.json", map[string]any{"files": files}); err != nil {
		return err
	}
	// A buffer of a connection that is in use keeps what it has sent, so the report says how many words Go has in memory.
	heap := func(string, ...any) { y.count("word of an erased person in the memory of Go") }
	return errors.Join(y.search(append(files, "memory"), y.fault), y.search([]string{"heap"}, heap))
}

// search notes each word of somebody who was erased in files, as it was typed, once for each file. There are hundreds of words of two
// bytes or more, so it looks at each place of a file once, and compares there the words that begin with its two bytes.
func (y *year) search(files []string, note func(format string, args ...any)) error {
	words := map[[2]byte][]string{}
	var begins [1 << 16]bool
	err := readLines(y.path("erased.jsonl"), func(e erasure) {
		for _, w := range e.Words {
			first := [2]byte{w[0], w[1]}
			words[first] = append(words[first], w)
			begins[binary.BigEndian.Uint16(first[:])] = true
		}
	})
	for _, name := range files {
		b, err1 := os.ReadFile(y.path(name))
		err = errors.Join(err, err1)
		found := map[string]bool{}
		for at := 0; at+1 < len(b); at++ {
			if !begins[binary.BigEndian.Uint16(b[at:])] {
				continue
			}
			for _, w := range words[[2]byte{b[at], b[at+1]}] {
				if !found[w] && bytes.HasPrefix(b[at:], []byte(w)) {
					found[w] = true
					note("%s has %s of somebody who was erased: %q", name, w, b[max(0, at-200):min(len(b), at+200)])
				}
			}
		}
	}
	return err
}

// passTime does what would have happened by itself since the last erasure, if days took as long as they are: connections without
// requests have ended, and what they had in memory was collected as garbage.
func (y *year) passTime() error {
	y.http.CloseIdleConnections()
	for _, r := range y.receivers {
		r.closeIdleConnections()
	}
	for range garbageRequests {
		if err := y.need(y.shop.api, "GET", "/cards?limit=100", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// copyMemory writes the memory of the server's process that it may change: the heap of Go and the rest. It needs Linux.
func (y *year) copyMemory() error {
	const heapFrom, heapUntil = 1 << 32, 0x7000 << 32 // between the program and what the system maps, Go puts its heap alone
	proc := fmt.Sprintf("/proc/%d/", y.server.cmd.Process.Pid)
	maps, err1 := os.ReadFile(proc + "maps")
	memory, err2 := os.Open(proc + "mem")
	heap, err3 := os.Create(y.path("heap"))
	rest, err4 := os.Create(y.path("memory"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, until int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &until, &mode); n != 3 || !strings.HasPrefix(mode, "rw") {
			continue
		}
		out := rest
		if heapFrom <= from && from < heapUntil {
			out = heap
		}
		io.Copy(out, io.NewSectionReader(memory, from, until-from)) // some segments of the kernel cannot be read
	}
	return errors.Join(heap.Close(), rest.Close())
}

// copyFile copies a file; one that is not there is empty.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// tables returns how many bytes of the file each table has with its indexes, and how many its free pages.
func (y *year) tables() (lines []string, err error) {
	c, err := sqlite.OpenContext(context.Background(), y.server.db, sqlite.ReadOnly, "busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	total, err1 := c.Number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	free, err2 := c.Number("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	line := func(bytes int64, what string) {
		lines = append(lines, fmt.Sprintf("%9d kB  %s", (bytes+500)/1000, what))
	}
	line(total, "shop.db, of which")
	r := c.Query(`SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name WHERE s.aggregate = TRUE
		GROUP BY m.tbl_name ORDER BY 2 DESC`)
	rest := total - free
	for r.Next() {
		name, bytes := r.Text(), r.Int()
		rest -= bytes
		if bytes > total/200 {
			line(bytes, name)
		}
	}
	line(free, "free pages")
	line(rest, "the schema")
	return lines, r.Close()
}

// logged is a line of the server's log.
type logged struct {
	Level string `json:"level"`
	Msg   string `json:"msg"`
}

// caused are the beginnings of warnings that the year causes.
var caused = []string{
	"a phone complains about passes", // readPhone knows of what
}

// causedByKills are those of a year with kills: the stand-in of Google Wallet begins anew with the process and counts by itself, while
// the passes of all phones are sent at once.
var causedByKills = []string{"a push was not sent"}

// readLog returns the warnings and errors of the log by their text, and notes those that the year does not cause.
func (y *year) readLog() (lines []string, err error) {
	b, err := os.ReadFile(y.server.log)
	count := map[string]int{}
	for line := range bytes.Lines(b) {
		var l logged
		if json.Unmarshal(line, &l) != nil || l.Level != "WARN" && l.Level != "ERROR" {
			continue // the log has the greeting of dev too
		}
		count[l.Msg]++
		caused := caused
		if y.options.kills > 0 {
			caused = slices.Concat(caused, causedByKills)
		}
		if !slices.ContainsFunc(caused, func(c string) bool { return strings.HasPrefix(l.Msg, c) }) && count[l.Msg] == 1 {
			y.fault("the log: %s", line)
		}
	}
	for msg, n := range count {
		lines = append(lines, fmt.Sprintf("%9d  %s", n, msg))
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a[11:], b[11:]) })
	return lines, err
}
