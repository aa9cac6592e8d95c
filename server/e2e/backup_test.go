//go:build unix

package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// query returns the text values that a statement selects from a database file.
func query(t *testing.T, path, statement string) (values []string) {
	t.Helper()
	db := require.Must(sql.Open("sqlite", "file:"+path+"?mode=ro"))
	defer db.Close()
	rows, err := db.Query(statement)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		noError(t, rows.Scan(&v))
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// checkFile checks a database in the test's process, as the command check does in its own.
func checkFile(t *testing.T, path string) {
	t.Helper()
	s := require.Must(store.Open(path, store.Options{MustExist: true, Readers: 1}))
	defer s.Close()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		t.Errorf("check of %s: %v %q", path, err, findings)
	}
}

// checkQuickly does what check --quick does, in the test's process.
func checkQuickly(t *testing.T, path string) error {
	t.Helper()
	findings, err := store.CheckQuick(t.Context(), path, nil)
	if len(findings) > 0 {
		t.Errorf("quick check of %s: %q", path, findings)
	}
	return err
}

// busyShop is a served shop with writers that issue and stamp cards until stopWriters.
type busyShop struct {
	*shopFile
	program string
	stopped chan struct{}
	writers sync.WaitGroup

	checking sync.RWMutex // held while a backup is checked: the file grows only while backups are made

	mu        sync.Mutex
	requested []int // cards requested, by writer
	answered  []int // cards answered, by writer
	answer    chan struct{}
}

func newBusyShop(t *testing.T, writers int) *busyShop {
	t.Helper()
	b := &busyShop{
		shopFile:  newShop(t, "--api-key-rate-limit-per-minute", "0", "--till-rate-limit-per-minute", "0"),
		stopped:   make(chan struct{}),
		requested: make([]int, writers),
		answered:  make([]int, writers),
		answer:    make(chan struct{}, 1),
	}
	b.server.clientsLeave = true
	k := b.makeKey("create", "--name", "Office")
	till := b.tillToken()
	b.program = newProgram(b.api(k), stampCard)
	transport := &http.Transport{MaxIdleConnsPerHost: writers}
	t.Cleanup(transport.CloseIdleConnections)
	post := func(key, url, body string, v any) bool {
		r := newClient(t, url, key).Via(&http.Client{Transport: transport}).Try(context.Background(), "POST", "", body)
		if r.Err != nil || r.Status != 201 {
			t.Errorf("%d %s, %v", r.Status, r.Body, r.Err)
			return false
		}
		if err := json.Unmarshal(r.Body, v); err != nil {
			t.Error(err)
			return false
		}
		return true
	}
	for w := range writers {
		b.writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-b.stopped:
					return
				default:
				}
				b.checking.RLock()
				b.increment(b.requested, w)
				var made card
				ok := post(k.Secret, b.server.origin+"/api/public/v1/programs/"+b.program+"/cards",
					fmt.Sprintf(`{"external_ref":"%d-%d"}`, w, n), &made) &&
					post(till, b.server.origin+"/till/v1/cards/"+made.ID+"/stamps", `{"count":3}`, &struct{}{})
				b.checking.RUnlock()
				if !ok {
					return
				}
				b.increment(b.answered, w)
				select {
				case b.answer <- struct{}{}:
				default:
				}
			}
		})
	}
	t.Cleanup(b.stopWriters)
	return b
}

func (b *busyShop) increment(counts []int, w int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts[w]++
}

func (b *busyShop) countsNow(counts []int) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int(nil), counts...)
}

// waitForAnswers waits for n more answers.
func (b *busyShop) waitForAnswers(n int) {
	for range n {
		<-b.answer
	}
}

// stopWriters stops the writers and waits for them.
func (b *busyShop) stopWriters() {
	select {
	case <-b.stopped:
	default:
		close(b.stopped)
	}
	b.writers.Wait()
}

// checkBackup checks the content of a backup. Of each writer it must have the cards from the first
// up to some card, with their stamps: at least those that were answered before the backup started,
// and at most those that were requested before it ended.
func (b *busyShop) checkBackup(copied string, before, requested []int) {
	b.t.Helper()
	b.checking.Lock()
	defer b.checking.Unlock()
	stamps := map[string]string{}
	for _, line := range query(b.t, copied, "SELECT external_ref||' '||stamps_count FROM cards WHERE external_ref IS NOT NULL") {
		ref, count, _ := strings.Cut(line, " ")
		stamps[ref] = count
	}
	total := 0
	for w := range before {
		n := 0
		for ; stamps[fmt.Sprint(w, "-", n)] != ""; n++ {
			if got := stamps[fmt.Sprint(w, "-", n)]; n < before[w] && got != "3" {
				b.t.Errorf("card %d of writer %d has %s stamps", n, w, got)
			}
		}
		total += n
		if n < before[w] || n > requested[w] {
			b.t.Errorf("writer %d had %d cards answered before and %d requested by the end; the backup has %d", w, before[w],
				requested[w], n)
		}
	}
	if total != len(stamps) {
		b.t.Errorf("the backup has %d cards, but %d in the writers' unbroken sequences", len(stamps), total)
	}
	checkFile(b.t, copied)
}

