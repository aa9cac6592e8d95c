package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// tenant is one of many shops.
type tenant struct {
	name, host string
	token      string // of its till
	ids        []string
}

// deployment has all shops in some files, each of which a process of its own serves. The shop with a number is in the file with that
// number, modulo their number.
type deployment struct {
	b       *testing.B
	name    string
	files   []string
	shops   []*tenant
	servers []*exec.Cmd
	addr    string // of the proxy
	proxy   net.Listener
	figures map[string][]float64 // the figures of all rounds
}

// newDeployment makes the files.
func newDeployment(b *testing.B, name string, files, shops int) *deployment {
	d := &deployment{b: b, name: name, shops: make([]*tenant, shops), figures: map[string][]float64{}}
	for f := range files {
		path := filepath.Join(b.TempDir(), "shops.db")
		st := require.Must(store.Open(path, store.Options{}))
		servertest.Write(b, st, func(tx *store.Tx) (err error) {
			for n := f; n < shops; n += files {
				if d.shops[n], err = newTenant(tx, n); err != nil {
					return err
				}
			}
			return nil
		})
		noError(b, st.Close())
		d.files = append(d.files, path)
	}
	return d
}

// newTenant makes a shop with a till, a program and twenty cards.
func newTenant(tx *store.Tx, n int) (s *tenant, err error) {
	s = &tenant{name: fmt.Sprint("Shop ", n), host: fmt.Sprintf("shop-%d.example.com", n)}
	shop, _, err := tx.CreateShop(store.ShopFields{Name: store.Given(s.name)})
	if err != nil {
		return nil, err
	}
	at, err := tx.CreateLocation(shop, store.LocationFields{LocationPatch: store.LocationPatch{
		Name: store.Given("Here"), Address: store.Given("Via Po 1"), City: store.Given("Torino"), PostalCode: store.Given("10123"),
		CountryCode: store.Given("IT"), Lat: store.Given(45.0), Lon: store.Given(7.6)}}, store.StaffPIN{})
	if err != nil {
		return nil, err
	}
	if _, s.token, err = tx.CreateDevice(shop, store.NewDevice{LocationID: at.ID, Name: "Till", AcceptsCardIDs: true}); err != nil {
		return nil, err
	}
	a := store.Access{Shop: shop}
	p, err := tx.CreateProgram(a, store.ProgramFields{
		Type: store.Given("standard"), Name: store.Given("Card"), TotalStamps: store.Given[int64](10), IconKey: store.Given("coffee"),
		RepeatAfterReset: store.Given(true),
	})
	if err == nil {
		_, err = tx.ProgramAction(a, p.ID, store.Publish)
	}
	for range 20 {
		if err != nil {
			return nil, err
		}
		var c store.IssuedCard
		c, err = tx.IssueCard(a, p.ID, store.CardFields{}, store.SourceAPI)
		s.ids = append(s.ids, c.ID)
	}
	return s, err
}

// serve starts a process for each file, and the proxy.
func (d *deployment) serve(args ...string) {
	var addrs []string
	for _, file := range d.files {
		cmd, addr := serveFile(d.b, file, append(args, "--trusted-proxy", "127.0.0.0/8")...)
		d.servers = append(d.servers, cmd)
		addrs = append(addrs, addr)
	}
	d.proxy = require.Must(net.Listen("tcp", "127.0.0.1:0"))
	d.addr = d.proxy.Addr().String()
	go func() {
		for {
			c, err := d.proxy.Accept()
			if err != nil {
				return
			}
			go passOn(c.(*net.TCPConn), addrs)
		}
	}()
}

func (d *deployment) stop() {
	d.proxy.Close()
	for _, s := range d.servers {
		s.Process.Signal(syscall.SIGTERM)
		s.Wait()
	}
	d.servers = nil
}

