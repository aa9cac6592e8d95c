package shop

import (
	"net/http"
	"testing"
	"time"

	"punchcard/server/punchtest"
)

var opening = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// members returns the web site's client, with a key that has only the scopes that it
// needs.
func members(t *testing.T, s *punchtest.Server) *Members {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &Members{
		URL:     s.URL,
		Key:     s.Key("cards:read", "cards:write"),
		Program: s.Programs["standard"],
		HTTP:    &http.Client{Transport: transport},
		Backoff: time.Millisecond,
	}
}

func TestStampsAreCounted(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	hook := s.Receiver()
	_, secret := s.Webhook(s.Programs["standard"], hook.URL, "stamp.assigned")
	card, err := members(t, s).Join(t.Context(), "member-17", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	stamps, err := NewStamps(secret)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewStamps("whsec_YW5vdGhlcg==")
	if err != nil {
		t.Fatal(err)
	}
	till := s.Till(s.Locations[0])
	till.Stamp(card.ID, 2)
	till.Stamp(card.ID, 3)
	for range 2 {
		d := hook.Wait("stamp.assigned")
		if err := d.Verify(secret); err != nil {
			t.Error(err)
		}
		for range 2 { // a sender may repeat a delivery
			if err := stamps.Take(d.Header, d.Body); err != nil {
				t.Error(err)
			}
		}
		if other.Take(d.Header, d.Body) == nil {
			t.Error("a delivery with another secret was taken")
		}
	}
	if n := stamps.Of(card.ID); n != 5 {
		t.Errorf("%d stamps were counted, want 5", n)
	}
}

func TestCardExpires(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t, punchtest.Clock(opening))
	m := members(t, s)
	card, err := m.Join(t.Context(), "member-17", opening.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Set(opening.AddDate(1, 0, 0))
	if card, err = m.Show(t.Context(), card.ID); err != nil || card.Status != "expired" {
		t.Errorf("after a year the card is %+v, %v", card, err)
	}
	if _, err := s.Till(s.Locations[0]).Try().Stamp(card.ID, 1); err == nil {
		t.Error("it was stamped")
	}
}

// TestLostAnswer loses the answer after the card is issued. The web site tries again,
// and there is one card.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	m := members(t, s)
	s.Fault(
		punchtest.Fault{
			Method:  "POST",
			Path:    "/programs/*/cards",
			Status:  http.StatusServiceUnavailable,
			When:    punchtest.After,
			Headers: map[string]string{"Retry-After": "0"},
		},
	)
	card, err := m.Join(t.Context(), "member-17", time.Now().Add(time.Hour))
	if err != nil || card.InstallURL == "" {
		t.Fatal(card, err)
	}
	var page struct{ Data []punchtest.Card }
	s.Do("GET", "/cards", s.APIKey, nil).Decode(&page)
	if len(page.Data) != 1 || page.Data[0].ID != card.ID {
		t.Errorf("there are %+v", page.Data)
	}
	all := s.Requests()
	if len(all) != 3 || all[0].Response.Status != 503 || !all[1].Replayed {
		t.Errorf("the requests were %v", all)
	}
	for _, r := range all {
		if len(r.Hints) > 0 {
			t.Errorf("something to improve: %v", r)
		}
	}
}

// TestJoin shows that cases can share a server if each begins with a reset.
func TestJoin(t *testing.T) {
	t.Parallel()
	shared := punchtest.Start(t, punchtest.Clock(opening))
	for _, c := range []struct {
		name  string
		until time.Time
		fails bool
	}{
		{"for a year", opening.AddDate(1, 0, 0), false},
		{"until yesterday", opening.AddDate(0, 0, -1), true},
		{"for a year again", opening.AddDate(1, 0, 0), false}, // the same member, whose card the reset removed
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shared.For(t)
			s.Reset()
			card, err := members(t, s).Join(t.Context(), "member-17", c.until)
			if (err != nil) != c.fails {
				t.Errorf("joining gave %+v, %v", card, err)
			}
		})
	}
}
