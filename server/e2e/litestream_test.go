//go:build durability

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/store/sqlite"
)

var litestreamFlag = flag.String("litestream", "", "path of Litestream's binary, for TestLitestream; .ci/litestream builds it")

// maxReplicaLag is how old the oldest write that a replica lacks may be when the machine is lost.
const maxReplicaLag = 2 * time.Second

// replicatedShop is a served shop beside which Litestream copies the log, with tills that book on a card each.
type replicatedShop struct {
	*shopFile
	port       string
	config     string // deploy/litestream.yml for the folder of the test
	replica    string
	socket     string
	litestream *process
	token      string
	tills      []*bookings
	booked     *progress     // bookings that were answered
	largestLag time.Duration // of all rounds
	lacks      int           // answered bookings that the last copy lacked
	more       int           // rows of its ledger that the file lacked
}

// bookings are those of a till, which books 1 € after the other on its card, so that the balance is their number.
type bookings struct {
	card string
	made []booking
}

// booking is one that may be in the file. answered is zero if the server was killed before it answered.
type booking struct{ asked, answered time.Time }

// newReplicatedShop serves a shop with cards for some tills beside Litestream.
func newReplicatedShop(t *testing.T, tills int) *replicatedShop {
	dir := t.TempDir()
	s := &replicatedShop{
		shopFile: &shopFile{t: t, db: newDatabase(t)},
		port:     fmt.Sprint("127.0.0.1:", freePort(t)),
		config:   filepath.Join(dir, "litestream.yml"),
		replica:  filepath.Join(dir, "replica"),
		socket:   filepath.Join(dir, "litestream.sock"),
		booked:   newProgress(),
	}
	text := string(require.Must(os.ReadFile("deploy/litestream.yml")))
	for old, now := range map[string]string{
		"/data/shop.db": s.db, "type: s3": "type: file", "path: shop\n": "path: " + s.replica + "\n", "/tmp/litestream.sock": s.socket,
		"      bucket: example-punchcard\n": "",
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("deploy/litestream.yml does not have %q", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	noError(t, os.WriteFile(s.config, []byte(text), 0o600))
	s.serve()
	api := s.newAPI("CRM")
	s.token = s.tillToken()
	program := newProgram(api, prepaidCard)
	for range tills {
		s.tills = append(s.tills, &bookings{card: issueCard(api, program, `{}`).ID})
	}
	s.replicate()
	return s
}

func (s *replicatedShop) serve() {
	s.server = startServe(s.t, s.db, "--listen", s.port, "--till-rate-limit-per-minute", "0")
	s.server.clientsLeave = true
}

// replicate starts Litestream, and returns when it has copied the file.
func (s *replicatedShop) replicate() {
	s.litestream = launchCommand(s.t, exec.Command(*litestreamFlag, "replicate", "-config", s.config))
	s.sync()
}

// sync waits until Litestream has copied all of the file.
func (s *replicatedShop) sync() {
	s.t.Helper()
	var out []byte
	for range 100 {
		var err error
		if out, err = exec.Command(*litestreamFlag, "sync", "-wait", "-socket", s.socket, s.db).CombinedOutput(); err == nil {
			return
		}
		select {
		case <-s.litestream.ended:
			s.t.Fatalf("Litestream ended: %v\n%s", s.litestream.err, s.litestream.stdout)
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.t.Fatalf("Litestream does not copy the file: %s\n%s%s", out, s.litestream.stdout, s.litestream.stderr)
}

// kill kills processes, and returns when it began to.
func (s *replicatedShop) kill(all ...*process) (at time.Time) {
	at = time.Now()
	for _, p := range all {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range all {
		p.wait()
	}
	return at
}

// book has the tills book until the returned function is called or the server is killed. A round that books nothing ends the test.
func (s *replicatedShop) book() (stop func()) {
	var all sync.WaitGroup
	var stopped atomic.Bool
	for _, b := range s.tills {
		till := s.server.till(s.token)
		all.Go(func() {
			for !stopped.Load() {
				asked := time.Now()
				if !topUp(s.t, till, b.card) {
					b.made = append(b.made, booking{asked: asked})
					return
				}
				b.made = append(b.made, booking{asked, time.Now()})
				s.booked.add()
			}
		})
	}
	return func() {
		stopped.Store(true)
		all.Wait()
	}
}

// waitForBookings waits for n more.
func (s *replicatedShop) waitForBookings(n int64) {
	s.t.Helper()
	if want := s.booked.count() + n; !s.booked.waitUntil(func() bool { return s.booked.count() >= want }) {
		s.t.Fatalf("the tills do not book:\n%s", s.server.stderr)
	}
}

// balances returns the number of bookings in a file, by till.
func (s *replicatedShop) balances(path string) (all []int) {
	for _, cents := range query(s.t, path, "SELECT current_value FROM cards ORDER BY id") {
		all = append(all, require.Must(strconv.Atoi(cents))/100)
	}
	return all
}

const ledgerSQL = "SELECT id||' '||card_id||' '||type||' '||value_delta||' '||created_at FROM transactions ORDER BY id"

// restore restores the replica into a new file and checks it. The file must have the first rows of that of the server, which may be
// served still, and each till's first bookings. Those that were answered before end and are missing must not be older than
// maxReplicaLag then, and none of them may have been answered before one was asked for that is there.
func (s *replicatedShop) restore(what string, end time.Time) (path string) {
	s.t.Helper()
	path = filepath.Join(s.t.TempDir(), "copy.db")
	if out, err := exec.Command(*litestreamFlag, "restore", "-config", s.config, "-o", path, s.db).CombinedOutput(); err != nil {
		s.t.Fatalf("restore after %s: %v\n%s", what, err, out)
	}
	checkFile(s.t, path)
	rows, all := query(s.t, path, ledgerSQL), query(s.t, s.db, ledgerSQL)
	// Litestream reads the log itself, and so also has commits of which a killed server had not told SQLite's other connections.
	both := min(len(rows), len(all))
	if !slices.Equal(rows[:both], all[:both]) || len(rows) > both+len(s.tills) {
		s.t.Errorf("after %s the ledger of the copy, of %d rows, does not begin as that of the file, of %d rows", what, len(rows), len(all))
	}
	oldest, newest := end, time.Time{} // of the missing: when it was answered; of the copied: when it was asked for
	s.lacks, s.more = 0, len(rows)-both
	for i, n := range s.balances(path) {
		b := s.tills[i]
		if n > len(b.made) {
			s.t.Errorf("after %s the copy has %d bookings of a till that made %d", what, n, len(b.made))
			continue
		}
		if n > 0 && b.made[n-1].asked.After(newest) {
			newest = b.made[n-1].asked
		}
		for _, m := range b.made[n:] {
			if !m.answered.IsZero() && m.answered.Before(end) {
				s.lacks++
				if m.answered.Before(oldest) {
					oldest = m.answered
				}
			}
		}
	}
	lag := end.Sub(oldest)
	s.largestLag = max(s.largestLag, lag)
	s.t.Logf("%-50s the copy has %6d of %6d rows and lacks %4d that were answered, of the last %4d ms", what, len(rows), len(all), s.lacks,
		lag.Milliseconds())
	if lag > maxReplicaLag {
		s.t.Errorf("after %s a booking is missing that was answered %v before", what, lag)
	}
	if s.lacks > 0 && oldest.Before(newest) {
		s.t.Errorf("after %s the copy has a booking that was asked for %v after one was answered that it lacks", what, newest.Sub(oldest))
	}
	return path
}

// goOn serves the file again, whose bookings are those of the tills from now on. Unless it is a restored one, it has all that
// were answered.
func (s *replicatedShop) goOn(restored bool) {
	s.t.Helper()
	s.serve()
	for i, n := range s.balances(s.db) {
		b := s.tills[i]
		unanswered := b.made[min(n, len(b.made)):]
		if n > len(b.made) || !restored && len(unanswered) > 0 && !unanswered[0].answered.IsZero() {
			s.t.Fatalf("the file has %d bookings of a till that made %d", n, len(b.made))
		}
		b.made = b.made[:n]
	}
}

// loseMachine removes the file and what is beside it, and puts a copy in its place, as deploy/README.md says.
func (s *replicatedShop) loseMachine(copied string) {
	s.t.Helper()
	for _, path := range require.Must(filepath.Glob(filepath.Join(filepath.Dir(s.db), "*"))) {
		noError(s.t, os.RemoveAll(path))
	}
	for _, path := range require.Must(filepath.Glob(filepath.Join(filepath.Dir(s.db), ".*"))) {
		noError(s.t, os.RemoveAll(path))
	}
	succeed(s.t, "restore", copied, "--db", s.db)
}

// restoreWhole waits until Litestream has copied all of the file, at whose tills nobody books, and restores it.
func (s *replicatedShop) restoreWhole(what string) {
	s.t.Helper()
	s.sync()
	if s.restore(what, time.Now()); s.lacks > 0 || s.more > 0 {
		s.t.Errorf("after %s the copy is not equal to the file", what)
	}
}

// checkpoint moves the whole log into the file, as the server does from time to time, so that the log starts over with the next write.
func (s *replicatedShop) checkpoint() {
	c := require.Must(sqlite.Open(s.db, sqlite.ReadWrite, "busy_timeout=5000"))
	defer c.Close()
	r := c.Query("PRAGMA wal_checkpoint(PASSIVE)")
	if r.Next() {
		if busy, pages, moved := r.Int(), r.Int(), r.Int(); busy != 0 || pages != moved {
			s.t.Errorf("of %d pages of the log %d were moved into the file", pages, moved)
		}
	}
	noError(s.t, r.Close())
}

// startLogOver has the log start over for the first time while Litestream does not run. Later it may see older frames behind those
// that it has copied, which tell it that it has missed something.
func (s *replicatedShop) startLogOver() {
	s.t.Helper()
	s.litestream.await(s.litestream.stdout, contains("snapshot complete"))
	s.server.stop() // the next one finds that Litestream has used the file
	s.serve()
	for _, n := range []int64{40, 400, 1} {
		stop := s.book()
		s.waitForBookings(n)
		stop()
		switch n {
		case 40:
			s.sync()
			s.kill(s.litestream)
		case 400:
			s.checkpoint()
		}
	}
	s.replicate()
	s.restoreWhole("a restart of the log without Litestream")
}

// TestLitestream runs Litestream beside a server at whose tills many book, for a while without a kill, and then kills one of them or
// both in turns, at random moments. Each time it restores the replica. Once of four times the tills go on meanwhile, and once the
// machine is lost, so that the restored copy is served; else the file is served again.
func TestLitestream(t *testing.T) {
	if *litestreamFlag == "" {
		t.Skip("NOT RUN: run .ci/litestream")
	}
	const seed = 20261127
	chance := rand.New(rand.NewPCG(seed, uint64(*killsFlag)))
	s := newReplicatedShop(t, 4)
	s.startLogOver()
	stop := s.book()
	s.waitForBookings(20_000)
	stop()
	s.restoreWhole("a run without a kill")
	for round := range *killsFlag {
		stop := s.book()
		s.waitForBookings(1)
		<-time.After(time.Duration(chance.Int64N(int64(3 * time.Second))))
		what := fmt.Sprintf("kill %d, ", round+1)
		switch round % 4 {
		case 0:
			end := s.kill(s.server, s.litestream)
			stop()
			s.restore(what+"of both", end)
			s.goOn(false)
			s.replicate()
		case 1:
			end := s.kill(s.litestream)
			s.waitForBookings(1 + chance.Int64N(1000))
			stop()
			s.restore(what+"of Litestream", end)
			s.replicate()
		case 2:
			end := s.kill(s.server)
			stop()
			s.restore(what+"of the server", end)
			s.goOn(false)
			// What Litestream has copied since may be damaged: store/README.md says so.
			s.kill(s.litestream)
			if out, err := exec.Command(*litestreamFlag, "replicate", "-once", "-force-snapshot", "-config",
				s.config).CombinedOutput(); err != nil {
				t.Fatalf("snapshot: %v\n%s", err, out)
			}
			s.replicate()
		case 3:
			end := s.kill(s.litestream, s.server)
			stop()
			s.loseMachine(s.restore(what+"of both with the machine", end))
			s.goOn(true)
			s.replicate()
		}
		// Only these writes replace what Litestream has copied of a killed server and SQLite has forgotten.
		stop = s.book()
		s.waitForBookings(200)
		stop()
		s.restoreWhole("the restart")
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	s.restoreWhole("all kills")
	s.server.stop()
	s.litestream.stop()
	checkFile(t, s.db)
	t.Logf("%d kills; the oldest booking that a copy lacked had been answered %d ms before the kill", *killsFlag,
		s.largestLag.Milliseconds())
}
