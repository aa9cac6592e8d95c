package command

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// startServer serves a file with the demo shop, for commands beside the server.
func startServer(t *testing.T) (*file, *servertest.Server) {
	t.Helper()
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	return f, servertest.Start(t, func(c *app.Config) { c.DB = f.db })
}

// typed runs a command with a line on standard input.
func (f *file) typed(text, line string) (string, error) {
	f.t.Helper()
	onStdin(f.t, text+"\n")
	return f.try(line)
}

// keptSecret checks that lists, the audit log and the file do not have secrets.
func (f *file) keptSecret(secrets ...string) {
	f.t.Helper()
	var shown strings.Builder
	for _, list := range []string{"key list", "device list", "staff list", "location list", "audit"} {
		shown.WriteString(f.run(list) + f.run(list+" --json"))
	}
	for _, name := range []string{f.db, f.db + "-wal"} {
		raw, err := os.ReadFile(name)
		noError(f.t, err)
		shown.Write(raw)
	}
	for _, secret := range secrets {
		if strings.Contains(shown.String(), secret) {
			f.t.Errorf("%s is kept or printed again", secret)
		}
	}
}

// TestShopUpdate checks that a server obeys a change of the shop at once.
func TestShopUpdate(t *testing.T) {
	f, s := startServer(t)
	f.prints("shop update --no-api-addon", "Caffè Centrale")
	s.Get("/me").Want(401, "business_api_required")
	f.prints("key list", "suspended")
	f.run("shop update --grant-expires-at 30d")
	s.Get("/me").Want(200)
	f.run("shop update --grant-expires-at none")
	s.Get("/me").Want(401, "business_api_required")
	f.run("shop update --api-addon --subscription-state cancelled")
	s.Get("/me").Want(402, "subscription_suspended")
	f.run("shop update --subscription-state active --max-cards 0 --max-locations 0 --included-locations 3 --name Lux " +
		"--timezone Asia/Tokyo")
	issue := func() *servertest.Reply { return s.Post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", nil) }
	issue().Want(422, "unprocessable_entity")
	f.refused("location create --name x --address x --city x --postal-code 1 --country-code IT", "maximum")
	f.run("shop update --max-cards none")
	issue().Want(201)
	f.refused("shop update --timezone Europe/Atlantis", "--timezone")
	f.refused("shop update --shop shp_none", "--shop: no such shop")
	f.refused("shop update --subscription-state suspended --reason 'two\nlines'", "reason")
	f.run("shop create --name Second --mode test")
	f.prints("shop list", "Lux", "Second")
}

// TestKeyCommands creates, rotates and revokes keys beside a server, which obeys at once.
func TestKeyCommands(t *testing.T) {
	f, s := startServer(t)
	create := func(line string) (k operation.CreatedKey) {
		t.Helper()
		f.json(&k, "key "+line)
		return k
	}
	plain := create("create --name CRM")
	if plain.Class != "api" || len(plain.Scopes) != 10 || len(plain.LocationIDs) != 0 || plain.ExpiresAt.Valid || plain.Name != "CRM" ||
		!strings.HasPrefix(plain.Secret, "tsk_test_") || plain.Prefix != plain.Secret[:12] {
		t.Errorf("a key without flags is %+v", plain)
	}
	s.With(plain.Secret).Get("/me").Want(200)
	connector := create("create --name Connector --class mcp --expires never")
	if !strings.HasPrefix(connector.Secret, "tmk_test_") || connector.Class != "mcp" {
		t.Errorf("an mcp key is %+v", connector)
	}
	s.With(connector.Secret).Get("/me").Want(401, "unauthenticated")
	old := create("create --name Reader --scope cards:read,programs:read --scope locations:read --location " + s.LocationIDs[1] +
		" --expires 2099-01-31T00:00:00+01:00 --shop " + s.ShopID)
	if !slices.Equal(old.Scopes, []string{"locations:read", "programs:read", "cards:read"}) ||
		!slices.Equal(old.LocationIDs, s.LocationIDs[1:]) || old.ExpiresAt.V.String() != "2099-01-30T23:00:00.000Z" {
		t.Errorf("a restricted key is %+v", old)
	}
	if r := s.With(old.Secret).Post("/programs", `{}`).Want(403, "unauthorized"); !strings.Contains(string(r.Body), "programs:write") {
		t.Errorf("the refusal does not name the scope: %s", r.Body)
	}
	if trial := create("create --name Trial --expires 90d"); !trial.ExpiresAt.Valid {
		t.Errorf("a key of 90 days is %+v", trial)
	}
	out := strings.TrimSpace(f.run("key create --name Shown"))
	secret := out[strings.LastIndex(out, "\n")+1:]
	if strings.Count(out, secret) != 1 || len(secret) != 52 {
		t.Errorf("the secret is not printed once: %q", out)
	}
	count := f.value("SELECT count(*) FROM keys")
	f.refused("key create --name ''", "--name")
	f.refused("key create --name x --scope cards:read,cards:own", "--scope", "value 2")
	f.refused("key create --name x --expires tomorrow", "--expires")
	f.refused("key create --name x --api-key-max-per-shop 0", "--api-key-max-per-shop", "API_KEY_MAX_PER_SHOP")
	f.refused("key create --name x --api-key-max-per-shop 4", "maximum")
	f.refused("key create --name x --class mcp --mcp-key-max-per-shop 1", "maximum")
	t.Setenv("API_KEY_MAX_PER_SHOP", "4")
	f.refused("key create --name x", "maximum")
	t.Setenv("API_KEY_MAX_PER_SHOP", "50")
	if after := f.value("SELECT count(*) FROM keys"); after != count {
		t.Errorf("refused commands made keys: %s, were %s", after, count)
	}

	works := func(yes bool, keys ...operation.CreatedKey) {
		t.Helper()
		for _, k := range keys {
			if yes {
				s.With(k.Secret).Get("/me").Want(200)
			} else {
				s.With(k.Secret).Get("/me").Want(401, "unauthenticated")
			}
		}
	}
	next := create("rotate " + old.ID)
	if next.ID == old.ID || next.Secret == old.Secret || !slices.Equal(next.Scopes, old.Scopes) || next.ExpiresAt != old.ExpiresAt {
		t.Errorf("%+v has the successor %+v", old, next)
	}
	works(true, old, next)
	f.prints("key list", "until ")
	f.refused("key rotate "+old.ID, "rotated")
	f.refused("key rotate key_none", "No such key")
	last := create("rotate " + next.ID + " --credential-rotation-grace-hours 0")
	works(false, next)
	works(true, old, last)
	f.run("key revoke " + last.ID)
	works(false, last)
	works(true, plain)
	f.run("key revoke " + last.ID) // repeating is no error
	f.refused("key rotate "+last.ID, "revoked")
	f.run("key revoke-all --yes")
	works(false, old, plain)
	f.keptSecret(plain.Secret, connector.Secret, old.Secret, last.Secret, secret)
}

// TestDeviceCommands creates and revokes tills' devices beside a server.
func TestDeviceCommands(t *testing.T) {
	f, s := startServer(t)
	here, there := s.LocationIDs[0], s.LocationIDs[1]
	var made, revoked, again operation.CreatedDevice
	f.json(&made, "device create --name 'Left till' --accept-card-ids --location "+here)
	if !strings.HasPrefix(made.Token, "tdk_test_") || len(made.Token) != 52 || !strings.HasPrefix(made.Token, made.Prefix) ||
		len(made.Prefix) > 16 || made.LocationID != here || made.Name != "Left till" || made.RevokedAt.Valid {
		t.Errorf("created %+v", made)
	}
	out := strings.TrimSpace(f.run("device create --location " + there))
	second := out[strings.LastIndex(out, "\n")+1:]
	if !strings.HasPrefix(second, "tdk_test_") || len(second) != 52 || strings.Count(out, second) != 1 {
		t.Errorf("create printed %q", out)
	}
	f.prints("device list", made.ID, "Left till", "true", "false", "valid")
	for token, location := range map[string]string{made.Token: here, second: there} {
		r := s.Till(token).Get("/me").Want(200)
		if r.Str("location.id") != location || r.Str("shop.id") != s.ShopID {
			t.Errorf("me is %s", r.Body)
		}
	}
	f.json(&revoked, "device revoke "+made.ID)
	s.Till(made.Token).Get("/me").Want(401, "unauthenticated")
	s.Till(second).Get("/me").Want(200)
	f.json(&again, "device revoke "+made.ID)
	if !revoked.RevokedAt.Valid || revoked.Token != "" || again.RevokedAt != revoked.RevokedAt {
		t.Errorf("revoked %+v, then %+v", revoked, again)
	}
	f.prints("device list", "revoked")
	f.refused("device create", "--location")
	f.refused("device create --location loc_none", "location")
	f.refused("device create --name '' --location "+here, "--name")
	f.refused("device revoke dev_none", "device")

	var p store.CreatedPairing
	f.json(&p, "device pair --name Phone --location "+here)
	if p.URL != "/till/pair/"+p.Token || len(p.Token) != 43 || len(p.Code) != 8 || p.Name != "Phone" {
		t.Errorf("printed %+v", p)
	}
	if out := f.run("device pair --location " + here); strings.Contains(out, "█") || !strings.Contains(out, "\n/till/pair/") {
		t.Errorf("without a public URL it printed\n%s", out)
	}
	f.prints("device pair --public-url https://cards.example.com/ --location "+here, "█", "https://cards.example.com/till/pair/")
	if out := f.run("device list"); strings.Contains(out, "Phone") {
		t.Errorf("the pairing is a device already:\n%s", out)
	}
	f.refused("device pair --location loc_none", "No such location")
	f.keptSecret(made.Token, second, p.Token)

	// Devices of another shop are not found, and tokens of a live shop have another prefix.
	f.run("shop create --name Other")
	f.run("location create --shop Other --name Home --address x --city x --postal-code 1 --country-code IT")
	f.refused("device revoke "+made.ID+" --shop Other", "device")
	f.prints("device create --location Home --shop Other", "tdk_live_")
}

// TestPINCommands sets the PIN of a location, and those of a member of staff, beside a server.
func TestPINCommands(t *testing.T) {
	f, s := startServer(t)
	here := s.LocationIDs[0]
	var device operation.CreatedDevice
	f.json(&device, "device create --accept-card-ids --location "+here)
	till := s.Till(device.Token)
	card := s.Post("/programs/"+s.ProgramIDs["discount"]+"/cards", nil).NewID()
	use := func(pin string) *servertest.Reply {
		return till.Call("POST", "/cards/"+card+"/uses", nil, "X-Staff-Pin", pin)
	}
	s.Patch("/locations/"+here, `{"require_staff_pin":true}`).Want(200)
	if r := use("4711").Want(401, "invalid_credentials"); !strings.Contains(string(r.Body), "set-pin") {
		t.Errorf("without a PIN the till gets %s", r.Body)
	}
	for text, says := range map[string]string{
		"": "is empty", "\r\n4711": "is empty", strings.Repeat("4", 1<<12): "4 to 8 digits", " 4711": "4 to 8 digits",
		"4711 ": "4 to 8 digits", "123": "4 to 8 digits", "12a4": "4 to 8 digits", "12 4": "4 to 8 digits", "１２３４": "4 to 8 digits",
	} {
		if out, err := f.typed(text, "location set-pin "+here); err == nil || out != "" || !strings.Contains(err.Error(), "PIN") ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v, want %s", text, err, says)
		}
	}
	if _, err := f.typed("1234", "location set-pin loc_none"); err == nil || !strings.Contains(err.Error(), "location") {
		t.Errorf("of no location: %v", err)
	}
	f.refused("location set-pin", "id")
	for _, text := range []string{"47114711\r", "47114711\nignored"} {
		if out, err := f.typed(text, "location set-pin "+here+" --json"); err != nil || strings.Contains(out, "4711") ||
			!strings.Contains(out, `"require_staff_pin":true`) {
			t.Errorf("%q: %s, %v", text, out, err)
		}
	}
	use("47114712").Want(401, "invalid_credentials")
	use("47114711").Want(201)
	till.Get("/cards/" + card).Want(200) // reads need no PIN
	// After the PIN is removed, the requirement stays until require_staff_pin is false.
	f.run("location set-pin " + here + " --none")
	use("47114711").Want(401, "invalid_credentials")
	s.Patch("/locations/"+here, `{"require_staff_pin":false}`).Want(200)
	use("4711").Want(201)

	signIn := func(id, pin string) *servertest.Reply {
		return till.Post("/session", map[string]any{"staff_id": id, "pin": pin})
	}
	const first, second = "90210", "314159"
	add := "staff add --name Ada --location " + here
	for text, says := range map[string]string{"12": "4 to 8 digits", "": "empty"} {
		if _, err := f.typed(text, add); err == nil || !strings.Contains(err.Error(), "PIN") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := f.typed(first, "staff add --name Ada --location loc_none"); err == nil || !strings.Contains(err.Error(), "--location") {
		t.Errorf("staff of no location: %v", err)
	}
	out, err := f.typed(first, add)
	if err != nil || strings.Contains(out, first) {
		t.Fatalf("%s, %v", out, err)
	}
	ada := f.run("staff list --json")
	ada = ada[strings.Index(ada, "stf_"):]
	ada = ada[:strings.IndexByte(ada, '"')]
	f.prints("staff list", "Ada", "enabled", here+" (", "LOCATIONS")
	elsewhere := s.LocationIDs[1]
	f.prints("staff update Ada --location "+elsewhere, elsewhere+" (")
	signIn(ada, first).Want(404)
	f.prints("staff update Ada --location "+elsewhere+" --location "+here, here+" (", elsewhere+" (")
	f.prints("staff update Ada --name Grace --location none", "Grace", "all")
	f.refused("staff update Grace --location loc_none", "--location")
	signIn(ada, first).Want(201)
	require.Must(f.typed(second, "staff set-pin "+ada))
	signIn(ada, first).Want(401, "invalid_credentials")
	f.prints("staff disable "+ada, "disabled")
	signIn(ada, second).Want(404)
	f.run("staff enable " + ada)
	signIn(ada, second).Want(201)
	f.refused("staff disable stf_none", "No such member of staff")
	f.keptSecret("47114711", first, second)
}

// TestAttackPINArgument checks that no command takes a PIN as an argument, which other users of
// the machine can read, and that nothing repeats one.
func TestAttackPINArgument(t *testing.T) {
	f := newFile(t)
	for _, line := range []string{
		"location set-pin loc_x 47114711",
		"location create --name x --address x --city x --postal-code 1 --country-code IT --staff-pin 47114711",
		"staff add --location loc_x --name Bob 47114711",
	} {
		f.refused(line, "standard input", "without it")
		if _, err := f.try(line); strings.Contains(err.Error(), "4711") {
			t.Errorf("the PIN is repeated: %v", err)
		}
	}
	if n := f.value("SELECT count(*) FROM locations"); n != "0" {
		t.Errorf("%s locations", n)
	}
}

// TestUserCommands checks the one-time links that commands on accounts print, and what they change.
func TestUserCommands(t *testing.T) {
	f, s := startServer(t)
	f.prints("user list", "owner@demo.test", "manager@demo.test", "viewer@demo.test")
	f.prints("user invite ada@example.com", "\n/invite/")
	f.prints("user invite ada@example.com --role operator --public-url https://cards.example.com/", "https://cards.example.com/invite/")
	f.prints("user reset Manager@demo.test --remove-totp", "\n/reset/")
	f.prints("user invite bob@example.com --role viewer", "\n/invite/")
	var users operation.Users
	f.json(&users, "user list")
	if len(users.Data) != 3 || len(users.Invitations) != 3 {
		t.Errorf("%+v", users)
	}
	f.prints("user list", "ada@example.com  operator", "bob@example.com  viewer")
	f.prints("user disable viewer@demo.test", "disabled")
	f.prints("user enable viewer@demo.test", "enabled")
	s.Control("POST", "/sign-in", map[string]any{"as": "manager"})
	f.prints("user sign-out manager@demo.test", "1 session ended\n")
	for line, says := range map[string]string{
		"user disable owner@demo.test": "operator", "user disable nobody@demo.test": "no person is named", "user reset usr_x": "No such",
		"user invite x": "--email", "user invite a@example.com --role king": "--role",
	} {
		f.refused(line, says)
	}
	s.Control("POST", "/sign-in", map[string]any{"as": "owner"})

	// A restore ends sessions and links, and lists what is to be reviewed.
	dir := t.TempDir()
	backup := filepath.Join(dir, "backup.db")
	f.run("backup " + backup)
	s.Stop()
	f.db = filepath.Join(dir, "restored.db")
	f.prints("restore "+backup, "All sessions (1) and one-time links (4) have ended.", "Demo key", "Demo till", "manager@demo.test",
		"owner, operator")
	if n := f.value("SELECT (SELECT count(*) FROM sessions)+(SELECT count(*) FROM links)"); n != "0" {
		t.Errorf("%s sessions and links are left", n)
	}
	f.db = filepath.Join(dir, "again.db")
	var restored restoreResult
	f.json(&restored, "restore "+backup)
	if r := restored.Review; len(r.Keys) != 3 || len(r.Devices) != 1 || len(r.People) != 3 {
		t.Errorf("to be reviewed: %+v", r)
	}
}

// TestAudit checks that the audit log has what commands and keys do, each with its actor and target.
func TestAudit(t *testing.T) {
	f, s := startServer(t)
	issue := func(fields string) string {
		return s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", fields).NewID()
	}
	first, second := issue(`{"holder_name": "Ada"}`), issue(`{}`)
	for _, line := range []string{
		"card lock " + first, "card unlock " + first, "card archive " + first, "card reissue " + second + " --public-url https://x.example",
		"card delete " + second + " --yes",
		"program update " + s.ProgramIDs["standard"] + " --min-spend-cents 250", "key create --name CRM",
	} {
		f.run(line)
	}
	f.refused("card lock "+first, "archived")
	third := issue(`{}`)
	f.run("program delete " + s.ProgramIDs["standard"] + " --yes")
	s.Get("/programs/"+s.ProgramIDs["standard"]).Want(404, "not_found")
	if got := s.Get("/cards/" + third).Want(200).Str("status"); got != "archived" {
		t.Errorf("the card of a deleted program is %s", got)
	}
	s.Get("/cards/"+second).Want(404, "not_found")
	var log struct {
		Data []struct {
			Actor    struct{ Type, Name string }
			Action   string
			TargetID string `json:"target_id"`
		}
	}
	f.json(&log, "audit --limit 0")
	me, err := user.Current()
	noError(t, err)
	done := map[string]bool{}
	for _, row := range log.Data {
		done[fmt.Sprint(row.Actor.Type, " ", row.Action, " ", row.TargetID)] = row.Actor.Type != "user" || row.Actor.Name == me.Username
	}
	for _, want := range []string{
		"user card.lock " + first, "user card.unlock " + first, "user card.archive " + first, "user card.reissue " + second,
		"user card.delete " + second, "user program.delete " + s.ProgramIDs["standard"], "api_key card.issue " + third,
	} {
		if !done[want] {
			t.Errorf("the audit log lacks %s", want)
		}
	}
	f.prints("audit", "user "+me.Username)
	if f.json(&log, "audit --limit 2"); len(log.Data) != 2 {
		t.Errorf("--limit 2 printed %d rows", len(log.Data))
	}
	f.refused("audit --limit -1", "--limit")
	f.prints("check", "ok")
}

// TestProgramUpdate checks which flags program update takes, alone and together.
func TestProgramUpdate(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type standard --total-stamps 10 --icon-key coffee")
	const update = "program update Coffee"
	for _, flags := range []string{
		" --min-spend-cents 250", " --min-spend-cents none", " --max-stamps-per-day 3 --min-spend-cents none", " --max-stamps-per-day none",
		" --welcome-stamps 9", " --welcome-stamps none",
	} {
		f.prints(update+flags, "prg_")
	}
	for _, flags := range []string{
		" --enroll --enroll-slug tea --enroll-max-cards 10 --enroll-name required --enroll-email off --enroll-phone optional" +
			" --enroll-consent 'I agree.' --enroll-privacy-url https://example.com/",
		" --no-enroll --enroll-consent none --enroll-privacy-url none",
	} {
		f.prints(update+flags, "/join/tea")
	}
	for flags, says := range map[string]string{
		" --min-spend-cents 0": "--min-spend-cents", " --max-stamps-per-day 0": "--max-stamps-per-day",
		" --max-stamps-per-day many": "--max-stamps-per-day", " --welcome-stamps 10": "welcome_stamps",
		"": "--enroll", " --enroll-slug Tea": "--enroll-slug", " --enroll-phone maybe": "--enroll-phone",
		" --enroll-slug mint --min-spend-cents 1": "command of its own",
	} {
		f.refused(update+flags, says)
	}
	f.run("program create --name Bare --type standard --total-stamps 10 --icon-key coffee")
	f.refused("program update Bare --enroll", "--enroll-slug", "--enroll-max-cards")
	f.refused("program update prg_none --min-spend-cents 1", "No such program")
}

// TestAttackTerminal checks that escape sequences, line breaks and characters that change the
// direction of text in a name are shown as escapes, in tables and in JSON, which decodes to the name.
func TestAttackTerminal(t *testing.T) {
	f, s := startServer(t)
	s.Stop()
	// The file is changed directly, since the rules of fields may refuse some of these names.
	const evil = "Adà\x1b]0;owned\x07\x1b[2J\r\u009b31m\t\u202etxt.exe\u2066\nroot\x7f\u2028."
	const shown = `Adà\x1b]0;owned\a\x1b[2J\r\u009b31m\t\u202etxt.exe\u2066\nroot\x7f\u2028.`
	for _, column := range strings.Fields(`
		shops.name shops.timezone locations.name locations.city devices.name devices.prefix keys.name keys.prefix programs.name
		audit.actor_name
	`) {
		table, name, _ := strings.Cut(column, ".")
		sqlExec(t, f.db, fmt.Sprintf("UPDATE %s SET %s='%s'", table, name, evil))
	}
	for _, line := range []string{
		"shop list", "location list", "device list", "key list", "audit",
		"program update " + s.ProgramIDs["standard"] + " --min-spend-cents none",
	} {
		f.prints(line, shown)
		f.prints(line+" --json", `Adà\u001b]0;owned`, `\u009b31m`, `\u202e`)
		if out := f.run(line) + f.run(line+" --json"); strings.ContainsFunc(strings.ReplaceAll(out, "\n", ""), escaped) {
			t.Errorf("%s printed %q", line, out)
		}
	}
	var back struct{ Data []store.Location }
	if f.json(&back, "location list"); back.Data[0].Name != evil {
		t.Errorf("the JSON decodes to %q", back.Data[0].Name)
	}
}

// TestCardAdjust adjusts cards by flags with signs.
func TestCardAdjust(t *testing.T) {
	f := newFile(t)
	f.run("program create --name Coffee --type standard --total-stamps 10 --icon-key coffee")
	f.run("program create --name Gift --type prepaid --initial-balance-cents 500")
	f.run("location create --name Centro --address Via --city Roma --postal-code 1 --country-code IT")
	for _, program := range []string{"Coffee", "Gift"} {
		f.run("program publish " + program)
		f.run("card issue " + program + " --holder-name Ada" + program)
	}
	const more = " --location Centro --reason 'A mistake'"
	f.prints("card adjust AdaCoffee --stamps 4"+more, "AdaCoffee")
	f.prints("card adjust AdaCoffee --stamps -3"+more, "AdaCoffee")
	f.prints("card adjust AdaGift --amount=-500"+more, "AdaGift")
	f.prints("transaction list", "adjustment", "+4", "-3", "-500 cents")
	f.refused("card adjust AdaCoffee --stamps -3"+more, "The card has 1 stamps")
	f.refused("card adjust AdaCoffee --stamps 3 --location Centro", "--reason")
	f.refused("card adjust AdaCoffee"+more, "--stamps is required")
	f.prints("check", "ok")
}
