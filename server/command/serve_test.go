package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// specSettings are the environment variables whose names must not change.
var specSettings = strings.Fields(`API_KEY_MAX_PER_SHOP API_KEY_RATE_LIMIT_PER_MINUTE PUBLIC_API_MAX_PAGE_SIZE
	IDEMPOTENCY_DEDUPE_WINDOW_HOURS CREDENTIAL_ROTATION_GRACE_HOURS WEBHOOK_MAX_PER_SHOP WEBHOOK_DELIVERY_TIMEOUT_MS
	WEBHOOK_MAX_CONSECUTIVE_FAILURES WEBHOOK_DELIVERY_RETENTION_DAYS WEBHOOK_MAX_CUSTOM_HEADERS
	WEBHOOK_CUSTOM_HEADERS_MAX_BYTES MCP_KEY_MAX_PER_SHOP MCP_KEY_RATE_LIMIT_PER_MINUTE MCP_KEY_DAILY_CALL_BUDGET`)

// otherLimits are the flags of all other limits.
var otherLimits = strings.Fields(`holder-streams dashboard-streams till-rate-limit-per-minute idempotency-key-max-length
	webhook-delivery-attempts
	webhook-backoff-base delivery-log-max-limit prize-max-thresholds prize-max-options prize-name-max-length
	prize-description-max-length localization-max-length mail-per-hour connections-per-address`)

// serverFlags returns the flags of serve or dev.
func serverFlags(t *testing.T, name string) []*kong.Flag {
	t.Helper()
	commands := newParser(t).Model.Children
	at := slices.IndexFunc(commands, func(n *kong.Node) bool { return n.Name == name })
	return slices.DeleteFunc(commands[at].Flags, func(f *kong.Flag) bool { return f.Name == "help" })
}

func isLimit(f *kong.Flag) bool { return f.Group != nil && strings.HasPrefix(f.Group.Key, "Limits") }

// TestEveryFlagHasAVariable checks the variables of the flags of servers, and that all limits are
// flags.
func TestEveryFlagHasAVariable(t *testing.T) {
	for _, name := range []string{"serve", "dev"} {
		owner := map[string]string{}
		var limits []string
		for _, f := range serverFlags(t, name) {
			if len(f.Envs) != 1 || f.Help == "" {
				t.Errorf("%s: --%s has the variables %v and the help %q", name, f.Name, f.Envs, f.Help)
				continue
			}
			env := f.Envs[0]
			if before := owner[env]; before != "" {
				t.Errorf("%s: --%s and --%s share %s", name, before, f.Name, env)
			}
			owner[env] = f.Name
			own := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if env != "PUNCHCARD_"+own && (env != own || !slices.Contains(specSettings, env)) {
				t.Errorf("%s: --%s has the variable %s", name, f.Name, env)
			}
			if isLimit(f) {
				limits = append(limits, f.Name)
			}
		}
		for _, env := range specSettings {
			if owner[env] == "" {
				t.Errorf("%s: no flag has the variable %s", name, env)
			}
		}
		for _, flag := range otherLimits {
			if !slices.Contains(limits, flag) {
				t.Errorf("%s: no flag --%s", name, flag)
			}
		}
		if want := len(specSettings) + len(otherLimits); len(limits) != want {
			t.Errorf("%s: %d limits, want %d", name, len(limits), want)
		}
	}
}

// refuses checks that arguments are refused with texts, and that nothing is printed before. env are
// variables, as NAME=value. A server that is not refused ends after a while.
func refuses(t *testing.T, env, args []string, texts ...string) {
	t.Helper()
	var out bytes.Buffer
	before := signaled
	Out = &out
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	signaled = ctx
	defer func() { signaled = before }()
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	err := Run(args)
	if err == nil || out.Len() > 0 {
		t.Errorf("%v %q: printed %q, the error is %v", env, args, out.String(), err)
		return
	}
	for _, text := range texts {
		if line := Printable(err.Error()); !strings.Contains(line, text) { // as main prints it
			t.Errorf("%v %q: the error lacks %q: %s", env, args, text, line)
		}
	}
}

// variable returns the variable of a flag that is no limit.
func variable(flag string) string {
	return "PUNCHCARD_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))
}