// passOn passes a connection on to the server of the host that its first request names. It does for connections what
// deploy/Caddyfile.two does for requests, with less of the processors, which belong to the servers.
func passOn(c *net.TCPConn, addrs []string) {
	defer c.Close()
	head := make([]byte, 4096)
	n, shop := 0, -1
	for shop < 0 {
		more, err := c.Read(head[n:])
		if err != nil {
			return
		}
		n += more
		if _, host, ok := bytes.Cut(head[:n], []byte("\r\nHost: shop-")); ok {
			number, _, _ := bytes.Cut(host, []byte("."))
			shop, _ = strconv.Atoi(string(number))
		}
	}
	s, err := net.Dial("tcp", addrs[shop%len(addrs)])
	if err != nil {
		return
	}
	defer s.Close()
	s.Write(head[:n])
	go func() {
		io.Copy(s, c)
		s.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, s)
}

// tillConn is the connection of the till of a shop.
type tillConn struct {
	*tenant
	c net.Conn
	r *bufio.Reader
}

// stamp gives a stamp and returns the status of the answer.
func (t *tillConn) stamp(addr string) (status int, err error) {
	if t.c == nil {
		if t.c, err = net.Dial("tcp", addr); err != nil {
			return 0, err
		}
		t.r = bufio.NewReader(t.c)
	}
	askForStamp(t.c, t.host, t.token, t.ids[rand.IntN(len(t.ids))], "")
	err = readAnswer(t.r, 201)
	if err != nil && strings.HasPrefix(err.Error(), "429 ") {
		return 429, nil
	}
	return 201, err
}

// load has clients give stamps until end is closed: each at the tills of shops of its own, in turns, at a rate of all clients together
// or, without one, one after the other. It returns the times of the answers by the number of the shop's file, from when each
// stamp was due, and how many were refused.
func (d *deployment) load(clients int, rate float64, shops []*tenant, end <-chan struct{}) (took [][]time.Duration, refused int) {
	took = make([][]time.Duration, len(d.files))
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now()
	for n := range clients {
		all.Go(func() {
			var tills []*tillConn
			for i := range max(1, len(shops)/clients) {
				tills = append(tills, &tillConn{tenant: shops[(n+i*clients)%len(shops)]})
			}
			defer func() {
				for _, t := range tills {
					if t.c != nil {
						t.c.Close()
					}
				}
			}()
			own, limited := make([][]time.Duration, len(d.files)), 0
			for i := 0; ; i++ {
				due := time.Now()
				if rate > 0 {
					due = start.Add(time.Duration(float64(n+i*clients) / rate * float64(time.Second)))
				}
				select {
				case <-end:
					mu.Lock()
					defer mu.Unlock()
					for f := range own {
						took[f] = append(took[f], own[f]...)
					}
					refused += limited
					return
				case <-time.After(time.Until(due)):
				}
				t := tills[i%len(tills)]
				status, err := t.stamp(d.addr)
				if err != nil {
					d.b.Errorf("%s: %v", t.name, err)
					return
				}
				if status == 429 {
					limited++
				} else {
					f := slices.Index(d.shops, t.tenant) % len(d.files)
					own[f] = append(own[f], time.Since(due))
				}
			}
		})
	}
	all.Wait()
	return took, refused
}

// othersRate is how many stamps a second the shops other than the noisy one give together.
const othersRate = 300

// others measures the stamps of all shops but the first until end is closed: in the file of the first, and in the others.
func (d *deployment) others(what string, end <-chan struct{}) {
	took, refused := d.load(64, othersRate, d.shops[1:], end)
	if refused > 0 {
		d.b.Errorf("%s: %d stamps of quiet shops were refused", what, refused)
	}
	d.record(what, took[:1])
	if len(took) > 1 {
		d.record(what+", other files", took[1:])
	}
}

// record keeps the median and the 99th percentile of times.
func (d *deployment) record(what string, took [][]time.Duration) {
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		d.b.Fatalf("%s: no stamps", what)
	}
	ms := func(part int) float64 { return float64(all[(len(all)-1)*part/100].Microseconds()) / 1000 }
	d.add(what+", ms", ms(50))
	d.add(what+", ms 99%", ms(99))
}

