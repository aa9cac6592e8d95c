package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
)

// specSettings are the environment variables whose names must not change.
var specSettings = []string{"API_KEY_MAX_PER_SHOP", "API_KEY_RATE_LIMIT_PER_MINUTE", "PUBLIC_API_MAX_PAGE_SIZE",
	"IDEMPOTENCY_DEDUPE_WINDOW_HOURS",
	"CREDENTIAL_ROTATION_GRACE_HOURS", "WEBHOOK_MAX_PER_SHOP", "WEBHOOK_DELIVERY_TIMEOUT_MS", "WEBHOOK_MAX_CONSECUTIVE_FAILURES",
	"WEBHOOK_DELIVERY_RETENTION_DAYS",
	"WEBHOOK_MAX_CUSTOM_HEADERS", "WEBHOOK_CUSTOM_HEADERS_MAX_BYTES", "MCP_KEY_MAX_PER_SHOP",
	"MCP_KEY_RATE_LIMIT_PER_MINUTE", "MCP_KEY_DAILY_CALL_BUDGET"}

// otherLimits are the flags of all other limits.
var otherLimits = []string{"holder-streams", "till-rate-limit-per-minute", "idempotency-key-max-length", "webhook-delivery-attempts",
	"webhook-backoff-base", "delivery-log-max-limit", "prize-max-thresholds",
	"prize-max-options", "prize-name-max-length", "prize-description-max-length", "localization-max-length",
	"mail-per-hour", "connections-per-address"}

// serverFlags returns the flags of a command.
func serverFlags(t *testing.T, name string) (flags []*kong.Flag) {
	t.Helper()
	parser := must(kong.New(command.New(), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	for _, node := range parser.Model.Children {
		if node.Name != name {
			continue
		}
		for _, f := range node.Flags {
			if f.Name != "help" {
				flags = append(flags, f)
			}
		}
	}
	if len(flags) < 25 {
		t.Fatalf("%s has only %d flags", name, len(flags))
	}
	return flags
}

func isLimit(f *kong.Flag) bool { return f.Group != nil && strings.HasPrefix(f.Group.Key, "Limits") }

func TestEveryFlagHasAVariable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"serve", "dev"} {
		help := strings.Join(strings.Fields(execute(t, nil, name, "--help").stdout), " ")
		owner := map[string]string{}
		var limits []string
		for _, f := range serverFlags(t, name) {
			if len(f.Envs) != 1 {
				t.Errorf("%s: --%s has the variables %v", name, f.Name, f.Envs)
				continue
			}
			env := f.Envs[0]
			if before := owner[env]; before != "" {
				t.Errorf("%s: --%s and --%s share %s", name, before, f.Name, env)
			}
			owner[env] = f.Name
			own := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			switch {
			case slices.Contains(specSettings, env) && env == own:
			case env == "PUNCHCARD_"+own:
			default:
				t.Errorf("%s: --%s has the variable %s", name, f.Name, env)
			}
			if f.Help == "" || !strings.Contains(help, "--"+f.Name) || !strings.Contains(help, "($"+env+")") {
				t.Errorf("%s --help does not contain --%s and %s", name, f.Name, env)
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

// TestBadLimitsStopTheStart sets each limit to invalid values, by flag and by variable.
func TestBadLimitsStopTheStart(t *testing.T) {
	t.Parallel()
	type attempt struct {
		flag, env, value string
		byFlag           bool // or by its variable
	}
	attempts := make(chan attempt)
	var wg sync.WaitGroup
	dir := t.TempDir()
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for a := range attempts {
				env, args := []string(nil), []string{"serve", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "x.db")}
				if a.byFlag {
					args = append(args, "--"+a.flag+"="+a.value)
				} else {
					env = append(env, a.env+"="+a.value)
				}
				r, err := try(env, args...)
				if err != nil {
					t.Errorf("--%s=%s: %v", a.flag, a.value, err)
					continue
				}
				r.refused(t, "--"+a.flag, a.env)
			}
		}()
	}
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
		for i, v := range values {
			attempts <- attempt{f.Name, f.Envs[0], v, i%2 == 1}
		}
	}
	close(attempts)
	wg.Wait()
	if found, _ := os.ReadDir(dir); len(found) != 0 {
		t.Errorf("the refused starts left %v", found)
	}
}

// try is execute for goroutines other than the test's.
func try(env []string, args ...string) (r result, err error) {
	cmd := exec.Command(binary(), args...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(env), &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return r, err
	}
	late := time.AfterFunc(waitLimit, func() { cmd.Process.Kill() })
	defer late.Stop()
	cmd.Wait()
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, nil
}

func TestEdgesOfLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, edge := range []string{"min", "max"} {
		var args []string
		for _, f := range serverFlags(t, "serve") {
			if isLimit(f) {
				args = append(args, "--"+f.Name+"="+f.Tag.Get(edge))
			}
		}
		startServe(t, filepath.Join(t.TempDir(), "shop.db"), args...)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	f := newShop(t, "--api-key-rate-limit-per-minute", "3")
	api, other := f.api(f.makeKey("create", "--name", "CRM")), f.api(f.makeKey("create", "--name", "Other"))
	for i := range 3 {
		r := api.Get("/me").Want(200)
		if limit, left := r.Header.Get("RateLimit-Limit"), r.Header.Get("RateLimit-Remaining"); limit != "3" || left != fmt.Sprint(2-i) {
			t.Errorf("request %d: limit %s, remaining %s", i+1, limit, left)
		}
	}
	r := api.Get("/me").Want(429, "rate_limited")
	if n, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
		t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
	}
	other.Get("/me").Want(200)

}

func TestLimitsTakeEffect(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(prices, []byte(`{"plan":"free"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := startDevWith(t, []string{"PUBLIC_API_MAX_PAGE_SIZE=2", "PUNCHCARD_PRICING_FILE=" + prices}, "--idempotency-key-max-length", "8",
		"--public-url", "https://cards.example.com/shop/", "--install-link-ttl", "1h", "--clock", "2026-01-31T08:00:00Z",
		"--api-key-max-per-shop", "2",
		"--credential-rotation-grace-hours", "0")
	api := p.api(p.ready.APIKey)

	for range 3 {
		issueCard(api, p.ready.ProgramIDs["prepaid"], nil)
	}
	for _, asked := range []string{"", "?limit=100", "?limit=2"} {
		var page struct {
			Data       []card
			Limit      int
			NextCursor *string `json:"next_cursor"`
		}
		api.Get("/cards" + asked).Want(200).Decode(&page)
		if len(page.Data) != 2 || page.Limit != 2 || page.NextCursor == nil {
			t.Errorf("/cards%s: %d cards, limit %d", asked, len(page.Data), page.Limit)
		}
	}
	if n := len(listCards(api, 100)); n != 3 {
		t.Errorf("%d cards in all", n)
	}

	issue := "/programs/" + p.ready.ProgramIDs["prepaid"] + "/cards"
	wantDetail(api.Call("POST", issue, `{}`, "Idempotency-Key", "123456789"), "Idempotency-Key", "too_long")
	api.Call("POST", issue, `{}`, "Idempotency-Key", "12345678").Want(201)

	made := issueCard(api, p.ready.ProgramIDs["prepaid"], nil)
	if !strings.HasPrefix(made.InstallURL, "https://cards.example.com/shop/i/") || made.LinkEnds != "2026-01-31T09:00:00.000Z" {
		t.Errorf("the install link is %s and ends at %s", made.InstallURL, made.LinkEnds)
	}
	if got := string(p.outside().Get("/pricing").Want(200).Body); got != `{"plan":"free"}` {
		t.Errorf("/pricing is %s", got)
	}
	p.outside().Post("/dev/keys", `{"name":"Third"}`).Want(422, "unprocessable_entity")

	plain := startDev(t)
	plain.outside().Get("/pricing").Want(404, "not_found")
}

func TestPrizeLimits(t *testing.T) {
	t.Parallel()
	f := newShop(t, "--prize-max-thresholds", "2", "--prize-max-options", "1", "--prize-name-max-length", "5",
		"--prize-description-max-length", "6", "--localization-max-length", "4")
	api := f.api(f.makeKey("create", "--name", "CRM"))
	prizes := "/programs/" + newProgram(api, `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`) + "/prizes"
	wantDetail(api.Post(prizes, `{"threshold":1,"name":"Cookie"}`), "name", "too_long")
	wantDetail(api.Post(prizes, `{"threshold":1,"name":"Caffè","description":"Espresso"}`), "description", "too_long")
	wantDetail(api.Post(prizes, `{"threshold":1,"name":"Caffè","name_localizations":{"it":"Caffè"}}`),
		"name_localizations.it", "too_long")
	api.Post(prizes, `{"threshold":1,"name":"Caffè","description":"Small.","name_localizations":{"it":"Dono"}}`).Want(201)
	api.Post(prizes, `{"threshold":1,"name":"Two"}`).Want(422, "unprocessable_entity")
	api.Post(prizes, `{"threshold":2,"name":"Two"}`).Want(201)
	api.Post(prizes, `{"threshold":3,"name":"Three"}`).Want(422, "unprocessable_entity")
}

// TestOwnTimeZones checks that the binary contains the time zones.
func TestOwnTimeZones(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil || !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
		t.Errorf("the binary does not contain the time zones (%v)", err)
	}
}