// TestBadLimitsStopTheStart sets each limit to invalid values, by flag and by variable.
func TestBadLimitsStopTheStart(t *testing.T) {
	dir := t.TempDir()
	for _, f := range serverFlags(t, "serve") {
		if !isLimit(f) {
			continue
		}
		values := []string{"x"}
		for tag, by := range map[string]int64{"min": -1, "max": 1} {
			bound := f.Tag.Get(tag)
			if d, err := time.ParseDuration(bound); err == nil && f.Target.Type() == reflect.TypeFor[time.Duration]() {
				values = append(values, (d + time.Duration(by)).String())
			} else if n, err := strconv.ParseInt(bound, 10, 64); err == nil {
				values = append(values, fmt.Sprint(n+by))
			} else {
				t.Errorf("--%s has the %s %q", f.Name, tag, bound)
			}
		}
		serve := []string{"serve", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "x.db")}
		for _, v := range values {
			refuses(t, nil, append(serve, "--"+f.Name+"="+v), "--"+f.Name, f.Envs[0])
		}
		refuses(t, []string{f.Envs[0] + "=" + values[0]}, serve, "--"+f.Name, f.Envs[0])
	}
	if found, _ := os.ReadDir(dir); len(found) != 0 {
		t.Errorf("the refused starts left %v", found)
	}
}

// TestBadServerFlags checks that the flags of servers are refused by flag and by variable.
func TestBadServerFlags(t *testing.T) {
	dir := t.TempDir()
	servertest.WriteCertificate(t, dir, "first")
	at := func(name string) string { return filepath.Join(dir, name) }
	cert, folder := at("cert.pem"), at("folder")
	noError(t, os.Mkdir(folder, 0o700))
	noError(t, os.WriteFile(at("bad.json"), []byte("{\"shops\": [\n{\"name\": 3}]}"), 0o600))
	const auto = "serve --tls-auto cards.example.com "
	const backups = "serve --backup-every 24h "
	for _, c := range []struct {
		args string // the last ones are a flag and its value
		says string // after the flag with its variable, unless it begins with that of another
	}{
		{"serve --tls-cert " + cert, "--tls-key (PUNCHCARD_TLS_KEY): is required with --tls-cert"},
		{"serve --tls-key " + cert, "--tls-cert (PUNCHCARD_TLS_CERT): is required with --tls-key"},
		{"serve --tls-cert " + cert + " --tls-key " + cert, "--tls-cert, --tls-key (PUNCHCARD_TLS_CERT, PUNCHCARD_TLS_KEY): "},
		{"serve --tls-cert " + cert + " --tls-key " + at("none"), "--tls-cert, --tls-key (PUNCHCARD_TLS_CERT, PUNCHCARD_TLS_KEY): "},
		{"serve --trusted-proxy 10.0.0.1/8", "must be networks"},
		{"serve --metrics-listen nowhere", ""},
		{auto + "--tls-cache " + cert, ""},
		{auto + "--http-listen nowhere", ""},
		{"serve --backup-dir " + dir + " --backup-every 59s", ""},
		{"serve --backup-dir " + dir + " --backup-every 8761h", ""},
		{backups + "--backup-dir " + dir + " --backup-keep 0", ""},
		{backups + "--backup-dir " + dir + " --backup-keep 10001", ""},
		{backups + "--backup-dir " + at("none"), ""},
		{backups + "--backup-dir " + cert, ""},
		{"serve --backup-dir " + dir, "needs --backup-every"},
		{"serve --backup-every 24h", "needs --backup-dir"},
		{"serve --webhook-allow-cidr 10.1.2.3/16", "must be networks such as 10.1.0.0/16 or fd00::/8, not \"10.1.2.3/16\""},
		{"serve --webhook-allow-cidr 10.0.0.0", "10.0.0.0"},
		{"serve --webhook-allow-cidr ::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104"},
		{"dev --clock yesterday", ""},
		{"dev --listen nowhere", ""},
		{"dev --public-url cards", ""},
		{"dev --pricing-file " + at("none"), ""},
		{"dev --ready-file " + folder, ""},
		{"dev --ready-file " + os.DevNull, ""},
		{"dev --db " + at("kept.db") + " --ready-file " + at("kept.db"), ""},
		{"dev --install-link-ttl 1s", ""},
		{"dev --log-level loud", ""},
		{"dev --log-format xml", ""},
		{"dev --shutdown-timeout soon", ""},
		{"dev --webhook-preview-events=perhaps", ""},
		{"dev --seed " + at("bad.json"), at("bad.json") + ":2: shops.0.name: must be a string"},
		{"dev --listen :0", "--allow-remote"},
		{"dev --listen 192.0.2.1:0", "--allow-remote"},
		{"dev --listen cards.example.com:0", "--allow-remote"},
		{"dev --listen 0.0.0.0:0 --allow-remote=true", "needs --allow-host"},
		{"dev --allow-host punchcard:8080", "must be host names"},
		{"dev --allow-host *.example.com", "must be host names"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "=", " "))
		if !strings.Contains(c.args, "--listen ") && !strings.Contains(c.args, "--http-listen") {
			args = slices.Insert(args, 1, "--listen", "127.0.0.1:0")
		}
		if args[0] == "serve" {
			args = slices.Insert(args, 1, "--db", at("x.db"))
		}
		flag, value := args[len(args)-2], args[len(args)-1]
		says := flag + " (" + variable(flag) + "): "
		if strings.HasPrefix(c.says, "--tls-") {
			says = ""
		}
		args = args[:len(args)-2]
		refuses(t, nil, append(slices.Clone(args), flag+"="+value), says, c.says)
		refuses(t, []string{variable(flag) + "=" + value}, args, says, c.says)
	}
	f := &file{t, at("dev.db")}
	f.refused("dev --listen 127.0.0.1:0 --ready-file "+at("none/ready.json"), "--ready-file (PUNCHCARD_READY_FILE): ")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Errorf("the folder of a ready file: %v", err)
	}
	for _, flag := range []string{ // the control API cannot be turned on
		"--dev", "--clock", "--seed", "--ready-file", "--deterministic-ids", "--allow-remote", "--strict-webhook-targets",
	} {
		refuses(t, nil, []string{"serve", "--db", at("x.db"), flag}, "unknown flag "+flag)
	}
	if _, err := os.Stat(at("x.db")); err == nil {
		t.Error("a refused start created a database")
	}
}

