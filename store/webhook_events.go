package store

import (
	"cmp"
	"slices"

	"punchcard/store/event"
)

// pendingEvent is an event of a write, by keys. flushEvents reads the rest of
// the envelope at the end of the write, in its transaction.
type pendingEvent struct {
	name                    event.Name
	shop                    int64
	program, location, card int64      // 0: none
	data                    event.Data // nil: what the event says follows from the keys
	row                     *eventRow
}

// eventRow is the ledger row of an event.
type eventRow struct {
	entry
	key                     int64
	stampsAfter, valueAfter int64
	specific, also          event.Name // the events that the row fires beside transaction.created
}

// subscriber is a webhook as matching needs it.
type subscriber struct {
	id  int64
	v2  bool
	sub event.Subscription
}

// rank returns the place of the event's kind among the events of a write: cards are activated, then added,
// and then comes the rest.
func (e pendingEvent) rank() int {
	switch e.name {
	case event.CardActivated:
		return 0
	case event.CardAdded:
		return 1
	}
	return 2
}

// emit adds an event to those that flushEvents writes.
func (tx *Tx) emit(e pendingEvent) { tx.events = append(tx.events, e) }

// emitLast adds an event that comes after all others of the write.
func (tx *Tx) emitLast(e pendingEvent) { tx.lastEvents = append(tx.lastEvents, e) }

// ledgerEvents maps the types of ledger rows to the specific events that they
// fire.
var ledgerEvents = map[string]event.Name{"stamp": event.StampAssigned, "redemption": event.PrizeRedeemed, "access": event.CardUsed,
	"topup": event.ValueChanged, "spend": event.ValueChanged, "reversal": event.TransactionReversed, "expiry": event.CardExpired}

// emitLedger emits the events of one ledger row: the specific ones, then
// transaction.created.
func (tx *Tx) emitLedger(chain *cardChain, c *card, key int64, e entry) {
	row := eventRow{entry: e, key: key, stampsAfter: c.StampsCount, valueAfter: c.CurrentValue.V, specific: ledgerEvents[e.kind]}
	if e.kind == TransactionAdjustment && e.value.Valid {
		row.specific = event.ValueChanged
	}
	if e.reversed == "topup" || e.reversed == "spend" {
		row.also = event.ValueChanged
	}
	for _, name := range []event.Name{row.specific, row.also, event.TransactionCreated} {
		if name != "" {
			tx.emit(
				pendingEvent{name: name, shop: chain.Shop, program: chain.program.key, location: chain.Location, card: c.key, row: &row})
		}
	}
}

