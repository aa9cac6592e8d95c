//go:build durability

package e2e

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestSyncedBeforeAnswered checks, in the system calls of a server with many writers, that a write
// is answered only after its commit was synced, by a sync that began after the commit was written.
// Only such a write survives a power loss.
func TestSyncedBeforeAnswered(t *testing.T) {
	const writers, each = 12, 25
	d := newDisk(t, t.TempDir())
	tr := d.server.attach("-xx", "-s", fmt.Sprint(pageSize), "-e", "trace=read,write,writev,sendto,pwrite64,pwritev,fsync,fdatasync")
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if status := d.write(); status != 201 {
					t.Errorf("answered %d", status)
				}
			}
		})
	}
	all.Wait()
	trace := tr.detach()
	j := analyze(trace)
	for _, finding := range j.findings {
		t.Error(finding)
	}
	if j.answers != writers*each || j.commits == 0 || j.syncs < j.commits {
		t.Errorf("%d answers, %d commits and %d syncs in the trace of %d writes", j.answers, j.commits, j.syncs, writers*each)
	}
	t.Logf("%d answers of %d commits with %d syncs", j.answers, j.commits, j.syncs)

	// The analysis must notice missing syncs and syncs that begin too early.
	if bad := analyze(unsynced.ReplaceAllString(trace, "")); len(bad.findings) != j.answers {
		t.Errorf("without syncs, %d of %d answers are found to be too early", len(bad.findings), j.answers)
	}
	d.killAndRestart()
}

var (
	unsynced   = regexp.MustCompile(`(?m)^.*fsync.*\n`)
	started    = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	target     = regexp.MustCompile(`^(\d+)<((?:[^>\\]|\\.|->)*)>`)
	text       = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
	ok         = regexp.MustCompile(`\) += (\d+)$`)
	person     = regexp.MustCompile(`member-\d+\.`)
	idempotent = regexp.MustCompile(`(?i)\r\nIdempotency-Key: (member-\d+\.)\r\n`)
)

// analysis is the result of analyzing a trace.
type analysis struct {
	findings                []string
	answers, commits, syncs int
}

// call is a system call that has begun.
type call struct {
	name, fd, path  string
	data            string
	committedBefore []string // of a sync: the writes that were committed when it began
}

// analyze reads a trace line by line. A line without a result begins a call, and a resumed line
// ends it.
func analyze(trace string) (v analysis) {
	under := map[string]*call{}     // calls in progress, by thread
	asked := map[string]string{}    // the last requested write, by socket
	durable := map[string]bool{}    // writes whose commit is synced
	seen := map[string]bool{}       // writes that are in the WAL
	var written, committed []string // writes without a commit; writes with a commit that is not synced
	commit := false                 // the frame that is being written ends a commit
	begin := func(c *call) {
		switch c.name {
		case "fsync":
			if strings.HasSuffix(c.path, "-wal") {
				c.committedBefore = committed
				committed = nil
			}
		case "write", "writev", "sendto":
			if who := asked[c.fd]; who != "" && strings.HasPrefix(c.data, "HTTP/1.1 201") {
				v.answers++
				delete(asked, c.fd)
				if !durable[who] {
					v.findings = append(v.findings, who+" is answered before its commit was synced")
				}
			}
		}
	}
	end := func(c *call, good bool) {
		switch {
		case c.name == "read" && idempotent.MatchString(c.data): // the first byte may have been read before
			asked[c.fd] = idempotent.FindStringSubmatch(c.data)[1]
		case c.name == "fsync" && strings.HasSuffix(c.path, "-wal") && good:
			v.syncs++
			for _, who := range c.committedBefore {
				durable[who] = true
			}
		case c.name == "pwrite64" && strings.HasSuffix(c.path, "-wal") && len(c.data) == frameHeader:
			commit = c.data[4:8] != "\x00\x00\x00\x00"
		case c.name == "pwrite64" && strings.HasSuffix(c.path, "-wal") && len(c.data) == pageSize:
			for _, who := range person.FindAllString(c.data, -1) {
				if !seen[who] {
					seen[who] = true
					written = append(written, who)
				}
			}
			if commit {
				v.commits++
				committed = append(committed, written...)
				written = nil
			}
		}
	}
	for line := range strings.Lines(trace) {
		line = strings.TrimSuffix(line, "\n")
		if m := started.FindStringSubmatch(line); m != nil {
			c := &call{name: m[2]}
			if to := target.FindStringSubmatch(m[3]); to != nil {
				c.fd, c.path = to[1], unhex(to[2])
			}
			c.data = unquote(m[3])
			begin(c)
			if strings.HasSuffix(line, "<unfinished ...>") {
				under[m[1]] = c
			} else {
				end(c, ok.MatchString(line))
			}
		} else if m := resumed.FindStringSubmatch(line); m != nil && under[m[1]] != nil {
			c := under[m[1]]
			delete(under, m[1])
			if c.data == "" {
				c.data = unquote(m[3])
			}
			end(c, ok.MatchString(line))
		}
	}
	return v
}

// unquote returns the data in the arguments of a call.
func unquote(args string) string {
	m := text.FindStringSubmatch(args)
	if m == nil {
		return ""
	}
	return unhex(m[1])
}

// unhex decodes text in which each byte is written as \x and two digits.
func unhex(text string) string {
	raw, _ := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	return string(raw)
}
