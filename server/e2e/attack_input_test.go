package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestAttackNames checks that no face stores a name that hides itself, adds a line,
// turns the direction of writing or moves a terminal's cursor.
func TestAttackNames(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.api(f.makeKey("create", "--name", "Office"))
	here := f.location("Centrale")
	program := newProgram(api, `{"type":"discount","name":"Friends","discount_percent":10}`)
	till := f.server.till(f.makeDevice("--location", here).Token)
	for _, name := range []string{"\u200b", "\u3000 ", "Ada\nBcc: all@example.com", "Ada\r\n", "\x1b[2J\x1b[H", "\u009b2J", "\u202eadA", "Ada\u2066", "a\u2028b"} {
		for _, c := range []struct {
			refusal *servertest.Reply
			field   string
		}{
			{api.Post("/programs/"+program+"/cards", map[string]any{"holder_name": name}).Want(400, "validation_failed"), "holder_name"},
			{api.Post("/programs/"+program+"/cards", map[string]any{"external_ref": name}).Want(400, "validation_failed"), "external_ref"},
			{api.Patch("/locations/"+here, map[string]any{"name": name}).Want(400, "validation_failed"), "name"},
			{api.Patch("/programs/"+program, map[string]any{"name": name}).Want(400, "validation_failed"), "name"},
			{till.Post("/programs/"+program+"/cards", map[string]any{"holder_name": name}).Want(400, "validation_failed"), "holder_name"},
		} {
			if d := c.refusal.Details(); len(d) != 1 || !strings.HasPrefix(d[0], c.field+" ") {
				t.Errorf("%q: %q, want %s", name, d, c.field)
			}
		}
		f.refused("key", "create", "--name", name)("--name")
		f.refused("device", "create", "--location", here, "--name", name)("--name")
		f.refused("shop", "create", "--name", name)("--name")
		f.refused("location", "create", "--name", name, "--address", "Via 1", "--city", "Roma", "--postal-code", "00100", "--country-code", "IT")("--name")
	}
	if cards := listCards(api, 10); len(cards) > 0 {
		t.Errorf("%d cards were issued", len(cards))
	}
}

// TestAttackCharset checks that a body is refused if its Content-Type names another charset
// than UTF-8, since a filter in front of the server may have read it in that charset.
func TestAttackCharset(t *testing.T) {
	t.Parallel()
	p, api, issue := startForRawClients(t)
	for _, kind := range []string{"application/json; charset=utf-7", "application/json; charset=UTF-16LE", "application/json;charset=iso-8859-1", "application/json; charset=", "application/json; charset=utf-8; charset=utf-7"} {
		p.dial(t).send(request("POST", issue, api.Key, "Content-Type: "+kind+"\r\n", `{"holder_name":"+ADw-script+AD4-"}`)).receive("POST").Want(415, "bad_request")
	}
	p.dial(t).send(request("POST", issue, api.Key, "Content-Type: text/plain\r\n", " \r\n\t")).receive("POST").Want(201)
	p.dial(t).send(request("POST", issue, api.Key, "Content-Type: application/json; charset=UTF-8\r\n", `{"holder_name":"Zoë"}`)).receive("POST").Want(201)
	if n := len(listCards(api, 10)); n != 2 {
		t.Errorf("%d cards, want 2", n)
	}
}

// TestHead checks that the answer to HEAD is that to GET without the body, and that the
// connection stays open.
func TestHead(t *testing.T) {
	t.Parallel()
	p, api, _ := startForRawClients(t)
	c := p.outside()
	link := api.Post("/programs/"+p.ready.ProgramIDs["standard"]+"/cards", nil).Want(201).Str("install_url")
	for _, url := range []string{p.origin + "/healthz", p.origin + "/readyz", p.origin + "/docs", p.origin + "/openapi.json", link, link + "x"} {
		get, head := c.Fetch("GET", url, nil, nil), c.Fetch("HEAD", url, nil, nil)
		if head.Status != get.Status || len(head.Body) > 0 || head.Header.Get("Content-Length") != strconv.Itoa(len(get.Body)) ||
			!slices.Equal(head.Header.Values("Content-Type"), get.Header.Values("Content-Type")) {
			t.Errorf("HEAD %s: %d %v", url, head.Status, head.Header)
		}
	}
	conn := p.dial(t)
	for range 3 {
		r := conn.send(requestHead("HEAD", "/cards", api.Key) + "\r\n").receive("HEAD")
		if r.Status != http.StatusOK || len(r.Body) > 0 {
			t.Errorf("HEAD /cards: %d %q", r.Status, r.Body)
		}
	}
	conn.send(requestHead("GET", "/me", api.Key) + "\r\n").receive("GET").Want(200)
}

// TestSetPinDemandsIt checks that set-pin makes tills of the location demand the PIN, that a
// new location demands one only with the flag, and which lengths a PIN may have.
func TestSetPinDemandsIt(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	here := f.location("Centrale")
	if out := f.setPIN(here, "4711"); !strings.Contains(out, `"require_staff_pin":true`) {
		t.Error("set-pin does not demand the PIN")
	}
	for i, args := range [][]string{{"--require-staff-pin"}, nil} {
		var l store.Location
		f.json(&l, append([]string{"location", "create", "--name", "N", "--address", "Via 1", "--city", "Roma", "--postal-code", "00100", "--country-code", "IT"}, args...)...)
		if l.RequireStaffPIN != (i < 1) {
			t.Errorf("create %q: require_staff_pin %v", args, l.RequireStaffPIN)
		}
	}
	f.refusesPIN("123", here)("PIN", "4 to 8 digits")
	f.refusesPIN("123456789", here)("PIN", "4 to 8 digits")
}
