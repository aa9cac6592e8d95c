package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Webhook is a subscription to events (spec Webhook). The secret is no part of
// it: it is shown once, by CreatedWebhook and UpdatedWebhook.
type Webhook struct {
	ID                    string            `json:"id" min:"1" doc:"Opaque."`
	ShopID                string            `json:"shop_id"`
	ProgramID             string            `json:"program_id" doc:"The program in whose path the webhook is addressed; it filters nothing."`
	URL                   string            `json:"url" format:"url"`
	Events                []string          `json:"events" doc:"Event keys or wildcards."`
	Active                bool              `json:"active" doc:"False when switched off by PATCH, by too many failures in a row, or by an answer 410."`
	Description           string            `json:"description"`
	HasBearerToken        bool              `json:"has_bearer_token" doc:"The token itself is never returned."`
	ProgramIDs            []string          `json:"program_ids" doc:"Empty means all programs."`
	LocationIDs           []string          `json:"location_ids" doc:"Empty means all locations."`
	IncludeShopWideEvents bool              `json:"include_shop_wide_events" doc:"Whether a webhook of some locations also gets the events that belong to no location."`
	HTTPMethod            string            `json:"http_method" enum:"POST,PUT,PATCH" doc:"Stored; deliveries are POST."`
	CustomHeaders         map[string]string `json:"custom_headers" doc:"The values are masked."`
	PayloadVersion        string            `json:"payload_version" enum:"v1,v2"`
	ConsecutiveFailures   int64             `json:"consecutive_failures" min:"0" doc:"Deliveries in a row whose attempts were used up."`
	CreatedAt             Time              `json:"created_at"`
	UpdatedAt             Time              `json:"updated_at"`
}

// CreatedWebhook is the answer that shows a new webhook's secret.
type CreatedWebhook struct {
	Webhook
	Secret string `json:"secret" doc:"Signs the deliveries. Shown only here."`
}

// UpdatedWebhook is the answer to a PATCH.
type UpdatedWebhook struct {
	Webhook
	Secret string `json:"secret,omitempty" doc:"The new secret, only when rotate_secret was true. The old one ended with this answer."`
}

// WebhookFields is the body of POST webhook, and all of PATCH webhook but the
// rotation (contract section 5, "Input").
type WebhookFields struct {
	URL                   Opt[string]            `json:"url" req:"true" min:"1" max:"2048" format:"url" doc:"https, without user info; every address of the host must be public."`
	Events                Opt[[]string]          `json:"events" req:"true" min:"1" max:"50" doc:"Event keys, * for all, or a prefix such as card.* for all of its events. Duplicates are dropped. transaction.created excludes the exact events of single transactions."`
	BearerToken           Opt[string]            `json:"bearer_token" min:"1" max:"1024" pattern:"^[!-~]*$" patch:"nullable" doc:"Sent as Authorization: Bearer …; visible ASCII. In a PATCH, null removes it."`
	Active                Opt[bool]              `json:"active" doc:"Default true. In a PATCH, true also sets consecutive_failures to 0, and what is pending goes on."`
	Description           Opt[string]            `json:"description" max:"500" patch:"default" doc:"Default empty; in a PATCH, null empties it."`
	ProgramIDs            Opt[[]string]          `json:"program_ids" max:"1000" patch:"default" doc:"Only events of these programs. Empty or null: of all."`
	LocationIDs           Opt[[]string]          `json:"location_ids" max:"1000" patch:"default" doc:"Only events at these locations. Empty or null: at all. A restricted key must name some, all of them its own."`
	IncludeShopWideEvents Opt[bool]              `json:"include_shop_wide_events" doc:"Default true."`
	HTTPMethod            Opt[string]            `json:"http_method" enum:"POST,PUT,PATCH" doc:"Default POST. Stored only: deliveries are POST."`
	CustomHeaders         Opt[map[string]string] `json:"custom_headers" patch:"default" doc:"Replaces all. Names are HTTP tokens, each once whatever its case, and none that deliveries set themselves; values are visible ASCII, spaces and tabs. In a PATCH, null empties it."`
	PayloadVersion        Opt[string]            `json:"payload_version" enum:"v1,v2" patch:"not_allowed" doc:"Default v2; fixed from then on."`
}