// flushEvents writes the events that match a webhook, and queues their delivery
// rows. An event that no webhook matches is not written.
func (tx *Tx) flushEvents() error {
	// Stamps that expire, and those that a merge takes off, are booked before it is known which cards the
	// write activates and adds.
	slices.SortStableFunc(tx.events, func(a, b pendingEvent) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, e := range append(tx.events, tx.lastEvents...) {
		hooks := tx.subscribers(e.shop)
		if len(hooks) == 0 {
			continue
		}
		facts := event.Facts{Name: e.name, ProgramID: e.program, LocationID: e.location, Preview: tx.Limits.PreviewEvents}
		if e.row != nil && e.name == event.TransactionCreated {
			facts.Specific, facts.AlsoSpecific = e.row.specific, e.row.also
		}
		var to []int64
		var v1, v2 bool
		for i := range hooks {
			h := &hooks[i]
			if h.sub.Matches(facts) {
				to = append(to, h.id)
				v1, v2 = v1 || !h.v2, v2 || h.v2
			}
		}
		if len(to) == 0 {
			continue
		}
		if tx.mayQueue(e) {
			tx.queueEvent(e, to, v1, v2)
		}
	}
	return tx.failed
}

// mayQueue reports whether an event is sent at all: a suspended or cancelled
// shop sends only subscription.state_changed.
func (tx *Tx) mayQueue(e pendingEvent) bool {
	return e.name == event.SubscriptionStateChanged || !HasEnded(tx.cachedShop(e.shop).SubscriptionState)
}

// queueEvent renders an event in the versions that are wanted, writes it and
// queues its deliveries to the webhooks.
func (tx *Tx) queueEvent(e pendingEvent, to []int64, v1, v2 bool) {
	env := tx.envelope(e)
	var p1, p2 []byte
	if v1 {
		p1 = event.AppendV1(nil, env)
	}
	if v2 {
		p2 = event.AppendV2(nil, env)
	}
	key := tx.recordEvent(e.shop, e.name, nonZero(e.card), p1, p2)
	special := 0
	if e.name == event.SubscriptionStateChanged {
		special = specialSuspension
	}
	tx.queuedEvents = append(tx.queuedEvents, queuedEvent{key, to, special})
	tx.dueWebhooks = append(tx.dueWebhooks, to...)
}

// recordEvent inserts an event with the shop's next sequence and its rendered
// payloads, of which one may be nil.
func (tx *Tx) recordEvent(shop int64, name event.Name, card Null[int64], v1, v2 []byte) (key int64) {
	sequence := tx.nextSequence(shop)
	return tx.insert(
		"INSERT INTO events (shop_id, name, card_id, payload_v1, payload_v2, occurred_at, sequence) VALUES (?,?,?,?,?,?,?)", shop,
		string(name), card, v1, v2, tx.Now, sequence)
}

// subscribers returns a shop's active webhooks. It caches them until the hook
// epoch changes, so that a write of a shop without webhooks makes no query.
func (tx *Tx) subscribers(shop int64) []subscriber {
	if hooks, ok := tx.s.subscribers[shop]; ok {
		return hooks
	}
	hooks := []subscriber{}
	for r := range tx.each(`SELECT id, payload_version='v2', include_shop_wide_events, events, program_ids, location_ids FROM webhooks
		WHERE shop_id=? AND deleted_at IS NULL AND active=1 ORDER BY id`, shop) {
		var h subscriber
		r.scan(&h.id, &h.v2, &h.sub.IncludeShopWide, &h.sub.Events, &h.sub.ProgramIDs, &h.sub.LocationIDs)
		hooks = append(hooks, h)
	}
	tx.s.subscribers[shop] = hooks
	return hooks
}

// envelope returns the envelope of an event, with the shop, program, location
// and card as they are after the change.
func (tx *Tx) envelope(e pendingEvent) *event.Envelope {
	sh := tx.cachedShop(e.shop)
	env := &event.Envelope{Event: e.name, OccurredAt: tx.Now.String(), ShopID: sh.ID, ShopName: sh.Name, Actor: tx.actor()}
	if e.program != 0 {
		p := tx.cachedProgram(e.shop, e.program)
		env.Program = &event.Program{ID: p.ID, Name: p.Name, Type: p.Type}
		env.Data = event.Data{"program_id", p.ID}
	}
	if e.location != 0 {
		at := tx.cachedLocations(e.shop)
		env.Location = &event.Location{ID: at.all[e.location].ID, Name: at.all[e.location].Name}
		env.Data = event.Data{"location_id", env.Location.ID}
	}
	if e.card != 0 {
		tx.addCard(env, e)
	}
	if e.data != nil {
		env.Data = e.data
	}
	return env
}

// addCard sets the card of the envelope, and the data of an event of a card.
func (tx *Tx) addCard(env *event.Envelope, e pendingEvent) {
	c := &event.Card{ID: tx.ID(KindCard, e.card)}
	var source string
	var parent Null[string]
	tx.one(func(r *rows) {
		source = r.str()
		parent = tx.nullID(KindCard, r.nullInt())
		c.ExternalRef, c.HolderName, c.HolderEmail, c.State = pointer(r.nullStr()), pointer(r.nullStr()), pointer(r.nullStr()), r.str()
	}, "SELECT c.source, c.parent_id, c.external_ref, c.holder_name, c.holder_email, "+statusSQL+` FROM cards c
		WHERE c.id=?`, tx.Now, e.card)
	env.Card = c
	if e.row != nil {
		tx.addRow(env, e)
		return
	}
	env.Data = event.Data{"card_instance_id", c.ID}
	if e.name == event.CardAdded {
		env.Data = append(env.Data, "parent_card_instance_id", pointer(parent), "source", source)
	}
}

// addRow sets the transaction and the data of an event of a ledger row.
func (tx *Tx) addRow(env *event.Envelope, e pendingEvent) {
	r, card := e.row, env.Card.ID
	id := tx.ID(KindTransaction, r.key)
	env.Transaction = &event.Transaction{ID: id, Type: r.kind, Metadata: []byte(r.metadata.V)}
	switch e.name {
	case event.StampAssigned:
		env.Data = event.Data{"card_instance_id", card, "stamps_delta", r.stamps.V, "stamps_count", r.stampsAfter, "transaction_id", id}
	case event.PrizeRedeemed:
		var label string
		tx.one(into(&label), "SELECT name FROM prizes WHERE id=?", r.prize)
		env.Data = event.Data{"card_instance_id", card, "prize_id", tx.ID(KindPrize, r.prize), "prize_label", label, "transaction_id", id}
	case event.ValueChanged:
		env.Data = event.Data{
			"card_instance_id",
			card,
			"tx_type",
			r.kind,
			"delta",
			r.value.V,
			"balance",
			r.valueAfter,
			"transaction_id",
			id,
		}
	case event.TransactionReversed:
		delta := r.stamps.V
		if r.value.Valid {
			delta = r.value.V
		}
		env.Data = event.Data{
			"original_transaction_id",
			tx.ID(KindTransaction, r.reverses),
			"reversal_transaction_id",
			id,
			"card_instance_id",
			card,
			"reversed_delta",
			delta,
		}
	case event.CardUsed:
		env.Data = event.Data{"card_instance_id", card, "transaction_id", id, "program_type", env.Program.Type}
	case event.CardExpired:
		at := tx.Now
		var expires Null[Time]
		tx.one(into(&expires), "SELECT expires_at FROM cards WHERE id=?", e.card)
		if !r.stamps.Valid && expires.Valid { // the card expired, not its stamps
			at = expires.V
		}
		env.Data = event.Data{"card_instance_id", card, "transaction_id", id, "expired_at", at.String()}
	case event.TransactionCreated:
		env.Data = event.Data{
			"transaction_id", id, "card_instance_id", card, "tx_type",
			r.kind,
			"stamps_delta",
			pointer(r.stamps),
			"value_delta",
			pointer(r.value),
		}
	}
}

func (tx *Tx) actor() *event.Actor {
	return &event.Actor{Type: tx.Actor.Type, ID: pointer(tx.nullID(tx.Actor.kind(), nonZero(tx.Actor.Key)))}
}

// kind returns the kind of the actor's id.
func (a Actor) kind() Kind {
	switch a.Type {
	case "device":
		return KindDevice
	case "user":
		return KindUser
	}
	return KindKey
}

// pointer returns a nullable value as a pointer, nil for null.
func pointer[T any](n Null[T]) *T {
	if !n.Valid {
		return nil
	}
	return &n.V
}

// scrubEvents erases the holder from the payloads of the chain's events, sent
// and queued ones.
func (tx *Tx) scrubEvents(root int64) {
	for _, key := range tx.keys(`SELECT id FROM events WHERE payload_v2 IS NOT NULL AND card_id IN (SELECT id FROM cards WHERE id=?1
		OR root_id=?1)`, root) {
		var v2 []byte
		tx.one(into(&v2), "SELECT payload_v2 FROM events WHERE id=?", key)
		tx.exec("UPDATE events SET payload_v2=? WHERE id=?", event.Scrub(v2), key)
	}
}
