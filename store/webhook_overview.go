package store

import "slices"

// healthRows is the number of entries of the log by which the health of a webhook is
// judged.
const healthRows = 50

// WebhookOverview is a webhook with what its page shows besides.
type WebhookOverview struct {
	Webhook
	Draft       bool          `json:"draft" doc:"An assistant made it; nothing is sent to it until a person activates it."`
	ProgramName string        `json:"program_name"`
	Programs    []Named       `json:"programs" doc:"Those of program_ids."`
	Locations   []Named       `json:"locations" doc:"Those of location_ids."`
	Health      WebhookHealth `json:"health"`
}

// WebhookHealth counts the newest 50 entries of a webhook's log by their outcome.
type WebhookHealth struct {
	Delivered       int64        `json:"delivered"`
	Failed          int64        `json:"failed"`
	Pending         int64        `json:"pending"`
	LastDeliveredAt Null[Time]   `json:"last_delivered_at"`
	LastError       Null[string] `json:"last_error" doc:"Of the newest entry that has one."`
}

// Total returns the number of entries that were counted.
func (h WebhookHealth) Total() int64 { return h.Delivered + h.Failed + h.Pending }

// WebhooksFilter selects webhooks of a shop.
type WebhooksFilter struct {
	ProgramID Opt[string] `json:"program_id" doc:"Those that are addressed through the program or filter by it."`
}

// ShopWebhooks returns the webhooks of a shop, newest first. There are at most
// Limits.Webhooks.
func (v *View) ShopWebhooks(shop int64, f WebhooksFilter) (all []WebhookOverview, err error) {
	all = []WebhookOverview{}
	v.snapshot()
	r := v.query("SELECT "+webhookCols+" FROM webhooks WHERE shop_id=? AND deleted_at IS NULL ORDER BY id DESC", shop)
	var hooks []webhook
	for r.next() {
		if w := v.scanWebhook(r, shop); !f.ProgramID.Set || w.ProgramID == f.ProgramID.V || slices.Contains(w.ProgramIDs, f.ProgramID.V) {
			hooks = append(hooks, w)
		}
	}
	if err := r.close(); err != nil {
		return all, err
	}
	names := v.namer(shop)
	for _, w := range hooks {
		o := v.overview(names, w)
		all = append(all, o)
	}
	return all, nil
}

// ShopWebhook returns a webhook of a shop by its id alone.
func (v *View) ShopWebhook(shop int64, id string) (o WebhookOverview, err error) {
	v.snapshot()
	w, err := v.webhookByID(Access{Shop: shop}, id)
	return v.overview(v.namer(shop), w), err
}

// overview adds names and health to a webhook.
func (v *View) overview(names *namer, w webhook) (o WebhookOverview) {
	o = WebhookOverview{Webhook: w.Webhook, Draft: w.draft, Programs: []Named{}, Locations: []Named{}}
	o.ProgramName = names.named(KindProgram, v.keyOrNone(KindProgram, w.ProgramID)).Name.V
	for _, p := range w.programs {
		o.Programs = append(o.Programs, names.named(KindProgram, p))
	}
	for _, l := range w.locations {
		o.Locations = append(o.Locations, names.named(KindLocation, l))
	}
	o.Health = v.webhookHealth(w.key)
	return o
}

func (v *View) webhookHealth(hook int64) (h WebhookHealth) {
	for r := range v.each(`SELECT ifnull(outcome, ''), last_error, delivered_at FROM deliveries WHERE webhook_id=?
		ORDER BY event_id DESC LIMIT ?`, hook, healthRows) {
		switch r.str() {
		case "delivered":
			h.Delivered++
		case "failed":
			h.Failed++
		default:
			h.Pending++
		}
		if e := r.nullStr(); !h.LastError.Valid {
			h.LastError = e
		}
		if at := r.nullTime(); at.V > h.LastDeliveredAt.V {
			h.LastDeliveredAt = at
		}
	}
	return h
}

