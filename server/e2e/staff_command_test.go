package e2e

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestStaffCommands adds people to a location by commands, and signs one of them in at a till.
func TestStaffCommands(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	here := f.location("Home")
	const first, second = "90210", "314159"
	f.secrets = append(f.secrets, first, second)
	pin := func(given string, args ...string) *result {
		t.Helper()
		r := input(t, given+"\n", append(args, "--db", f.db)...)
		f.printed.WriteString(r.stdout + r.stderr)
		return &r
	}
	for _, form := range []string{"--json=false", "--json"} {
		if r := pin(first, "staff", "add", "--location", here, "--name", "Ada "+form, form); r.code != 0 {
			t.Fatalf("add: exit %d, %s", r.code, r.stderr)
		}
	}
	pin("12", "staff", "add", "--location", here, "--name", "Bob").refused(t, "PIN", "4 to 8 digits")
	pin("", "staff", "add", "--location", here, "--name", "Bob").refused(t, "PIN", "empty")
	pin(first, "staff", "add", "--location", "loc_none", "--name", "Bob").refused(t, "No such location")
	pin("", "staff", "add", "--location", here, "--name", "Bob", first+"1").refused(t, "PIN", "standard input")
	var list struct {
		Data []struct {
			ID, Name   string
			DisabledAt *string `json:"disabled_at"`
		}
	}
	f.json(&list, "staff", "list")
	if text := f.list("staff", "list"); len(list.Data) != 2 || !strings.Contains(text, "Ada --json") ||
		strings.Count(text, "enabled") != 2 {
		t.Fatalf("the list of staff:\n%s", text)
	}
	ada := list.Data[0].ID
	till := f.server.till(f.makeDevice("--location", here).Token)
	signIn := func(pin string) *servertest.Reply {
		return till.Post("/session", map[string]any{"staff_id": ada, "pin": pin})
	}
	signIn(first).Want(201)
	if r := pin(second, "staff", "set-pin", ada); r.code != 0 {
		t.Fatalf("set-pin: %s", r.stderr)
	}
	signIn(first).Want(401, "invalid_credentials")
	signIn(second).Want(201)
	if text := f.list("staff", "disable", ada); !strings.Contains(text, "disabled") {
		t.Errorf("disable printed %s", text)
	}
	signIn(second).Want(404)
	f.list("staff", "enable", ada)
	signIn(second).Want(201)
	f.refused("staff", "disable", "stf_none")("No such member of staff")
	f.checkSecrets()
}

// TestDevicePair makes pairings by command.
func TestDevicePair(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	here := f.location("Home")
	var p struct{ URL, Token, Code, Name string }
	f.json(&p, "device", "pair", "--location", here, "--name", "Phone")
	if p.URL != "/till/pair/"+p.Token || len(p.Token) != 43 || len(p.Code) != 8 || p.Name != "Phone" {
		t.Errorf("printed %+v", p)
	}
	if text := f.run("device", "pair", "--location", here); strings.Contains(text, "█") || !strings.Contains(text, "\n/till/pair/") {
		t.Errorf("without a public URL it printed\n%s", text)
	}
	if text := f.run("device", "pair", "--location", here, "--public-url", "https://cards.example.com/"); !strings.Contains(text, "█") ||
		!strings.Contains(text, "https://cards.example.com/till/pair/") {
		t.Errorf("with a public URL it printed\n%s", text)
	}
	if text := f.run("device", "list"); strings.Contains(text, "Phone") {
		t.Errorf("the pairing is a device already:\n%s", text)
	}
	f.refused("device", "pair", "--location", "loc_none")("No such location")
}
