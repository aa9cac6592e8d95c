//go:build browser

package browser

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// built is the binary with a file, as its users run it.
type built struct {
	t       testing.TB
	path    string
	db      string
	address string // to listen on
	cmd     *exec.Cmd
	ready   struct {
		Origin      string            `json:"origin"`
		BaseURL     string            `json:"base_url"`
		APIKey      string            `json:"api_key"`
		TillToken   string            `json:"till_token"`
		ProgramIDs  map[string]string `json:"program_ids"`
		LocationIDs []string          `json:"location_ids"`
	}
}

// build builds the binary.
func build(t testing.TB) *built {
	t.Helper()
	dir := t.TempDir()
	b := &built{t: t, path: filepath.Join(dir, "punchcard"), db: filepath.Join(dir, "shop.db"), address: "127.0.0.1:0"}
	cmd := exec.Command("go", "build", "-o", b.path, "punchcard")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	return b
}

// dev starts dev on the file, at the address at which it was before.
func (b *built) dev() {
	b.t.Helper()
	b.cmd = exec.Command(b.path, "dev", "--db", b.db, "--listen", b.address)
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	noError(b.t, err)
	cmd := b.cmd
	b.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &b.ready)
	}
	if err != nil {
		b.t.Fatalf("the ready line %q: %v", line, err)
	}
	b.address = strings.TrimPrefix(b.ready.Origin, "http://")
}

// kill ends the server at once.
func (b *built) kill() {
	b.t.Helper()
	noError(b.t, b.cmd.Process.Kill())
	b.cmd.Wait()
}

// output runs a command on the file and returns what it prints with --json.
func (b *built) output(input string, args ...string) []byte {
	b.t.Helper()
	cmd := exec.Command(b.path, append(args, "--db", b.db, "--json")...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &errs
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%q: %v %s", args, err, &errs)
	}
	return out
}

// run is output for a command of which only the code of a pairing is needed, if anything.
func (b *built) run(input string, args ...string) (code string) {
	b.t.Helper()
	var answer struct{ Code string }
	noError(b.t, json.Unmarshal(b.output(input, args...), &answer))
	return answer.Code
}

// api returns a client of the REST API.
func (b *built) api() *servertest.Client {
	return servertest.NewClient(b.t, b.ready.BaseURL, b.ready.APIKey)
}