// LoggedDelivery is an entry of a webhook's log with its state.
type LoggedDelivery struct {
	Delivery
	State         string     `json:"state" enum:"delivered,failed,pending"`
	NextAttemptAt Null[Time] `json:"next_attempt_at" doc:"Of a pending delivery after its first attempt."`
	Sequence      int64      `json:"sequence"`
}

// LogFilter selects a page of entries of a webhook's log.
type LogFilter struct {
	PageQuery
	State Opt[string] `json:"state" enum:"delivered,failed,pending"`
	Event Opt[string] `json:"event" max:"64"`
}

// loggedCols are the columns that scanLogged reads, after those of a delivery.
var loggedCols = "ifnull(d.outcome, 'pending'), d.due_at, ifnull(e.sequence, e.id)"

func (v *View) scanLogged(r *rows, webhook string) LoggedDelivery {
	v.seeEpoch(r.int())
	l := LoggedDelivery{Delivery: v.scanDelivery(r, webhook), State: r.str(), NextAttemptAt: r.nullTime(), Sequence: r.int()}
	if l.State != "pending" || l.Attempts == 0 {
		l.NextAttemptAt = Null[Time]{}
	}
	return l
}

// WebhookLog returns a page of a webhook's log, newest first. With filters it visits at
// most PageVisits entries.
func (v *View) WebhookLog(shop int64, id string, f LogFilter) (p Page[LoggedDelivery], err error) {
	v.snapshot()
	w, err := v.webhookByID(Access{Shop: shop}, id)
	if err != nil {
		return p, err
	}
	limit := v.limit(f.PageQuery)
	p = Page[LoggedDelivery]{Data: make([]LoggedDelivery, 0, limit), Limit: limit}
	from, err := v.below(listWebhookLog, shop, f.PageQuery)
	if err != nil {
		return p, err
	}
	var keys []int64
	visits, last, more := 0, int64(0), false
	// The rows are visited by the primary key; the names of events are joined.
	for r := range v.each("SELECT d.event_id, (?1='' OR ifnull(d.outcome, 'pending')=?1) AND (?2='' OR e.name=?2)"+deliveryTables+
		" WHERE d.webhook_id=?3 AND d.event_id<?4 ORDER BY d.event_id DESC LIMIT ?5",
		f.State.Or(""), f.Event.Or(""), w.key, from, v.s.opts.PageVisits) {
		key, matches := r.int(), r.bool()
		if matches && len(keys) == limit {
			more = true
			break
		}
		visits, last = visits+1, key
		if matches {
			keys = append(keys, key)
		}
	}
	if more || visits == v.s.opts.PageVisits {
		p.NextCursor = Some(v.cursor(listWebhookLog, shop, 0, last))
	}
	p.Data = collect(
		v,
		func(r *rows) LoggedDelivery { return v.scanLogged(r, w.ID) },
		"SELECT "+deliveryCols+", "+loggedCols+` FROM json_each(?3) k CROSS JOIN deliveries d CROSS JOIN events e ON e.id=d.event_id
			WHERE d.webhook_id=?2 AND d.event_id=k.value`,
		w.PayloadVersion,
		w.key,
		jsonKeys(keys),
	)
	return p, v.failed
}

// LoggedDelivery returns an entry of a webhook's log.
func (v *View) LoggedDelivery(shop int64, id, deliveryID string) (l LoggedDelivery, err error) {
	v.snapshot()
	w, err := v.webhookByID(Access{Shop: shop}, id)
	if err != nil {
		return l, err
	}
	eventKey, _ := v.DeliveryKey(w.key, deliveryID) // no event has the key 0
	return l, v.find("delivery", func(r *rows) { l = v.scanLogged(r, w.ID) },
		"SELECT "+deliveryCols+", "+loggedCols+deliveryTables+" WHERE d.webhook_id=?2 AND d.event_id=?3", w.PayloadVersion, w.key, eventKey)
}