// WebhookPatch is the body of PATCH webhook.
type WebhookPatch struct {
	WebhookFields
	RotateSecret Opt[bool] `json:"rotate_secret" doc:"True makes a new secret, which the answer shows once; the old one ends at once."`
}

// Target is the URL that a request names, to be checked for what it leads to;
// empty where it names none.
func (f WebhookFields) Target() string { return f.URL.Or("") }

// webhook is a row with the columns that no resource shows.
type webhook struct {
	Webhook
	key       int64
	programs  []int64
	locations []int64
	bearer    Null[string]
	secret    string
	headers   map[string]string // unmasked
}

var webhookCols = columns("id", "program_id", "url", "events", "active", "description", "bearer_token", "program_ids", "location_ids", "include_shop_wide_events",
	"http_method", "custom_headers", "payload_version", "consecutive_failures", "created_at", "updated_at", "secret")

func (s *Store) scanWebhook(r *rows, shop int64) (w webhook, err error) {
	w.key = r.int()
	w.ID, w.ShopID, w.ProgramID, w.URL = s.ID(KindWebhook, w.key), s.ID(KindShop, shop), s.ID(KindProgram, r.int()), r.str()
	events := r.str()
	w.Active, w.Description, w.bearer = r.bool(), r.str(), r.nullStr()
	programs, locations := r.str(), r.str()
	w.IncludeShopWideEvents, w.HTTPMethod = r.bool(), r.str()
	headers := r.str()
	w.PayloadVersion, w.ConsecutiveFailures, w.CreatedAt, w.UpdatedAt, w.secret = r.str(), r.int(), r.time(), r.time(), r.str()
	for _, c := range []struct {
		text string
		into any
	}{{events, &w.Events}, {programs, &w.programs}, {locations, &w.locations}, {headers, &w.headers}} {
		if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
			return w, err
		}
	}
	w.setShownFields(s)
	return w, nil
}

// show fills in what a resource shows of the hidden columns.
func (w *webhook) setShownFields(s *Store) {
	w.HasBearerToken = w.bearer.Valid
	w.ProgramIDs, w.LocationIDs, w.CustomHeaders = []string{}, []string{}, map[string]string{}
	for _, k := range w.programs {
		w.ProgramIDs = append(w.ProgramIDs, s.ID(KindProgram, k))
	}
	for _, k := range w.locations {
		w.LocationIDs = append(w.LocationIDs, s.ID(KindLocation, k))
	}
	for name := range w.headers {
		w.CustomHeaders[name] = "***"
	}
}

// within tells whether a key may see and make a webhook: a restricted one only
// those that listen to its own locations alone (contract section 2).
func (w *webhook) visibleTo(a Access) bool {
	return !a.Restricted || len(w.locations) > 0 && !slices.ContainsFunc(w.locations, func(l int64) bool { return !a.allows(l) })
}

// webhook finds a webhook by its id in the path of its program; one that the
// key may not see is as little found as one that is gone.
func (s *Store) webhook(c *conn, a Access, programID, id string) (w webhook, err error) {
	program, ok := s.Key(KindProgram, programID)
	key, known := s.Key(KindWebhook, id)
	if !ok || !known {
		return w, notFound("webhook")
	}
	var bad error
	ok, err = c.one(func(r *rows) { w, bad = s.scanWebhook(r, a.Shop) },
		"SELECT "+webhookCols+" FROM webhooks WHERE id=? AND shop_id=? AND program_id=? AND deleted_at IS NULL", key, a.Shop, program)
	switch {
	case err != nil:
	case bad != nil:
		err = bad
	case !ok || !w.visibleTo(a):
		err = notFound("webhook")
	}
	return w, err
}

