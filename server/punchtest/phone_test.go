package punchtest_test

import (
	"strings"
	"testing"
	"time"

	"punchcard/server/punchtest"
)

// TestPhone awaits what happens to two cards on a phone, and checks how waiting fails.
func TestPhone(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	phone := s.Phone("apple")
	fails := func(says, card, field, value string) {
		t.Helper()
		phone.Timeout = time.Millisecond
		if _, err := phone.TryAwait(card, field, value); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("waiting for %s %s fails with %v", field, value, err)
		}
		phone.Timeout = time.Minute
	}
	fails("no card was added", "crd_none", "count", "1/10")
	stamps := s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})
	money := s.Issue(s.Programs["prepaid"], punchtest.CardFields{})
	if pass := phone.Add(stamps.ID); pass.Card != stamps.ID || pass.Field("holder") != "Ada" || pass.Field("count") != "0/10" ||
		pass.Voided {
		t.Errorf("the pass is %+v", pass)
	}
	if pass := phone.Add(money.ID); pass.Field("balance") != "0.00 EUR" || pass.Field("count") != "" {
		t.Errorf("the second pass is %+v", pass)
	}
	till := s.Till(s.Locations[0])
	till.TopUp(money.ID, 1050)
	till.Stamp(stamps.ID, 2)
	phone.Await(money.ID, "balance", "10.50 EUR")
	till.Stamp(stamps.ID, 3)
	last := phone.Await(stamps.ID, "count", "5/10")
	if r := s.Do("GET", last.PictureURL, "", nil).Want(200); r.Header.Get("Content-Type") != "image/png" {
		t.Errorf("the picture is %s", r.Header)
	}
	notices := phone.Notices()
	if len(notices) < 2 || notices[len(notices)-1] != "Croissant is ready." || len(phone.Passes()) != 2 {
		t.Errorf("the phone has told %q", notices)
	}
	fails(`has the count "6/10" within 1ms; it has "5/10"`, stamps.ID, "count", "6/10")
	android := s.Phone("google")
	if pass := android.Add(stamps.ID); pass.Field("count") != "5/10" || pass.Field("holder") != "Ada" {
		t.Errorf("the phone with Google Wallet has %+v", pass)
	}
	if _, err := phone.TryAdd("crd_none"); err == nil || !strings.Contains(err.Error(), "not_found") {
		t.Errorf("an unknown card is refused with %v", err)
	}
	if _, err := s.Phone("windows").TryAdd(stamps.ID); err == nil || !strings.Contains(err.Error(), "platform") {
		t.Errorf("an unknown platform is refused with %v", err)
	}
	s.Reset()
	fails("was reset", stamps.ID, "count", "5/10")
}
