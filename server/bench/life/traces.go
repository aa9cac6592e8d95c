package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// garbageRequests is how many large answers make the server collect garbage more than twice. A buffer that is kept for use again
// is garbage after two of its collections.
const garbageRequests = 1000

// writeTraces writes the files in which the words of erased people must not be: what the server has on disk and in memory, its backups
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
	// A buffer of a connection that is in use keeps what it has sent, so Go may have words in memory.
	return y.writeJSON("traces.json", map[string]any{"files": append(files, "memory"), "heap": "heap"})
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
func (y *year) readLog() (count map[string]int, err error) {
	b, err := os.ReadFile(y.server.log)
	count = map[string]int{}
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
	return count, err
}