// Webhooks are those that are addressed through a program, newest first.
func (v *View) Webhooks(a Access, programID string) (list []Webhook, err error) {
	list = []Webhook{}
	err = v.snapshot(func() error {
		p, err := v.s.program(v.conn, a, programID)
		if err != nil {
			return err
		}
		var bad error
		r := v.query("SELECT "+webhookCols+" FROM webhooks WHERE program_id=? AND deleted_at IS NULL ORDER BY id DESC", p.key)
		for r.next() {
			w, err := v.s.scanWebhook(r, a.Shop)
			if err != nil {
				bad = err
			} else if w.visibleTo(a) {
				list = append(list, w.Webhook)
			}
		}
		if err := r.close(); err != nil {
			return err
		}
		return bad
	})
	return list, err
}

// Webhook is one webhook, without its secret.
func (v *View) Webhook(a Access, programID, id string) (Webhook, error) {
	w, err := v.s.webhook(v.conn, a, programID, id)
	return w.Webhook, err
}

// CreateWebhook makes a webhook in a program's path and shows its secret.
func (tx *Tx) CreateWebhook(a Access, programID string, f WebhookFields) (c CreatedWebhook, err error) {
	p, err := tx.s.program(tx.conn, a, programID)
	if err != nil {
		return c, err
	}
	w := webhook{headers: map[string]string{}}
	w.Active, w.IncludeShopWideEvents, w.HTTPMethod, w.PayloadVersion = true, true, "POST", f.PayloadVersion.Or("v2")
	if err = tx.mergeWebhook(a, &w, f); err != nil {
		return c, err
	}
	have, err := tx.number("SELECT count(*) FROM webhooks WHERE shop_id=? AND deleted_at IS NULL", a.Shop)
	if err != nil {
		return c, err
	}
	if have >= int64(tx.Limits.Webhooks) {
		return c, refuse(Unprocessable, "The shop has %d webhooks, which is the maximum.", have)
	}
	if w.secret, err = tx.s.newWebhookSecret(); err != nil {
		return c, err
	}
	if w.key, err = tx.insert(`INSERT INTO webhooks (shop_id, program_id, payload_version, url, events, program_ids, location_ids, include_shop_wide_events, active, description,
		bearer_token, secret, http_method, custom_headers, consecutive_failures, updated_at, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		append(append([]any{a.Shop, p.key, w.PayloadVersion}, w.columns(tx.Now)...), tx.Now)...); err != nil {
		return c, err
	}
	if err = tx.auditWebhook(a, "webhook.create", w.key, ""); err != nil {
		return c, err
	}
	made, err := tx.s.webhook(tx.conn, a, programID, tx.s.ID(KindWebhook, w.key))
	return CreatedWebhook{made.Webhook, made.secret}, err
}

// columns are what POST and PATCH write, in the order of both statements.
func (w *webhook) columns(now Time) []any {
	events, _ := json.Marshal(w.Events)
	headers, _ := json.Marshal(w.headers)
	return []any{w.URL, string(events), jsonKeys(w.programs), jsonKeys(w.locations), w.IncludeShopWideEvents, w.Active, w.Description,
		w.bearer, w.secret, w.HTTPMethod, string(headers), w.ConsecutiveFailures, now}
}

// newHookSecret is a new signing secret.
func (s *Store) newWebhookSecret() (string, error) {
	var b [32]byte
	_, err := io.ReadFull(s.opts.Rand, b[:])
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:]), err
}

// UpdateWebhook changes what f names; nothing named changes nothing. The
// secret is in the answer only where it is a new one.
func (tx *Tx) UpdateWebhook(a Access, programID, id string, f WebhookPatch) (u UpdatedWebhook, err error) {
	w, err := tx.s.webhook(tx.conn, a, programID, id)
	rotate := f.RotateSecret.Or(false)
	if err != nil || !namesAnyField(&f.WebhookFields) && !rotate {
		return UpdatedWebhook{Webhook: w.Webhook}, err
	}
	if err = tx.mergeWebhook(a, &w, f.WebhookFields); err != nil {
		return u, err
	}
	detail := ""
	if rotate {
		if w.secret, err = tx.s.newWebhookSecret(); err != nil {
			return u, err
		}
		u.Secret, detail = w.secret, `{"rotated":true}`
	}
	if f.Active.Or(false) {
		w.ConsecutiveFailures = 0
		tx.notifyDue(w.key)
	}
	if _, err = tx.exec(`UPDATE webhooks SET url=?, events=?, program_ids=?, location_ids=?, include_shop_wide_events=?, active=?, description=?,
		bearer_token=?, secret=?, http_method=?, custom_headers=?, consecutive_failures=?, updated_at=? WHERE id=?`, append(w.columns(tx.Now), w.key)...); err != nil {
		return u, err
	}
	if err = tx.auditWebhook(a, "webhook.update", w.key, detail); err != nil {
		return u, err
	}
	w.UpdatedAt = tx.Now
	w.setShownFields(tx.s)
	u.Webhook = w.Webhook
	return u, nil
}

// DeleteWebhook makes a webhook not_found; what is pending for it is not sent.
func (tx *Tx) DeleteWebhook(a Access, programID, id string) error {
	w, err := tx.s.webhook(tx.conn, a, programID, id)
	if err != nil {
		return err
	}
	if _, err = tx.exec("UPDATE webhooks SET deleted_at=?1, updated_at=?1 WHERE id=?2", tx.Now, w.key); err != nil {
		return err
	}
	return tx.auditWebhook(a, "webhook.delete", w.key, "")
}

func (tx *Tx) auditWebhook(a Access, action string, key int64, detail string) error {
	if err := tx.bumpHookEpoch(); err != nil {
		return err
	}
	return tx.audit(a.Shop, action, KindWebhook, key, detail)
}

// bumpHooks makes every process read webhooks anew before it next matches or
// sends. The writer's own memory goes at once: later writes of the same group
// do not read the epoch again.
func (tx *Tx) bumpHookEpoch() error {
	tx.s.subscribers = map[int64][]subscriber{}
	_, err := tx.exec("UPDATE meta SET hook_epoch=hook_epoch+1 WHERE id=1")
	return err
}

// mergeWebhook puts f's fields over w and applies the rules that need the
// file or the deployment's limits.
func (tx *Tx) mergeWebhook(a Access, w *webhook, f WebhookFields) (err error) {
	w.URL, w.bearer, w.Active = f.URL.Or(w.URL), f.BearerToken.Apply(w.bearer), f.Active.Or(w.Active)
	w.IncludeShopWideEvents, w.HTTPMethod = f.IncludeShopWideEvents.Or(w.IncludeShopWideEvents), f.HTTPMethod.Or(w.HTTPMethod)
	if f.Description.Set {
		w.Description = f.Description.Or("")
	}
	if f.Events.Set {
		w.Events = unique(f.Events.V)
	}
	if f.URL.Set && f.URL.V != tx.CheckedTarget {
		return fmt.Errorf("store: the webhook's URL was not checked")
	}
	details := f.Check(tx.Now)
	var more []Detail
	if f.ProgramIDs.Set {
		if w.programs, more, err = tx.ownPrograms(a.Shop, "program_ids", f.ProgramIDs.Or(nil)); err != nil {
			return err
		}
		details = append(details, more...)
	}
	if f.LocationIDs.Set {
		if w.locations, more, err = tx.ownLocations(a.Shop, "location_ids", f.LocationIDs.Or(nil)); err != nil {
			return err
		}
		details = append(details, more...)
	}
	if f.CustomHeaders.Set {
		w.headers = f.CustomHeaders.Or(map[string]string{})
		details = append(details, tx.Limits.checkHeaders(w.headers)...)
	}
	switch {
	case details != nil:
		return Invalid(details...)
	case !w.visibleTo(a):
		return refuse(Unauthorized, "This key is restricted to locations: location_ids must name some, all of them its own.")
	}
	return nil
}

// once is a list without what it repeats, in its order.
func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
