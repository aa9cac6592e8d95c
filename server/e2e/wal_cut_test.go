package e2e

import (
	"bytes"
	bits "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"punchcard/store"
)

// The log beside the file begins with a header; then come frames, each a header
// and a page. A frame's header says in its second word how many pages the file
// has after the commit that the frame ends, or nothing.
const walHeader, frameHeader, pageSize = 32, 24, 4096

// cutFile is what a server that was killed left, and what it had answered.
type cutFile struct {
	db, wal []byte
	answers []answered // in their order
	commits []int      // where in the log each commit ends
	dir     string
}

// answered is a write whose answer came when the log had so many bytes.
type answered struct {
	ref     string
	logSize int
}

// A log that ends anywhere, in the middle of a frame or in nonsense, gives back
// every write whose commit lies before that, and nothing of any other.
func TestLogCutAnywhere(t *testing.T) {
	t.Parallel()
	c := killed(t, 12)
	frames := (len(c.wal) - walHeader) / (frameHeader + pageSize)
	if len(c.commits) < len(c.answers) || frames < 3*len(c.answers) {
		t.Fatalf("%d frames with %d commits for %d answers", frames, len(c.commits), len(c.answers))
	}
	for frame := range frames + 1 {
		end := walHeader + frame*(frameHeader+pageSize)
		c.opens(t, fmt.Sprintf("cut behind frame %d", frame), c.wal[:end], end)
		if frame == frames {
			break
		}
		// What follows the cut is torn, at a place that moves on with the frames.
		torn := end + 1 + (frame*977)%(frameHeader+pageSize-1)
		switch frame % 4 {
		case 0:
			c.opens(t, fmt.Sprintf("torn in frame %d", frame), c.wal[:torn], end)
		case 1:
			flipped := bytes.Clone(c.wal)
			flipped[torn-1] ^= 1 << (frame % 8)
			c.opens(t, fmt.Sprintf("a bit flipped in frame %d", frame), flipped, end)
		case 2: // the frame has its place, but no sector of its end got there
			zeroed := bytes.Clone(c.wal)
			clear(zeroed[torn : end+frameHeader+pageSize])
			if !bytes.Equal(zeroed, c.wal) {
				c.opens(t, fmt.Sprintf("frame %d ends in zeros", frame), zeroed, end)
			}
		case 3: // later frames got there, this one did not
			hole := bytes.Clone(c.wal)
			clear(hole[end : end+frameHeader+pageSize])
			c.opens(t, fmt.Sprintf("frame %d is missing", frame), hole, end)
		}
	}
	t.Logf("%d frames, %d commits, %d answers", frames, len(c.commits), len(c.answers))
}

// killed has a server answer n writes, one after the other, and kills it.
func killed(t *testing.T, n int) *cutFile {
	t.Helper()
	f := newShop(t)
	k := f.makeKey("create", "--name", "Office")
	f.server.stop() // which moves all there is into the file
	f.server = startServe(t, f.db)
	api := f.api(k)
	program := newProgram(api, stampCard)
	c := &cutFile{dir: t.TempDir()}
	for i := range n {
		ref := fmt.Sprintf("member-%d", i)
		issueCard(api, program, map[string]string{"external_ref": ref})
		info, err := os.Stat(f.db + "-wal")
		if err != nil {
			t.Fatal(err)
		}
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

// stampCard is a program whose cards anybody can have.
const stampCard = `{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`

// opens opens the file with a log of which the first whole bytes are sound.
func (c *cutFile) opens(t *testing.T, what string, wal []byte, whole int) {
	t.Helper()
	path := filepath.Join(c.dir, "shop.db")
	for name, content := range map[string][]byte{path: c.db, path + "-wal": wal} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			os.Remove(path + end)
		}
	}()
	s, err := store.Open(path, store.Options{MustExist: true, Readers: 1})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer s.Close()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		t.Errorf("%s: %v %q", what, err, findings)
	}
	shop, err := s.ResolveShop("")
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	there := map[string]bool{}
	if err := s.View(0, func(v *store.View) error {
		list, err := v.Cards(store.Access{Shop: shop}, store.CardFilter{}, store.PageQuery{})
		for _, card := range list.Data {
			there[card.ExternalRef.V] = true
		}
		return err
	}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	// A write is there from its commit on: the first that the log got after the
	// answer before it, and no later than its own answer.
	before := 0
	for i, a := range c.answers {
		if i > 0 {
			before = c.answers[i-1].logSize
		}
		begun := false
		for _, commit := range c.commits {
			begun = begun || commit > before && commit <= whole
		}
		if must := a.logSize <= whole; must && !there[a.ref] {
			t.Errorf("%s: %s is lost, whose commit is among the first %d bytes", what, a.ref, whole)
		} else if there[a.ref] && !begun {
			t.Errorf("%s: %s is there without its commit", what, a.ref)
		}
	}
}
