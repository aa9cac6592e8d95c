package e2e

import (
	"slices"
	"strings"
	"testing"
)

func TestKeyCreateFlags(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	home, away := f.location("Home"), f.location("Away")

	plain := f.makeKey("create", "--name", "CRM")
	if plain.Class != "api" || len(plain.Scopes) != 10 || len(plain.LocationIDs) != 0 || plain.ExpiresAt != nil || plain.Name != "CRM" {
		t.Errorf("a key without flags is %+v", plain)
	}
	if !strings.HasPrefix(plain.Secret, "tsk_live_") || plain.Prefix != plain.Secret[:12] {
		t.Errorf("prefix %q of %q", plain.Prefix, plain.Secret)
	}
	if limit := f.api(plain).Get("/me").Want(200).Header.Get("RateLimit-Limit"); limit != "300" {
		t.Errorf("by default the limit is %s", limit)
	}

	connector := f.makeKey("create", "--name", "Connector", "--class", "mcp", "--expires", "never")
	if !strings.HasPrefix(connector.Secret, "tmk_live_") || connector.Class != "mcp" {
		t.Errorf("an mcp key is %+v", connector)
	}
	f.api(connector).Get("/me").Want(401, "unauthenticated")

	reader := f.makeKey("create", "--name", "Reader", "--scope", "cards:read,programs:read", "--scope", "locations:read", "--location",
		away,
		"--expires", "2099-01-31T00:00:00+01:00", "--shop", f.shop)
	if !slices.Equal(reader.Scopes, []string{"locations:read", "programs:read", "cards:read"}) ||
		!slices.Equal(reader.LocationIDs, []string{away}) || *reader.ExpiresAt != "2099-01-30T23:00:00.000Z" {
		t.Errorf("a restricted key is %+v", reader)
	}
	var list struct{ Data []struct{ ID string } }
	f.api(reader).Get("/locations").Want(200).Decode(&list)
	if len(list.Data) != 1 || list.Data[0].ID != away {
		t.Errorf("it sees the locations %v; home is %s", list.Data, home)
	}
	if m := f.api(reader).Post("/programs", `{}`).Want(403, "unauthorized").Str("error.message"); !strings.Contains(m, "programs:write") {
		t.Errorf("the refusal does not name the scope: %s", m)
	}
	if days := f.makeKey("create", "--name", "Trial", "--expires", "90d"); days.ExpiresAt == nil {
		t.Errorf("a key of 90 days is %+v", days)
	}

	out := f.run("key", "create", "--name", "Shown")
	secret := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n"):])
	if strings.Count(out, secret) != 1 || len(secret) != 52 {
		t.Errorf("the secret is not printed once: %q", out)
	}
	f.secrets = append(f.secrets, secret)

	f.refused("key", "create", "--name", "")("--name")
	f.refused("key", "create", "--name", "x", "--scope", "cards:read,cards:own")("--scope", "value 2")
	f.refused("key", "create", "--name", "x", "--expires", "tomorrow")("--expires")
	f.refused("key", "create", "--name", "x", "--api-key-max-per-shop", "0")("--api-key-max-per-shop", "API_KEY_MAX_PER_SHOP")
	f.refused("key", "create", "--name", "x", "--api-key-max-per-shop", "4")("maximum")
	f.refused("key", "create", "--name", "x", "--class", "mcp", "--mcp-key-max-per-shop", "1")("maximum")
	if r := execute(t, []string{"API_KEY_MAX_PER_SHOP=4"}, "key", "create", "--name", "x", "--db", f.db); r.code != 1 ||
		!strings.Contains(r.stderr, "maximum") {
		t.Errorf("the environment variable is ignored: %+v", r)
	}
	if n := len(f.keys()); n != 5 {
		t.Errorf("%d keys after the refusals, want 5", n)
	}
	f.list("key", "list")
	f.checkSecrets()
}

func TestKeyRotateAndRevoke(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	old := f.makeKey("create", "--name", "CRM", "--scope", "cards:read", "--expires", "2099-01-01T00:00:00Z")
	other := f.makeKey("create", "--name", "Other")
	for _, k := range []key{old, other} {
		f.api(k).Get("/me").Want(200)
	}

	next := f.makeKey("rotate", old.ID)
	if next.ID == old.ID || next.Secret == old.Secret || !slices.Equal(next.Scopes, old.Scopes) || *next.ExpiresAt != *old.ExpiresAt {
		t.Errorf("%+v has the successor %+v", old, next)
	}
	f.api(old).Get("/me").Want(200)
	f.api(next).Get("/me").Want(200)
	if all := f.keys(); all[old.ID].RetiresAt == nil || all[next.ID].RetiresAt != nil {
		t.Errorf("after the rotation: %+v", all)
	}
	if text := f.list("key", "list"); !strings.Contains(text, "until ") {
		t.Errorf("the list does not show the overlap:\n%s", text)
	}
	f.refused("key", "rotate", old.ID)("rotated")
	f.refused("key", "rotate", "key_none")("No such key")

	last := f.makeKey("rotate", next.ID, "--credential-rotation-grace-hours", "0")
	f.api(next).Get("/me").Want(401, "unauthenticated")
	f.api(old).Get("/me").Want(200)
	f.api(last).Get("/me").Want(200)

	f.list("key", "revoke", last.ID)
	f.api(last).Get("/me").Want(401, "unauthenticated")
	f.api(other).Get("/me").Want(200)
	f.list("key", "revoke", last.ID) // repeating is no error
	f.refused("key", "rotate", last.ID)("revoked")

	var n struct{ Revoked int }
	f.json(&n, "key", "revoke-all", "--yes")
	if n.Revoked != 3 {
		t.Errorf("revoke-all ended %d keys, want the 3 that were not revoked", n.Revoked)
	}
	for _, k := range []key{old, next, last, other} {
		f.api(k).Get("/me").Want(401, "unauthenticated")
	}
	for id, k := range f.keys() {
		if k.RevokedAt == nil {
			t.Errorf("%s is not revoked", id)
		}
	}
	f.checkSecrets()
}
