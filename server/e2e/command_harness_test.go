package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// shopFile is a database with one shop and a server, for running commands beside the server.
type shopFile struct {
	t       *testing.T
	db      string
	server  *process
	shop    string
	secrets []string
	printed strings.Builder // by all commands that should print no secret
}

// key is a key as printed by commands.
type key struct {
	ID               string   `json:"id"`
	Class            string   `json:"class"`
	Name             string   `json:"name"`
	Prefix           string   `json:"prefix"`
	Scopes           []string `json:"scopes"`
	LocationIDs      []string `json:"location_ids"`
	ExpiresAt        *string  `json:"expires_at"`
	RetiresAt        *string  `json:"retires_at"`
	RevokedAt        *string  `json:"revoked_at"`
	DisabledByPlanAt *string  `json:"disabled_by_plan_at"`
	Secret           string   `json:"key"`
}

// newShop creates a database with a shop by command and serves it.
func newShop(t *testing.T, args ...string) *shopFile {
	t.Helper()
	f := &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}
	var shop struct{ ID string }
	f.json(&shop, "shop", "create", "--name", "Bar Lux", "--timezone", "Europe/Rome")
	f.shop = shop.ID
	f.server = startServe(t, f.db, args...)
	return f
}

// run runs a command on the database, which must succeed, and returns its output.
func (f *shopFile) run(args ...string) string {
	f.t.Helper()
	r := execute(f.t, nil, append(args, "--db", f.db)...)
	if r.code != 0 || r.stderr != "" {
		f.t.Fatalf("%v: exit %d, stderr %q", args, r.code, r.stderr)
	}
	if strings.Contains(r.stdout, "\t") || !strings.HasSuffix(r.stdout, "\n") {
		f.t.Errorf("%v printed %q", args, r.stdout)
	}
	return r.stdout
}

// list is run for a command that prints no secret. It also runs the command with --json.
func (f *shopFile) list(args ...string) string {
	f.t.Helper()
	out := f.run(args...)
	f.printed.WriteString(out)
	f.printed.WriteString(f.run(append(args, "--json")...))
	return out
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

func (f *shopFile) refused(args ...string) func(says ...string) {
	f.t.Helper()
	r := execute(f.t, nil, append(args, "--db", f.db)...)
	f.printed.WriteString(r.stderr)
	return func(says ...string) { f.t.Helper(); r.refused(f.t, says...) }
}

// makeKey creates or rotates a key and records its secret.
func (f *shopFile) makeKey(args ...string) (k key) {
	f.t.Helper()
	f.json(&k, append([]string{"key"}, args...)...)
	f.secrets = append(f.secrets, k.Secret)
	return k
}

func (f *shopFile) keys() (byID map[string]key) {
	f.t.Helper()
	var all struct{ Data []key }
	f.json(&all, "key", "list")
	byID = map[string]key{}
	for _, k := range all.Data {
		byID[k.ID] = k
	}
	return byID
}

func (f *shopFile) api(k key) *servertest.Client { return f.server.api(k.Secret) }

// checkSecrets checks that secrets were printed only when they were created and are not in the log
// or the files.
func (f *shopFile) checkSecrets() {
	f.t.Helper()
	for _, s := range f.secrets {
		if strings.Contains(f.printed.String(), s) {
			f.t.Errorf("a command printed the secret %s again", s)
		}
		if strings.Contains(f.server.stderr.String(), s) || strings.Contains(f.server.stdout.String(), s) {
			f.t.Errorf("the log contains the secret %s", s)
		}
	}
	for _, name := range []string{f.db, f.db + "-wal"} {
		if raw, err := os.ReadFile(name); err == nil {
			for _, s := range f.secrets {
				if strings.Contains(string(raw), s) {
					f.t.Errorf("%s contains the secret %s", filepath.Base(name), s)
				}
			}
		}
	}
}

func (f *shopFile) location(name string) (id string) {
	f.t.Helper()
	var l struct{ ID string }
	f.json(&l, "location", "create", "--name", name, "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123",
		"--country-code", "IT", "--lat", "45.07", "--lon=-7.68")
	return l.ID
}

// setPIN sets a location's PIN, which the command reads from standard input, and
// returns what it prints.
func (f *shopFile) setPIN(location, pin string) (out string) {
	f.t.Helper()
	for _, form := range []string{"--json=false", "--json"} {
		r := input(f.t, pin+"\n", "location", "set-pin", location, form, "--db", f.db)
		if r.code != 0 || r.stderr != "" {
			f.t.Fatalf("set-pin: exit %d, stderr %q", r.code, r.stderr)
		}
		out += r.stdout
	}
	f.printed.WriteString(out)
	return out
}

// refusesPIN runs set-pin with a PIN on standard input.
func (f *shopFile) refusesPIN(pin string, args ...string) func(says ...string) {
	f.t.Helper()
	r := input(f.t, pin+"\n", append([]string{"location", "set-pin", "--db", f.db}, args...)...)
	f.printed.WriteString(r.stderr)
	return func(says ...string) { f.t.Helper(); r.refused(f.t, says...) }
}
