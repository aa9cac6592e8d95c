package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"punchcard/store/event"
)

// log returns the delivery log of a webhook.
func (f *fixture) log(program, hook string) []Delivery {
	f.t.Helper()
	return view(f, func(v *View) ([]Delivery, error) {
		return v.Deliveries(f.a, program, hook, DeliveriesQuery{Limit: set(int64(200))})
	})
}

// TestPingDelivery checks the row and the payload of a test delivery. It is due at once and in
// the version of its webhook, which may be inactive and subscribe to other events.
func TestPingDelivery(t *testing.T) {
	t.Parallel()
	f := start(t)
	program := f.program(stamps("Tea"))
	for _, version := range []string{event.V1, event.V2} {
		w := f.subscribe(program, func(w *WebhookFields) {
			w.PayloadVersion, w.Active, w.Events = set(version), set(false), set([]string{"card.added"})
		})
		d := f.testWebhook(program, w.ID)
		id := f.deliveryID(KindEvent, f.key(KindWebhook, w.ID), f.eventOfDelivery(w.ID, d.ID))
		shop, at := f.ID(KindShop, f.a.Shop), f.clock.at().String()
		want := fmt.Sprintf(`{"event":"test.ping","event_id":%q,"shop_id":%q,"occurred_at":%q,"data":{"message":%q,"sample":true}}`,
			id, shop, at, pingMessage)
		if version == event.V2 {
			want = fmt.Sprintf(`{"event":"test.ping","event_id":%q,"payload_version":"v2","occurred_at":%q,`+
				`"shop":{"id":%q,"name":"My shop"},"location":null,"program":null,"card":null,"transaction":null,"actor":null,`+
				`"data":{"message":%q,"sample":true}}`, id, at, shop, pingMessage)
		}
		if string(d.RequestPayload) != want {
			t.Errorf("%s: payload %s\nwant %s", version, d.RequestPayload, want)
		}
		f.selectsLines([]string{fmt.Sprintf("1,%d,%d,0", specialTest, f.clock.at())},
			"SELECT concat_ws(',', outcome IS NULL, special, due_at, attempts) FROM deliveries WHERE event_id=?",
			f.eventOfDelivery(w.ID, d.ID))
		f.selectsLines([]string{map[string]string{"v1": "1,0,1", "v2": "0,1,1"}[version]},
			"SELECT concat_ws(',', payload_v1 IS NOT NULL, payload_v2 IS NOT NULL, card_id IS NULL) FROM events ORDER BY id DESC LIMIT 1")
	}
}

// TestRedelivery checks that a redelivered row is as before its first attempt and due now.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	f := start(t)
	program := f.program(stamps("Tea"))
	w := f.subscribe(program, func(w *WebhookFields) { w.Events = set([]string{"card.added"}) })
	f.cardWith(program, CardFields{HolderName: set("Ada"), ExternalRef: set("m-1")})
	fresh := f.log(program, w.ID)[0]
	row := func() string {
		return f.lines("SELECT concat_ws('|', event_id, webhook_id, quote(outcome), special, attempts, quote(response_status), " +
			"quote(last_error), duration_ms, quote(request_headers), quote(delivered_at)) FROM deliveries")[0]
	}
	was := row()
	for _, state := range []string{"delivered", "failed"} {
		f.clock.move(1e9)
		f.sql(`UPDATE deliveries SET outcome=?, attempts=5, response_status=500, last_error='status 500', duration_ms=9,
			request_headers='{"A":"b"}', delivered_at=?`, state, f.clock.at())
		done := f.log(program, w.ID)[0]
		if done.Attempts != 5 || done.ResponseStatus != Some(int64(500)) || done.LastError != Some("status 500") || done.DurationMS != 9 ||
			string(done.RequestHeaders) != `{"A":"b"}` ||
			done.DeliveredAt != Some(f.clock.at()) {
			t.Errorf("after the attempts: %+v", done)
		}
		f.clock.move(1e9)
		d := f.redeliver(program, w.ID, done.ID)
		if now := row(); now != was || f.number("SELECT due_at FROM deliveries") != int64(f.clock.at()) {
			t.Errorf("%s: %s, want %s", state, now, was)
		}
		if a, b := fmt.Sprintf("%s %+v", d.RequestPayload, d), fmt.Sprintf("%s %+v", fresh.RequestPayload, fresh); a != b {
			t.Errorf("%s: Redeliver returned %s, want %s", state, a, b)
		}
	}
	// After the erasure of the card, the body has no data of its holder.
	f.sql("UPDATE deliveries SET outcome='failed'")
	f.erase(fresh.CardInstanceID.V)
	d := f.redeliver(program, w.ID, fresh.ID)
	var body struct {
		EventID string `json:"event_id"`
		Card    struct {
			ID     *string
			Holder struct{ Name *string }
		}
	}
	if err := json.Unmarshal(d.RequestPayload, &body); err != nil || body.EventID != fresh.EventID || body.Card.ID == nil ||
		body.Card.Holder.Name != nil ||
		bytes.Contains(d.RequestPayload, []byte("m-1")) {
		t.Errorf("%v: %s", err, d.RequestPayload)
	}
}

// TestDeliveryLogPerWebhook checks that the log of a webhook has its own deliveries, in its
// version, newest first, up to the limit.
func TestDeliveryLogPerWebhook(t *testing.T) {
	t.Parallel()
	lim := DefaultLimits()
	lim.DeliveryLogLimit = 4
	f := startWith(t, Options{Limits: lim})
	program := f.program(stamps("Tea"))
	one := f.subscribe(program, nil)
	two := f.subscribe(program, func(w *WebhookFields) { w.PayloadVersion = set(event.V1) })
	var cards []string
	for range 6 {
		cards = append([]string{f.card(program)}, cards...)
	}
	seen := map[string]bool{}
	for _, w := range []CreatedWebhook{one, two} {
		list := f.log(program, w.ID)
		if len(list) != 4 {
			t.Fatalf("%d entries, want the limit of 4", len(list))
		}
		for i, d := range list {
			if d.CardInstanceID != Some(cards[i]) || d.WebhookID != w.ID || d.Event != "card.added" || seen[d.ID] || seen[d.EventID] {
				t.Errorf("entry %d: %+v", i, d)
			}
			seen[d.ID], seen[d.EventID] = true, true
			if v2 := bytes.Contains(d.RequestPayload, []byte(`"payload_version":"v2"`)); v2 != (w.PayloadVersion == event.V2) ||
				!bytes.Contains(d.RequestPayload, []byte(`"event_id":"`+d.EventID+`"`)) {
				t.Errorf("payload %s", d.RequestPayload)
			}
		}
	}
}

// eventOfDelivery returns the key of the event of a delivery.
func (f *fixture) eventOfDelivery(webhook, delivery string) int64 {
	f.t.Helper()
	key, ok := f.DeliveryKey(f.key(KindWebhook, webhook), delivery)
	if !ok {
		f.t.Fatalf("%q is no delivery to %s", delivery, webhook)
	}
	return key
}
