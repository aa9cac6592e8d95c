package store

import (
	"testing"
	"time"
)

// TestGoogleCalls checks that two processes share the rate of an issuer, and that both obey a pause.
func TestGoogleCalls(t *testing.T) {
	f := start(t)
	other := f.second()
	const issuer = "3388000000012345678"
	f.writes(func(tx *Tx) {
		check(tx.SetGoogleWallet(f.a.Shop, GoogleWallet{Issuer: issuer, Account: []byte("{}")}))
	})
	now := time.UnixMilli(1_800_000_000_000)
	last := time.Time{}
	claim := func(f *fixture, until time.Time) time.Time {
		return must(f, func(tx *Tx) (time.Time, error) { return tx.ClaimGoogleCall(issuer, now, until) })
	}
	for range 15 {
		for _, process := range []*fixture{f, other} {
			at := claim(process, now.Add(time.Hour))
			if at.Sub(last) < time.Second/20 {
				t.Fatalf("two requests are made at %v and %v", last, at)
			}
			last = at
		}
	}
	if took := last.Sub(now); took > 2*time.Second {
		t.Errorf("30 requests take %v", took)
	}
	pause := now.Add(10 * time.Minute)
	f.must(func(tx *Tx) error { return tx.HoldGoogleCalls(issuer, pause) })
	for range 2 { // a time that is too late is not claimed
		if at := claim(other, now.Add(time.Second)); !at.Equal(pause) {
			t.Errorf("in the pause a request may be made at %v", at)
		}
	}
}
