//go:build durability

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"punchcard/server/mail/mailtest"
	"punchcard/server/servertest/require"
)

// TestDiskSlow makes each sync of a disk take 100 ms longer. Everything must work, and writes that wait
// must share their syncs.
func TestDiskSlow(t *testing.T) {
	const writers, each = 16, 5
	d := newDisk(t, t.TempDir())
	tr := d.server.attach("-e", "trace=fsync", "-e", "inject=fsync:delay_enter=100000")
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if status := d.write(); status != 201 {
					t.Errorf("the status of a write on a slow disk is %d", status)
				}
				if r := d.ask(d.api(), "GET", "/cards/"+d.card, nil); r.Status != 200 {
					t.Errorf("the status of a read on a slow disk is %d %s", r.Status, r.Body)
				}
			}
		})
	}
	all.Wait()
	d.wantWorking()
	trace := tr.detach()
	if n := strings.Count(trace, "fsync("); n == 0 || n > writers*each/2 || !strings.Contains(trace, "(DELAYED)") {
		t.Errorf("%d writes made %d syncs:\n%s", writers*each, n, trace)
	} else {
		t.Logf("%d writes with %d syncs", writers*each, n)
	}
	d.checkCards()
	d.killAndRestart()
}

// TestDiskReadOnly starts a server and a command on a file system that is read-only, and again when it is not.
// TestDiskFailsForAWhile covers a file system that becomes read-only while a server runs.
func TestDiskReadOnly(t *testing.T) {
	dir := t.TempDir()
	noError(t, syscall.Mount("none", dir, "tmpfs", 0, "size=16m"))
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	d := newDisk(t, dir)
	d.write()
	d.http.CloseIdleConnections()
	d.server.stop()
	remount := func(flags uintptr) {
		t.Helper()
		noError(t, syscall.Mount("none", dir, "", syscall.MS_REMOUNT|flags, ""))
	}
	remount(syscall.MS_RDONLY)
	same := unchanged(t, d.db)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"shop", "create", "--name", "Pizza"}} {
		execute(t, nil, append(args, "--db", d.db)...).refused(t, d.db+": is on a read-only file system")
	}
	same()
	remount(0)
	d.serve()
	d.wantWorking()
	d.checkCards()
}

// memoryGroup makes a control group with a limit on memory below that of the test, and returns its folder.
func memoryGroup(t *testing.T, limit int) (dir string) {
	t.Helper()
	parent, file := "/sys/fs/cgroup", "memory.max" // the second version of control groups
	for line := range strings.Lines(string(require.Must(os.ReadFile("/proc/self/cgroup")))) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); f[1] == "memory" {
			parent, file = filepath.Join(parent, "memory", f[2]), "memory.limit_in_bytes"
		}
	}
	dir = filepath.Join(parent, fmt.Sprint("punchcard-", os.Getpid()))
	noError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	noError(t, os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, limit), 0))
	return dir
}

// TestMemoryGroup does what TestMemoryLimit does where the system kills what takes more.
func TestMemoryGroup(t *testing.T) {
	dir := memoryGroup(t, memoryLimit)
	p, api, issue := startSeeded(t, smallMemory, "sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(dir, "cgroup.procs"))
	p.connectSlowly(func() {})
	loadMixed(p, api, issue)
}

// What a name server does with a question.
const (
	answers int32 = iota // with the address of this machine
	fails
	hangs
)

// nameServer is a name server on loopback that says of each name that it is this machine.
type nameServer struct{ mode atomic.Int32 }

// serve answers questions until the test ends.
func (s *nameServer) serve(t *testing.T, address string) {
	t.Helper()
	conn := require.Must(net.ListenPacket("udp", address))
	t.Cleanup(func() { conn.Close() })
	go func() {
		for buf := make([]byte, 4096); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			mode := s.mode.Load()
			if m.Unpack(buf[:n]) != nil || mode == hangs {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; mode == fails {
				m.RCode = dnsmessage.RCodeServerFailure
			} else if q.Type == dnsmessage.TypeA {
				h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
			}
			conn.WriteTo(require.Must(m.Pack()), from)
		}
	}()
}

// TestNameServerFails issues cards while the name server fails, and while it hangs. It checks that cards are issued, that a
// target is refused if its host cannot be looked up, and that webhooks and mail arrive once the name server works again.
func TestNameServerFails(t *testing.T) {
	const address = "127.0.0.153"
	names := &nameServer{}
	names.serve(t, address+":53")
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	noError(t, os.WriteFile(conf, []byte("nameserver "+address+"\noptions timeout:1 attempts:1\n"), 0o644))
	mails := &mailtest.Server{}
	_, mailPort, _ := net.SplitHostPort(mailServer(t, mails, "127.0.0.1:0"))
	receiver, got := receiveCommanded(t)
	f := &shopFile{t: t, db: newDatabase(t)}
	cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, conf, binary(),
		"serve", "--db", f.db, "--listen", "127.0.0.1:0", "--log-format", "json", "--webhook-allow-http", "--webhook-allow-cidr",
		"127.0.0.0/8",
		"--webhook-backoff-base", "100ms", "--webhook-delivery-attempts", "100",
		"--smtp-url", "smtp://mail.shop.test:"+mailPort+"?tls=none",
		"--mail-from", sender, "--api-key-rate-limit-per-minute", "0")
	cmd.Env = environment(nil)
	f.server = launchCommand(t, cmd)
	f.server.awaitServing()
	k := f.makeKey("create", "--name", "Office")
	program := newProgram(f.api(k), prepaidCard)
	c, path := f.hooks(k, program)
	hook := map[string]any{"url": "http://hooks.shop.test" + receiver[strings.LastIndex(receiver, ":"):], "events": []string{"card.added"}}
	deliveries := path + "/" + c.Post(path, hook).NewID() + "/deliveries"
	waiting := map[any]bool{}
	for mode, says := range map[int32]string{fails: "server misbehaving", hangs: "i/o timeout"} {
		names.mode.Store(mode)
		to := says[:2] + "@example.com"
		waiting[to], waiting[issueCard(c, program, map[string]any{"holder_email": to, "send_email": true}).ID] = true, true
		refused := c.Post(path, hook)
		wantDetail(refused, "url", "not_public")
		if m := refused.Str("error.details.0.message"); m != notResolved {
			t.Errorf("refused: %s", m)
		}
		for late := time.Now().Add(waitLimit); c.Get(deliveries).Want(200).At("items.0.last_error") != "the host's name could not be "+
			"looked up"; {
			if time.Now().After(late) {
				t.Fatalf("the delivery does not fail: %s", c.Get(deliveries).Body)
			}
		}
		f.server.await(f.server.stderr, func(text string) bool {
			return strings.Contains(text, `"msg":"the mail server cannot be used","error":"dial tcp: lookup mail.shop.test on `+address+
				`:53: `) &&
				strings.Contains(text, says)
		})
		f.server.outside().Get("/readyz").Want(200)
	}
	names.mode.Store(answers)
	for range 2 {
		delete(waiting, f.next(got).Data["card_instance_id"])
		delete(waiting, waitForMail(t, mails).To)
	}
	if len(waiting) > 0 {
		t.Errorf("what waited for the name server did not arrive: %v", waiting)
	}
	c.Post(path, hook).Want(201)
}

// notResolved is the refusal of a webhook's URL whose host cannot be looked up.
const notResolved = "The URL's host must be a public address, or a name that resolves to public addresses only."