// control calls the control API.
func (b *built) control(path string, body any) {
	b.t.Helper()
	if r := servertest.NewClient(b.t, b.ready.Origin+"/dev", "").Post(path, body); r.Status >= 300 {
		b.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
}

// issue issues a card of the standard program and returns its id and the content of its QR code.
func (b *built) issue(holder string) (id, code string) {
	b.t.Helper()
	id, shown := b.issueOf(b.ready.ProgramIDs["standard"], holder)
	return id, shown.Code
}

// issueOf issues a card and returns its id and what its holder's page shows.
func (b *built) issueOf(program, holder string) (id string, shown store.HolderCard) {
	b.t.Helper()
	r := b.api().Post("/programs/"+program+"/cards", fields{"holder_name": holder}).Want(201)
	st := require.Must(store.Open(b.db, store.Options{MustExist: true}))
	defer st.Close()
	noError(b.t, st.View(0, func(v *store.View) (err error) {
		shown, err = v.HolderCard(path.Base(r.Str("install_url")))
		return err
	}))
	return r.Str("id"), shown
}

// pair makes the browser that shows the pairing page a till.
func (b *built) pair(p *Page) {
	b.t.Helper()
	p.Wait("Pair this device with the shop")
	p.ExpectProblems() // GET /me is 401
	p.Fill("Pairing code", b.run("", "device", "pair", "--location", b.ready.LocationIDs[0]))
	p.Press("Pair")
	p.Wait("Find the card")
}

// ledger returns a column of the ledger, oldest row first.
func (b *built) ledger(column string) (values []string) {
	b.t.Helper()
	db := require.Must(sql.Open("sqlite", "file:"+b.db+"?mode=ro"))
	defer db.Close()
	rows := require.Must(db.Query("SELECT " + column + " FROM transactions t JOIN cards c ON c.id=t.card_id ORDER BY t.id"))
	defer rows.Close()
	for rows.Next() {
		var v string
		noError(b.t, rows.Scan(&v))
		values = append(values, v)
	}
	return values
}

// shows checks that the ledger has these rows in this order.
func (b *built) shows(want ...string) {
	b.t.Helper()
	if got := b.ledger("concat(c.holder_name, ' ', t.type, ' ', t.stamps_delta)"); !slices.Equal(got, want) {
		b.t.Errorf("the ledger has %q\nwant %q", got, want)
	}
}

// show shows a card, as after a scan of its QR code, and waits until the page shows each of the texts.
func (p *Page) show(code string, texts ...string) {
	p.t.Helper()
	p.scan(code)
	p.Wait(texts...)
}

// next goes on to the next card.
func (p *Page) next() {
	p.t.Helper()
	p.Press("Next card")
	p.Wait("Find the card")
}

// TestTillAfterRestore has a phone stamp cards with and without a connection. Then its page
// and the server are killed, the server comes back from a backup that lacks most of it, 25
// hours later, and the phone has to be paired again. The ledger then has every row once, in
// order, with the time at which it was made, and the page lists the one that is refused.
func TestTillAfterRestore(t *testing.T) {
	b := build(t)
	b.dev()
	b.run("1234\n", "staff", "add", "--location", b.ready.LocationIDs[0], "--name", "Bruno")
	codes, ids := map[string]string{}, map[string]string{}
	for _, name := range []string{"Ada", "Bea", "Cyd", "Dan"} {
		ids[name], codes[name] = b.issue(name)
	}
	till := b.ready.Origin + "/till/"
	p := Open(t, till, View{})
	b.pair(p)
	p.waitForWorker()
	p.show(codes["Ada"], "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 of 10 stamps")
	backup := filepath.Join(t.TempDir(), "backup.db")
	b.run("", "backup", backup)

	p.stampMore(codes)
	b.shows("Ada stamp 1", "Bea stamp 2", "Ada stamp 1", "Ada reversal -1", "Cyd stamp 1", "Dan stamp 1", "Ada stamp 1")

	// The page is killed while the server works on a stamp, and the server before it answers.
	p.show(codes["Ada"], "2 of 10 stamps")
	b.signal(syscall.SIGSTOP)
	before := p.requests("/stamps")
	p.pressSoon("Give 1 stamp")
	p.wait("the request", func() (bool, error) { return p.requests("/stamps") > before, nil })
	tab := p.tab.kill()
	p.ExpectProblems()
	b.signal(syscall.SIGCONT)
	b.kill()
	p = openIn(tab, till, View{})
	p.Wait("1 not sent", "Find the card", "Centrale")
	p.show(codes["Bea"], "The server does not answer.")
	p.Press("Give 1 stamp")
	p.Wait("The stamp is kept on this device", "2 not sent")
	p = p.killed(till, "")
	p.Wait("2 not sent")

	b.run("", "restore", backup, "--force")
	b.run("", "device", "revoke", b.phone())
	b.dev()
	b.control("/clock", fields{"advance": "25h"})
	b.control("/cards/"+ids["Dan"]+"/lock", nil)
	b.shows("Ada stamp 1")

	p = p.killed(till, "")
	b.pair(p)
	p.wait("the end of the queue", p.isSettled)
	want := []string{
		"Ada stamp 1", "Bea stamp 2", "Ada stamp 1", "Ada reversal -1", "Cyd stamp 1", "Ada stamp 1", "Ada stamp 1", "Bea stamp 1",
	}
	b.shows(want...)
	p.Press("1 not sent")
	p.Wait("1 stamp · Dan", "This card is locked at the moment.")
	p.Press("Remove: 1 stamp · Dan")
	p.Wait("Nothing waits to be sent.")
	p.ExpectProblems() // 422
	ages := b.ledger("iif(t.occurred_at IS NULL, '-', (t.created_at-t.occurred_at)/3600000)")
	if got := strings.Join(ages, " "); got != "- 25 25 - 25 25 25 25" {
		t.Errorf("hours between a stamp and its row: %s", got)
	}
	if refs := b.ledger("t.client_reference"); len(slices.Compact(slices.Sorted(slices.Values(refs)))) != len(want) {
		t.Errorf("the references are %q", refs)
	}

	// Nothing is made again.
	p = p.killed(till, "")
	p.Wait("Find the card")
	p.show(codes["Ada"], "3 of 10 stamps")
	b.shows(want...)
}

// stampMore gives stamps: to Bea two, to Ada one that is taken back, to Cyd, whom a search
// finds, to Dan, and to Ada without a connection.
func (p *Page) stampMore(codes map[string]string) {
	p.t.Helper()
	p.show(codes["Bea"], "0 of 10 stamps")
	p.Press("One stamp more")
	p.Press("Give 2 stamps")
	p.Wait("2 of 10 stamps")
	p.show(codes["Ada"], "1 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("2 of 10 stamps")
	p.Press("Undo")
	p.Wait("1 of 10 stamps")
	p.next()
	p.Press("Search for a card")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("1234")
	p.Fill("Name, email or phone number of the customer, at least three characters", "cyd")
	p.Press("Search")
	p.Press("Cyd")
	p.Wait("0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 of 10 stamps")
	p.show(codes["Dan"], "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 of 10 stamps")
	p.setOffline(true)
	p.show(codes["Ada"], "The server does not answer.")
	p.Press("Give 1 stamp")
	p.Wait("1 not sent")
	p.setOffline(false)
	p.wait("the end of the queue", p.isSettled)
	p.ExpectProblems() // requests without a network
}

// requests returns how many requests the page has made to URLs with an end.
func (p *Page) requests(end string) (n int) {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	for _, r := range p.seen.requests {
		if strings.HasSuffix(r.url, end) {
			n++
		}
	}
	return n
}

// signal sends the server a signal.
func (b *built) signal(s os.Signal) {
	b.t.Helper()
	noError(b.t, b.cmd.Process.Signal(s))
}

// phone returns the id of the device that was paired.
func (b *built) phone() string {
	b.t.Helper()
	var list struct{ Data []struct{ ID, Name string } }
	noError(b.t, json.Unmarshal(b.output("", "device", "list"), &list))
	for _, d := range list.Data {
		if d.Name == "Till" {
			return d.ID
		}
	}
	b.t.Fatalf("no phone in %+v", list)
	return ""
}
