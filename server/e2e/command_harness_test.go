package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"punchcard/server/command"
	"punchcard/server/servertest"
)

// shopFile is a database with one shop and a server, for running commands beside the server.
type shopFile struct {
	t      *testing.T
	db     string
	server *process
}

// key is a key as printed by commands.
type key struct {
	ID     string `json:"id"`
	Secret string `json:"key"`
}

// device is a till as printed by commands.
type device struct {
	Token   string `json:"token"`
	CardIDs bool   `json:"accepts_card_ids"`
}

// newShop serves a database with a shop.
func newShop(t *testing.T, args ...string) *shopFile {
	t.Helper()
	f := &shopFile{t: t, db: newDatabase(t)}
	f.server = startServe(t, f.db, args...)
	return f
}

// run runs a command on the database, which must succeed, and returns its output. The command runs
// in the test's process, unless it is one that ends its process or lowers its priority.
func (f *shopFile) run(args ...string) string {
	f.t.Helper()
	args = append(args, "--db", f.db)
	var r result
	if args[0] == "check" || args[0] == "backup" {
		r = execute(f.t, nil, args...)
	} else {
		r = runHere(args...)
	}
	if r.code != 0 || r.stderr != "" {
		f.t.Fatalf("%v: exit %d, stderr %q", args, r.code, r.stderr)
	}
	if strings.Contains(r.stdout, "\t") || !strings.HasSuffix(r.stdout, "\n") {
		f.t.Errorf("%v printed %q", args, r.stdout)
	}
	return r.stdout
}

// commandLock is held while a command runs in the test's process, whose output is a variable.
var commandLock sync.Mutex

// runHere runs a command in the test's process, which is cheaper than a process of its own.
func runHere(args ...string) (r result) {
	commandLock.Lock()
	defer commandLock.Unlock()
	var out bytes.Buffer
	command.Out = &out
	if err := command.Run(args); err != nil {
		r.code, r.stderr = 1, "punchcard: "+command.Printable(err.Error())+"\n"
	}
	r.stdout = out.String()
	return r
}

// json runs a command with --json and decodes its output.
func (f *shopFile) json(v any, args ...string) {
	f.t.Helper()
	out := f.run(append(args, "--json")...)
	if strings.Count(out, "\n") != 1 {
		f.t.Errorf("%v: --json printed several lines: %q", args, out)
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		f.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// makeKey creates a key.
func (f *shopFile) makeKey(args ...string) (k key) {
	f.t.Helper()
	f.json(&k, append([]string{"key"}, args...)...)
	return k
}

func (f *shopFile) api(k key) *servertest.Client { return f.server.api(k.Secret) }

// newAPI returns a client of the API with a new key.
func (f *shopFile) newAPI(name string) *servertest.Client {
	f.t.Helper()
	return f.api(f.makeKey("create", "--name", name))
}

func (f *shopFile) location(name string) (id string) {
	f.t.Helper()
	var l struct{ ID string }
	f.json(&l, "location", "create", "--name", name, "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123",
		"--country-code", "IT", "--lat", "45.07", "--lon=-7.68")
	return l.ID
}

// tillToken returns the token of a till of a new location, which accepts the ids of cards.
func (f *shopFile) tillToken() string {
	f.t.Helper()
	return f.makeDevice("--location", f.location("Centrale"), "--accept-card-ids").Token
}

func (f *shopFile) makeDevice(args ...string) (d device) {
	f.t.Helper()
	f.json(&d, append([]string{"device", "create"}, args...)...)
	return d
}