// TestBackupUnderLoad makes backups of a database that is written to.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	b := newBusyShop(t, 8)
	dir := t.TempDir()
	for round := range 2 {
		b.waitForAnswers(25)
		file := filepath.Join(dir, fmt.Sprint("copy", round, ".db"))
		before := b.countsNow(b.answered)
		out := b.run("backup", file)
		requested := b.countsNow(b.requested)
		if !strings.HasPrefix(out, file+": ") || !strings.Contains(out, "verified") {
			t.Errorf("backup printed %q", out)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		b.checkBackup(file, before, requested)
	}
	b.stopWriters()
	b.server.stop()
	checkFile(t, b.db)
}

// TestBackupCannotWrite makes a backup in a folder without write permission and on a disk that
// becomes full at any point.
func TestBackupCannotWrite(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	closed := t.TempDir()
	allowEverybody(t, filepath.Dir(db))
	noError(t, errors.Join(os.Chmod(db, 0o777), os.Chmod(closed, 0o555)))
	t.Cleanup(func() { os.Chmod(closed, 0o755) })
	cmd := exec.Command(binary(), "backup", filepath.Join(closed, "copy.db"), "--db", db)
	if os.Geteuid() == 0 { // permissions do not apply to root
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	finish(t, cmd, nil).refused(t, filepath.Join(closed, "copy.db"), "cannot write in the folder",
		"permission denied: punchcard runs as user ")
	size := require.Must(os.Stat(db)).Size()
	dir, tries := t.TempDir(), 0
	for limit := int64(70); limit*512 < size+4096; limit += 1 + size/512/6 {
		// RLIMIT_FSIZE simulates the full disk. The smallest limit is above the size of the -shm
		// file, which reading the database needs.
		cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, limit), binary(), "backup",
			filepath.Join(dir, "copy.db"), "--db", db)
		r := finish(t, cmd, nil)
		if limit*512 >= size {
			break
		}
		tries++
		r.refused(t, filepath.Join(dir, "copy.db"), "the disk failed")
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("a failed backup left %v", left)
		}
	}
	if tries < 5 {
		t.Errorf("only %d limits were tried", tries)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=100k", "none", dir).CombinedOutput(); err != nil {
		t.Logf("NOT TESTED: a full disk, since no tmpfs can be mounted here: %v %s", err, out)
		return
	}
	defer exec.Command("umount", dir).Run()
	execute(t, nil, "backup", filepath.Join(dir, "copy.db"), "--db", db).refused(t, filepath.Join(dir, "copy.db"), "full")
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a backup on a full disk left %v", left)
	}
}

// TestBackupHasNothingErased checks that the bytes of a backup do not contain data that was erased.
func TestBackupHasNothingErased(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	const person = "Zebedee Unforgettable"
	api := f.newAPI("Office")
	program := newProgram(api, stampCard)
	var ids []string
	for i := range 4 {
		made := issueCard(api, program, map[string]string{
			"holder_name":  person,
			"external_ref": fmt.Sprint("gone-", i),
			"holder_email": fmt.Sprintf("zebedee%d@example.com", i),
		})
		ids = append(ids, made.ID)
	}
	dir := t.TempDir()
	f.run("backup", filepath.Join(dir, "with.db"))
	for _, id := range ids {
		f.run("card", "delete", id, "--yes")
	}
	f.run("backup", filepath.Join(dir, "without.db"))
	for name, want := range map[string]bool{"with.db": true, "without.db": false} {
		raw := require.Must(os.ReadFile(filepath.Join(dir, name)))
		for _, mark := range []string{person, "zebedee", "gone-"} {
			if got := bytes.Contains(raw, []byte(mark)); got != want {
				t.Errorf("%q found in %s: %t", mark, name, got)
			}
		}
	}
}

// TestServeMakesBackups checks that serve makes a backup at once if there is none and not if there
// is a recent one, and that it removes the leftover of one.
func TestServeMakesBackups(t *testing.T) {
	t.Parallel()
	db, dir := newDatabase(t), t.TempDir()
	left := filepath.Join(dir, "shop-20260101T000000Z.db.partial")
	noError(t, os.WriteFile(left, []byte("half"), 0o600))
	made := func(p *process) {
		p.await(p.stderr, contains(`"msg":"backup made"`))
	}
	p := startServe(t, db, "--backup-every", "24h", "--backup-dir", dir)
	made(p)
	p.stop()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || !strings.HasPrefix(filepath.Base(files[0]), "shop-2") {
		t.Fatalf("the folder has %q", files)
	}
	checkFile(t, files[0])
	again := startServe(t, db, "--backup-every", "24h", "--backup-dir", dir)
	again.outside().Get("/readyz").Want(200)
	again.stop()
	if strings.Contains(again.stderr.String(), "backup") {
		t.Errorf("a restart made another backup:\n%s", again.stderr)
	}
}