// TestBadMailFlags sets each flag of mail to invalid values.
func TestBadMailFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	good := file("good", "sesame\n")
	two := file("two", "a\nb\n")
	long := file("long", strings.Repeat("x", 1025))
	const url, pass, from = "--smtp-url", "--smtp-password-file", "--mail-from"
	const sender = "Caffè Lux <cards@example.com>"
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "x.db")}
	for _, c := range []struct {
		url, pass, from string
		says            []string
	}{
		{"", "", sender, []string{from, "needs --smtp-url", "PUNCHCARD_MAIL_FROM"}},
		{"", good, "", []string{pass, "needs --smtp-url", "PUNCHCARD_SMTP_PASSWORD_FILE"}},
		{"smtp://mail.example.com", "", "", []string{url, "needs --mail-from", "PUNCHCARD_SMTP_URL"}},
		{"mail.example.com:587", "", sender, []string{url, "must be a URL"}},
		{"https://mail.example.com", "", sender, []string{url, "must be a URL"}},
		{"smtp://:587", "", sender, []string{url, "must be a URL"}},
		{"smtp://mail.example.com/box", "", sender, []string{url, "path"}},
		{"smtp://mäil.example.com", "", sender, []string{url, "must be a URL"}},
		{"smtp://mail.example.com:0", "", sender, []string{url, "port"}},
		{"smtp://mail.example.com?tls=off", "", sender, []string{url, "?tls=none"}},
		{"smtp://mail.example.com?tls=none&tls=none", "", sender, []string{url, "?tls=none"}},
		{"smtps://mail.example.com?tls=none", "", sender, []string{url, "?tls=none"}},
		{"smtp://cards:hunter2@mail.example.com", "", sender, []string{url, "password", pass}},
		{"smtp://a%0d%0ab@mail.example.com", good, sender, []string{url, "user"}},
		{"smtp://cards@mail.example.com?tls=none", good, sender, []string{url, "encrypted only"}},
		{"smtp://cards@mail.example.com", "", sender, []string{url, "needs --smtp-password-file"}},
		{"smtp://mail.example.com", good, sender, []string{pass, "needs a user"}},
		{"smtp://cards@mail.example.com", filepath.Join(dir, "none"), sender, []string{pass, "no such file"}},
		{"smtp://cards@mail.example.com", dir, sender, []string{pass, "directory"}},
		{"smtp://cards@mail.example.com", two, sender, []string{pass, "one line"}},
		{"smtp://cards@mail.example.com", long, sender, []string{pass, "1024"}},
		{"smtp://mail.example.com", "", "a@example.com, b@example.com", []string{from, "one address"}},
		{"smtp://mail.example.com", "", "Coffee\r\nBcc: eve@example.com <cards@example.com>", []string{from, "one address"}},
		{"smtp://mail.example.com", "", "=?utf-8?q?x=0D=0ABcc:_eve@example.com?= <cards@example.com>", []string{from, "one address"}},
		{"smtp://mail.example.com", "", "käthe@example.com", []string{from, "ASCII"}},
		{"smtp://mail.example.com", "", "cards@[127.0.0.1]", []string{from, "one address"}},
	} {
		var env []string
		for flag, value := range map[string]string{url: c.url, pass: c.pass, from: c.from} {
			if value != "" {
				env = append(env, variable(flag)+"="+value)
			}
		}
		refuses(t, env, serve, c.says...)
		if _, err := (MailFlags{c.url, c.pass, c.from}).config(); err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the output has a password: %v", c.url, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x.db")); err == nil {
		t.Error("a refused start created a database")
	}
	for _, ok := range []string{
		"smtp://cards@mail.example.com", "smtps://cards%40example.com@mail.example.com:465/", "smtp://cards@[::1]:25?tls=none",
		"smtp://cards@localhost?tls=none",
	} {
		if _, err := (MailFlags{ok, good, "cards@example.com"}).config(); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}

