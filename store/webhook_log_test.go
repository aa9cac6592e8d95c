package store

import (
	"fmt"
	"testing"

	"punchcard/store/event"
)

// log returns the delivery log of a webhook.
func (f *fixture) log(program, hook string) []Delivery {
	return view(f, func(v *View) ([]Delivery, error) {
		return v.Deliveries(f.a, program, hook, DeliveriesQuery{Limit: setInt(200)})
	})
}

// TestPingDelivery checks the row and the payload of a test delivery. It is due at once and in
// the version of its webhook, which may be inactive and subscribe to other events.
func TestPingDelivery(t *testing.T) {
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

// eventOfDelivery returns the key of the event of a delivery.
func (f *fixture) eventOfDelivery(webhook, delivery string) int64 {
	f.t.Helper()
	key, ok := f.DeliveryKey(f.key(KindWebhook, webhook), delivery)
	if !ok {
		f.t.Fatalf("%q is no delivery to %s", delivery, webhook)
	}
	return key
}
