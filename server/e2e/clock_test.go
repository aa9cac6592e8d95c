package e2e

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
)

// TestAdvanceKeys checks that the overlap of a rotated key, an idempotency window and a rate limit
// follow an advance of the clock.
func TestAdvanceKeys(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--clock", "2026-03-01T09:00:00Z", "--api-key-rate-limit-per-minute", "30")
	control := p.outside()
	advance := func(by string) {
		t.Helper()
		control.Post("/dev/clock", map[string]string{"advance": by}).Want(200)
	}
	var key, rotated struct{ ID, Key string }
	control.Post("/dev/keys", `{"name": "Old"}`).Want(201).Decode(&key)
	control.Post("/dev/keys/"+key.ID+"/rotate", `{"grace_hours": 1}`).Want(201).Decode(&rotated)
	old, next := p.api(key.Key), p.api(rotated.Key)
	program := p.ready.ProgramIDs["standard"]
	issue := func(api *servertest.Client, want int, replayed string) {
		t.Helper()
		r := api.Call("POST", "/programs/"+program+"/cards", `{"external_ref": "once"}`, "Idempotency-Key", "order").Want(want)
		if r.Header.Get("Idempotent-Replayed") != replayed {
			t.Errorf("replayed: %q, want %q", r.Header.Get("Idempotent-Replayed"), replayed)
		}
	}
	issue(next, 201, "")
	issue(old, 201, "true")
	for range 29 {
		old.Get("/me").Want(200)
	}
	old.Get("/me").Want(429, "rate_limited")
	advance("2s")
	old.Get("/me").Want(200)
	advance("59m57s")
	old.Get("/me").Want(200)
	advance("2s")
	old.Get("/me").Want(401)
	advance("22h59m")
	issue(next, 201, "true")
	advance("2m")
	issue(next, 409, "") // executed again: the external_ref is taken by now
}

// TestResetEndsLockOut checks that a reset also ends the lock-out of a PIN, which is only in
// memory.
func TestResetEndsLockOut(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--seed", "testdata/seeds/bakery.json")
	try := func() (statuses []int) {
		var device struct{ Token string }
		p.outside().Call("POST", "/dev/devices", map[string]string{"location_id": p.ready.LocationIDs[1]}).Want(201).Decode(&device)
		for range 12 {
			statuses = append(statuses, p.till(device.Token).Call("POST", "/cards/none/uses", `{}`, "X-Staff-Pin", "0000").Status)
		}
		return statuses
	}
	before := try()
	if before[0] == 429 || before[11] != 429 {
		t.Fatalf("a wrong PIN twelve times: %v", before)
	}
	p.outside().Call("POST", "/dev/reset", nil).Want(200)
	if again := try(); !slices.Equal(again, before) {
		t.Errorf("after the reset wrong PINs give %v, before it %v", again, before)
	}
}