// TestUsage checks what is printed of arguments that the parser refuses.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"openapi --till --dev":           "--till and --dev can't be used together",
		"backup":                         "missing argument <file>; see: punchcard backup --help",
		"card show":                      "missing argument <card>; see: punchcard card show --help",
		"program list --db caff\xe8.db":  "argument 4, caff\\xe8.db, is not UTF-8",
		"card show caff\ufffd x":         "unexpected argument x",
		"prog":                           "prog",
		"serve --color":                  "--color",
		"serve --holder-streams x":       "--holder-streams (PUNCHCARD_HOLDER_STREAMS): must be a whole number",
		"healthcheck http://127.0.0.1:1": "not ready",
	} {
		refuses(t, nil, strings.Fields(args), want)
	}
}

// TestCommandsOnNoFile checks that no command but shop create and servers make a file.
func TestCommandsOnNoFile(t *testing.T) {
	f := &file{t, filepath.Join(t.TempDir(), "none.db")}
	for _, args := range []string{
		"shop list", "shop list --json", "shop update --name x", "location list", "location set-pin loc_x --none",
		"location create --name x --address x --city x --postal-code 1 --country-code IT",
		"staff list", "staff disable stf_x", "staff enable stf_x",
		"key create --name x", "key list", "key rotate key_x", "key revoke key_x", "key revoke-all --yes",
		"program list", "program update prg_x --min-spend-cents 1", "program delete prg_x --yes",
		"program create --name x --type access --access-image-url https://x.example/x.png",
		"card lock crd_x", "card unlock crd_x", "card archive crd_x", "card reissue crd_x --public-url https://x.example",
		"card delete crd_x --yes", "card find", "card show ada@example.com", "prize list Coffee",
		"webhook list", "webhook log whk_x", "transaction list", "stats",
		"device create --location loc_x", "device list", "device revoke dev_x", "audit", "check", "check --quick",
	} {
		f.refused(args, f.db, "no such database")
	}
	f.refused("shop create --name x --db "+filepath.Join(t.TempDir(), "no", "x.db"), "folder")
	if found := f.folder(); len(found) != 0 {
		t.Errorf("created %v", found)
	}
}

// TestWebhookFlags checks that the flags about webhooks are in the configuration of the server. Without the flags the
// server sends, to public targets alone.
func TestWebhookFlags(t *testing.T) {
	flags := []string{
		"--webhook-allow-http", "--webhook-allow-cidr=127.0.0.0/8", "--webhook-hold", "--webhook-send-custom-headers",
		"--webhook-preview-events",
	}
	for set, args := range map[bool][]string{false: {"serve"}, true: append([]string{"serve"}, flags...)} {
		cli := New()
		require.Must(require.Must(kong.New(cli)).Parse(args))
		conf := require.Must(cli.Serve.Server.config(io.Discard))
		guard := conf.Guard
		got := []bool{guard.AllowHTTP, len(guard.AllowCIDR) == 1, conf.HoldWebhooks, conf.CustomHeaders, conf.PreviewEvents}
		if slices.Contains(got, !set) || guard.Loopback || guard.Unresolved {
			t.Errorf("%v: the configuration has %v, and the guard is %+v", args, got, guard)
		}
	}
}
