package e2e

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// device is a till as printed by commands.
type device struct {
	ID         string  `json:"id"`
	LocationID string  `json:"location_id"`
	Name       string  `json:"name"`
	Prefix     string  `json:"prefix"`
	CreatedAt  string  `json:"created_at"`
	RevokedAt  *string `json:"revoked_at"`
	Token      string  `json:"token"`
	CardIDs    bool    `json:"accepts_card_ids"`
}

func (f *shopFile) makeDevice(args ...string) (d device) {
	f.t.Helper()
	f.json(&d, append([]string{"device", "create"}, args...)...)
	f.secrets = append(f.secrets, d.Token)
	return d
}

func (f *shopFile) devices() (all []device) {
	f.t.Helper()
	var list struct{ Data []device }
	f.json(&list, "device", "list")
	f.list("device", "list")
	return list.Data
}

func TestDevices(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	if out := f.run("device", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("the list of a shop without devices is %q", out)
	}
	here, there := f.location("Centrale"), f.location("Stazione")
	made := f.makeDevice("--location", here, "--name", "Left till", "--accept-card-ids")
	if !strings.HasPrefix(made.Token, "tdk_live_") || len(made.Token) != 52 || !strings.HasPrefix(made.Token, made.Prefix) ||
		len(made.Prefix) > 16 ||
		made.LocationID != here || made.Name != "Left till" || made.RevokedAt != nil || made.CreatedAt == "" {
		t.Errorf("created %+v", made)
	}
	// The text output has the token once, on a line of its own.
	text := f.run("device", "create", "--location", there, "--accept-card-ids")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	second := lines[len(lines)-1]
	f.secrets = append(f.secrets, second)
	if !strings.HasPrefix(second, "tdk_live_") || len(second) != 52 || strings.Count(text, second) != 1 {
		t.Errorf("create printed %q", text)
	}

	all := f.devices()
	if len(all) != 2 || all[1] != withoutToken(made) || all[0].Name != "Till" || all[0].LocationID != there || all[0].Token != "" {
		t.Errorf("the list is %+v", all)
	}
	if out := f.list("device", "list"); !strings.Contains(out, made.ID) || !strings.Contains(out, "Left till") ||
		strings.Count(out, "valid") != 2 {
		t.Errorf("the list is\n%s", out)
	}

	// Both tills work at once, each at its own location.
	for token, location := range map[string]string{made.Token: here, second: there} {
		var me struct {
			Device, Location, Shop struct{ ID string }
		}
		r := f.server.till(token).Get("/me").Want(200)
		r.Decode(&me)
		if me.Location.ID != location || me.Shop.ID != f.shop || me.Device.ID == "" || r.Header.Get("RateLimit-Limit") != "600" {
			t.Errorf("me is %+v, with %v", me, r.Header)
		}
	}
	till := f.server.till(made.Token)
	var revoked device
	f.json(&revoked, "device", "revoke", made.ID)
	till.Get("/me").Want(401, "unauthenticated")
	f.server.till(second).Get("/me").Want(200)
	if revoked.RevokedAt == nil || revoked.ID != made.ID || revoked.Token != "" {
		t.Errorf("revoked %+v", revoked)
	}
	var again device
	f.json(&again, "device", "revoke", made.ID)
	if again.RevokedAt == nil || *again.RevokedAt != *revoked.RevokedAt {
		t.Errorf("revoked again: %+v", again)
	}
	if out := f.list("device", "list"); strings.Count(out, "revoked") != 1 || strings.Count(out, "valid") != 1 {
		t.Errorf("the list is\n%s", out)
	}
	if out := f.run("audit"); strings.Count(out, "device.create") != 2 || strings.Count(out, "device.revoke") != 1 ||
		!strings.Contains(out, made.ID) {
		t.Errorf("the audit log is\n%s", out)
	}
	f.checkDeviceRefusals(here, made)
	f.printed.WriteString(f.run("audit", "--shop", f.shop, "--json"))
	f.checkSecrets()
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}
}

// checkDeviceRefusals checks the refusals of the commands on devices, also of a location and a device of
// another shop.
func (f *shopFile) checkDeviceRefusals(here string, made device) {
	f.t.Helper()
	f.refused("device", "create")("--location")
	f.refused("device", "create", "--location", "loc_none")("location")
	f.refused("device", "create", "--location", here, "--name", "")("--name")
	f.refused("device", "revoke", "dev_none")("device")

	// Devices of another shop are not found, and tokens of a test shop have another prefix.
	var other, prova struct{ ID string }
	f.json(&other, "shop", "create", "--name", "Next door", "--mode", "test")
	f.refused("device", "revoke", made.ID, "--shop", other.ID)("device")
	f.json(&prova, "location", "create", "--shop", other.ID, "--name", "Prova", "--address", "Via Po 2", "--city", "Torino",
		"--postal-code", "10123", "--country-code", "IT")
	if test := f.makeDevice("--location", prova.ID, "--shop", other.ID); !strings.HasPrefix(test.Token, "tdk_test_") {
		f.t.Errorf("created %s", test.Token)
	}
	f.refused("device", "list")("--shop")
}

func withoutToken(d device) device {
	d.Token = ""
	return d
}

// TestSetPIN sets a location's PIN by command and checks that the till requires it.
func TestSetPIN(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	here, there := f.location("Centrale"), f.location("Stazione")
	program := newProgram(api, `{"type":"discount","name":"Friends","discount_percent":10}`)
	till := f.server.till(f.makeDevice("--location", here, "--accept-card-ids").Token)
	elsewhere := f.server.till(f.makeDevice("--location", there, "--accept-card-ids").Token)
	var made card
	elsewhere.Post("/programs/"+program+"/cards", nil).Want(201).Decode(&made)
	use := func(pin string) *servertest.Reply {
		t.Helper()
		if pin == "" {
			return till.Post("/cards/"+made.ID+"/uses", nil)
		}
		return till.Call("POST", "/cards/"+made.ID+"/uses", nil, "X-Staff-Pin", pin)
	}

	use("").Want(201)
	api.Call("PATCH", "/locations/"+here, `{"require_staff_pin":true}`).Want(200)
	if r := use("4711").Want(401, "invalid_credentials"); !strings.Contains(r.Str("error.message"), "set-pin") {
		t.Errorf("without a PIN the till gets %s", r.Body)
	}
	for _, wrong := range []string{"123", "123456789", "12a4", "12 4", "１２３４"} {
		f.refusesPIN(wrong, here)("PIN")
	}
	f.refusesPIN("1234", "loc_none")("location")
	f.refused("location", "set-pin")("id")

	f.secrets = append(f.secrets, "47114711")
	if out := f.setPIN(here, "47114711"); !strings.Contains(out, `"require_staff_pin":true`) {
		t.Errorf("set-pin does not demand the PIN: %s", out)
	}
	use("").Want(401, "invalid_credentials")
	use("47114712").Want(401, "invalid_credentials")
	use("47114711").Want(201)
	till.Get("/cards/" + made.ID).Want(200) // reads need no PIN
	elsewhere.Post("/cards/"+made.ID+"/uses", nil).Want(201)

	// After the PIN is removed, the requirement stays until require_staff_pin is false.
	f.list("location", "set-pin", here, "--none")
	use("47114711").Want(401, "invalid_credentials")
	api.Call("PATCH", "/locations/"+here, `{"require_staff_pin":false}`).Want(200)
	use("").Want(201)
	f.list("audit")
	f.checkSecrets()
}