// add keeps a figure of a round.
func (d *deployment) add(what string, v float64) { d.figures[what] = append(d.figures[what], v) }

// noise has 64 clients stamp at the till of the first shop without a pause, while the others are measured.
func (d *deployment) noise(what string, length time.Duration) {
	end := make(chan struct{})
	time.AfterFunc(length, func() { close(end) })
	var noisy sync.WaitGroup
	var given, refused atomic.Int64
	noisy.Go(func() {
		took, no := d.load(64, 0, d.shops[:1], end)
		given.Store(int64(len(took[0])))
		refused.Store(int64(no))
	})
	d.others(what, end)
	noisy.Wait()
	d.add(what+", stamps/s of the noisy one", float64(given.Load())/length.Seconds())
	d.add(what+", refused/s", float64(refused.Load())/length.Seconds())
}

// measure makes one round.
func (d *deployment) measure() {
	length := servertest.Sized(5*time.Second, 50*time.Millisecond)
	timed := func() <-chan struct{} {
		end := make(chan struct{})
		time.AfterFunc(length, func() { close(end) })
		return end
	}
	d.serve()
	d.others("quiet", timed())
	d.noise("64 noisy clients", length)
	d.stop()
	d.serve("--till-rate-limit-per-minute", "0")
	took, _ := d.load(64, 0, d.shops, timed())
	d.add("stamps/s of all shops", float64(len(slices.Concat(took...)))/length.Seconds())
	mib := 0.0
	for _, s := range d.servers {
		mib += float64(memory(s.Process.Pid, "VmRSS:")) / 1024
	}
	d.add("MiB of all processes", mib)
	d.noise("64 noisy clients without limits", length)
	d.stop()
}

// importCards measures the others while 100,000 cards of the first shop are imported, for at most half a minute.
func (d *deployment) importCards() {
	table := filepath.Join(d.b.TempDir(), "cards.csv")
	var text strings.Builder
	text.WriteString("reference,name,email,stamps\n")
	for i := range servertest.Sized(100_000, 100) {
		fmt.Fprintf(&text, "r%d,Person %d,p%d@example.org,%d\n", i, i, i, i%10)
	}
	noError(d.b, os.WriteFile(table, []byte(text.String()), 0o600))
	d.serve()
	defer d.stop()
	end := make(chan struct{})
	cmd := exec.Command(binary(), "card", "import", table, "--shop", d.shops[0].name, "--program", "Card", "--db", d.files[0])
	go func() {
		defer close(end)
		late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		if out, err := cmd.CombinedOutput(); err != nil && late.Stop() {
			d.b.Errorf("import: %v: %s", err, out)
		}
	}()
	d.others("import", end)
}

// BenchmarkShops compares 1,000 shops in one file with the same in four files with a process each, in turns, both behind a proxy that
// chooses by the name of the host: the stamps a second of 64 clients at all tills, and the memory then. It measures 300
// stamps a second at the tills of all shops but one while that one is quiet, while 64 clients stamp at its till without a pause, with
// and without the usual limit of a till, and in the first half minute of an import of
// 100,000 cards into it.
//
//	go test ./server/e2e -run '^$' -bench Shops -benchtime 1x -v -timeout 30m
func BenchmarkShops(b *testing.B) {
	shops := servertest.Sized(1000, 130)
	one, four := newDeployment(b, "one file", 1, shops), newDeployment(b, "four files", 4, shops)
	for b.Loop() {
		for range servertest.Sized(2, 1) {
			one.measure()
			four.measure()
		}
		one.importCards()
		four.importCards()
		for _, d := range []*deployment{one, four} {
			for what, values := range d.figures {
				b.Logf("%s: %s: %.1f", d.name, what, values)
				b.ReportMetric(middle(values), strings.NewReplacer(" ", "-", ",", "").Replace(d.name+"/"+what))
			}
		}
	}
}
