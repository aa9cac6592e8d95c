package e2e

import (
	"bytes"
	bits "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"punchcard/server/servertest/require"
)

// The WAL starts with a header, followed by frames, each a header and a page. The second word of a
// frame's header is the number of pages of the database if the frame ends a commit, else zero.
const walHeader, frameHeader, pageSize = 32, 24, 4096

// killedFile is the database that a killed server left, and what it had answered.
type killedFile struct {
	db, wal []byte
	answers []answered // in order
	commits []int      // the offset in the WAL at which each commit ends
	dir     string
}

// answered is a write, with the length of the WAL when the answer arrived.
type answered struct {
	ref     string
	logSize int
}

// TestWALCutAnywhere cuts off or damages the WAL at any place, and checks that the database has
// every write whose commit is before that place and nothing of later ones.
func TestWALCutAnywhere(t *testing.T) {
	t.Parallel()
	c := newKilledFile(t, 3)
	frames := (len(c.wal) - walHeader) / (frameHeader + pageSize)
	if len(c.commits) < len(c.answers) || frames < 3*len(c.answers) {
		t.Fatalf("%d frames with %d commits for %d answers", frames, len(c.commits), len(c.answers))
	}
	for frame := range frames + 1 {
		end := walHeader + frame*(frameHeader+pageSize)
		c.checkOpens(t, fmt.Sprintf("cut behind frame %d", frame), c.wal[:end], end)
		if frame == frames {
			break
		}
		// The damage after the cut differs from frame to frame.
		torn := end + 1 + (frame*977)%(frameHeader+pageSize-1)
		switch frame % 4 {
		case 0:
			c.checkOpens(t, fmt.Sprintf("torn in frame %d", frame), c.wal[:torn], end)
		case 1:
			flipped := bytes.Clone(c.wal)
			flipped[torn-1] ^= 1 << (frame % 8)
			c.checkOpens(t, fmt.Sprintf("a bit flipped in frame %d", frame), flipped, end)
		case 2: // the frame has its space, but its last sector was not written
			zeroed := bytes.Clone(c.wal)
			clear(zeroed[torn : end+frameHeader+pageSize])
			if !bytes.Equal(zeroed, c.wal) {
				c.checkOpens(t, fmt.Sprintf("frame %d ends in zeros", frame), zeroed, end)
			}
		case 3: // later frames were written, this one was not
			hole := bytes.Clone(c.wal)
			clear(hole[end : end+frameHeader+pageSize])
			c.checkOpens(t, fmt.Sprintf("frame %d is missing", frame), hole, end)
		}
	}
	t.Logf("%d frames, %d commits, %d answers", frames, len(c.commits), len(c.answers))
}

// newKilledFile lets a server answer n writes, one after the other, and kills it.
func newKilledFile(t *testing.T, n int) *killedFile {
	t.Helper()
	f := newShop(t)
	k := f.makeKey("create", "--name", "Office")
	f.server.stop() // moves everything into the database file
	f.server = startServe(t, f.db)
	api := f.api(k)
	program := newProgram(api, stampCard)
	c := &killedFile{dir: t.TempDir()}
	for i := range n {
		ref := fmt.Sprintf("member-%d", i)
		issueCard(api, program, map[string]string{"external_ref": ref})
		info := require.Must(os.Stat(f.db + "-wal"))
		c.answers = append(c.answers, answered{ref, int(info.Size())})
	}
	f.server.signal(syscall.SIGKILL)
	f.server.wait()
	var err error
	if c.db, err = os.ReadFile(f.db); err != nil {
		t.Fatal(err)
	}
	if c.wal, err = os.ReadFile(f.db + "-wal"); err != nil {
		t.Fatal(err)
	}
	for at := walHeader; at+frameHeader+pageSize <= len(c.wal); at += frameHeader + pageSize {
		if bits.BigEndian.Uint32(c.wal[at+4:]) != 0 {
			c.commits = append(c.commits, at+frameHeader+pageSize)
		}
	}
	return c
}

// checkOpens opens the database with a WAL of which only the first intact bytes are undamaged, and
// checks that the database has exactly the writes of the commits in them. It checks the whole file behind each commit, since
// what is read behind the frames up to the next one is the same.
func (c *killedFile) checkOpens(t *testing.T, what string, wal []byte, intact int) {
	t.Helper()
	path := filepath.Join(c.dir, "shop.db")
	for name, content := range map[string][]byte{path: c.db, path + "-wal": wal} {
		noError(t, os.WriteFile(name, content, 0o600))
	}
	defer func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			os.Remove(path + end)
		}
	}()
	if slices.Contains(c.commits, intact) {
		checkFile(t, path)
	}
	there := query(t, path, "SELECT external_ref FROM cards")
	// A write is there if its commit is. Its commit lies after the previous answer and not after its
	// own answer.
	before := 0
	for i, a := range c.answers {
		if i > 0 {
			before = c.answers[i-1].logSize
		}
		may := false
		for _, commit := range c.commits {
			may = may || commit > before && commit <= intact
		}
		if is := slices.Contains(there, a.ref); a.logSize <= intact && !is {
			t.Errorf("%s: %s is lost although its commit is in the first %d bytes", what, a.ref, intact)
		} else if is && !may {
			t.Errorf("%s: %s exists without its commit", what, a.ref)
		}
	}
}
