package store

import (
	"encoding/base64"
	"fmt"
	"slices"
)

// Webhook is a subscription to events. It does not contain the secret, which
// only CreatedWebhook and UpdatedWebhook show, once.
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

// CreatedWebhook is the answer to POST webhook.
type CreatedWebhook struct {
	Webhook
	Secret string `json:"secret" doc:"Signs the deliveries. Shown only here."`
}

// Shown returns the answer without the secret, for a person to whom it was shown.
func (w CreatedWebhook) Shown() any { return &CreatedWebhook{Webhook: w.Webhook} }

// UpdatedWebhook is the answer to a PATCH.
type UpdatedWebhook struct {
	Webhook
	Secret string `json:"secret,omitempty" doc:"The new secret, only when rotate_secret was true. The old one ended with this answer."`
}

// Shown returns the answer without the secret, for a person to whom it was shown.
func (w UpdatedWebhook) Shown() any { return &UpdatedWebhook{Webhook: w.Webhook} }

// WebhookFields is the body of POST webhook, and of PATCH webhook apart from
// rotate_secret.
type WebhookFields struct {
	URL                   Opt[string]            `json:"url" req:"true" min:"1" max:"2048" format:"target-url" doc:"https, without user info; every address of the host must be public."`
	Events                Opt[[]string]          `json:"events" req:"true" min:"1" max:"50" distinct:"true" doc:"Event keys, * for all, or a prefix such as card.* for all of its events; at most 50 after duplicates are dropped. transaction.created excludes the exact events of single transactions."`
	BearerToken           Opt[string]            `json:"bearer_token" min:"1" max:"1024" pattern:"^[!-~]*$" words:"must be 1 to 1024 visible ASCII characters without spaces" patch:"nullable" doc:"Sent as Authorization: Bearer …; visible ASCII, but not ***. In a PATCH, null removes it; a PATCH that changes the URL's scheme, host or port must name it where there is one."`
	Active                Opt[bool]              `json:"active" doc:"Default true. In a PATCH, true also sets consecutive_failures to 0, and what is pending goes on."`
	Description           Opt[string]            `json:"description" max:"500" patch:"default" doc:"Default empty; in a PATCH, null empties it."`
	ProgramIDs            Opt[[]string]          `json:"program_ids" max:"1000" patch:"default" doc:"Only events of these programs. Empty or null: of all. A PATCH may name those again that the webhook has and that are gone."`
	LocationIDs           Opt[[]string]          `json:"location_ids" max:"1000" patch:"default" doc:"Only events at these locations. Empty or null: at all. A restricted key must name some, all of them its own."`
	IncludeShopWideEvents Opt[bool]              `json:"include_shop_wide_events" doc:"Default true; false for a restricted key, which may not set it to true."`
	HTTPMethod            Opt[string]            `json:"http_method" enum:"POST,PUT,PATCH" doc:"Default POST. Stored only: deliveries are POST."`
	CustomHeaders         Opt[map[string]string] `json:"custom_headers" patch:"default" doc:"Replaces all. Names are HTTP tokens without an underscore, each once whatever its case, and none that deliveries set themselves or that belong to the connection, nor Cookie; values are visible ASCII and spaces, but not ***. In a PATCH, null empties it; a PATCH that changes the URL's scheme, host or port must name it where there are some."`
	PayloadVersion        Opt[string]            `json:"payload_version" enum:"v1,v2" patch:"not_allowed" doc:"Default v2; fixed from then on."`
}

// WebhookPatch is the body of PATCH webhook.
type WebhookPatch struct {
	WebhookFields
	RotateSecret Opt[bool] `json:"rotate_secret" doc:"True makes a new secret, which the answer shows once; the old one ends at once."`
}

// Target returns the URL of the request, whose addresses the caller has to
// check. It returns "" if the request has none.
func (f WebhookFields) Target() (field, url string) { return "url", f.URL.Or("") }

// webhook is a row of webhooks with the columns that no answer shows.
type webhook struct {
	Webhook
	key       int64
	programs  []int64
	locations []int64
	bearer    Null[string]
	secret    string
	headers   map[string]string // unmasked
	draft     bool              // see DraftWebhook
}

var webhookCols = `id, program_id, url, events, active, description, bearer_token, program_ids, location_ids,
	include_shop_wide_events, http_method, custom_headers, payload_version, consecutive_failures, created_at, updated_at, secret,
	draft`

func (g IDs) scanWebhook(r *rows, shop int64) (w webhook) {
	var program int64
	r.scan(&w.key, &program, &w.URL, &w.Events, &w.Active, &w.Description, &w.bearer, &w.programs, &w.locations, &w.IncludeShopWideEvents,
		&w.HTTPMethod, &w.headers, &w.PayloadVersion, &w.ConsecutiveFailures, &w.CreatedAt, &w.UpdatedAt, &w.secret, &w.draft)
	w.ID, w.ShopID, w.ProgramID = g.ID(KindWebhook, w.key), g.ID(KindShop, shop), g.ID(KindProgram, program)
	w.setShownFields(g)
	return w
}

// setShownFields sets the fields of the resource that depend on hidden columns.
func (w *webhook) setShownFields(g IDs) {
	w.HasBearerToken = w.bearer.Valid
	w.ProgramIDs, w.LocationIDs = g.idsOf(KindProgram, w.programs, []string{}), g.idsOf(KindLocation, w.locations, []string{})
	w.CustomHeaders = map[string]string{}
	for name := range w.headers {
		w.CustomHeaders[name] = "***"
	}
}

// visibleTo reports whether a key may see and write the webhook. A key that is
// restricted to locations may only if the webhook names locations, all of them
// the key's own, and gets no shop-wide events.
func (w *webhook) visibleTo(a Access) bool {
	return !a.Restricted ||
		len(w.locations) > 0 && !w.IncludeShopWideEvents && !slices.ContainsFunc(w.locations, func(l int64) bool { return !a.allows(l) })
}

// webhook returns a webhook by its id and its program's id. One of another program, a
// deleted one and one that the key may not see are not_found.
func (q *queries) webhook(a Access, programID, id string) (w webhook, err error) {
	w, err = q.webhookByID(a, id)
	if err == nil && w.ProgramID != programID {
		err = notFound("webhook")
	}
	return w, err
}

// webhookByID returns a webhook by its id alone.
func (q *queries) webhookByID(a Access, id string) (w webhook, err error) {
	err = q.find("webhook", func(r *rows) { w = q.scanWebhook(r, a.Shop) },
		"SELECT "+webhookCols+" FROM webhooks WHERE id=? AND shop_id=? AND deleted_at IS NULL", q.keyOrNone(KindWebhook, id), a.Shop)
	if err == nil && !w.visibleTo(a) {
		err = notFound("webhook")
	}
	return w, err
}

// Webhooks returns the webhooks of a program's path, newest first.
func (v *View) Webhooks(a Access, programID string) (list []Webhook, err error) {
	list = []Webhook{}
	v.snapshot()
	p, err := v.program(a, programID)
	if err != nil {
		return list, err
	}
	for r := range v.each("SELECT "+webhookCols+" FROM webhooks WHERE program_id=? AND deleted_at IS NULL ORDER BY id DESC", p.key) {
		if w := v.scanWebhook(r, a.Shop); w.visibleTo(a) {
			list = append(list, w.Webhook)
		}
	}
	return list, v.failed
}

// Webhook returns one webhook, without its secret.
func (v *View) Webhook(a Access, programID, id string) (Webhook, error) {
	w, err := v.webhook(a, programID, id)
	return w.Webhook, err
}

// CreateWebhook creates a webhook in a program's path. More webhooks than
// Limits.Webhooks are unprocessable.
func (tx *Tx) CreateWebhook(a Access, programID string, f WebhookFields) (c CreatedWebhook, err error) {
	p, err := tx.program(a, programID)
	if err != nil {
		return c, err
	}
	w := webhook{headers: map[string]string{}}
	w.Active, w.IncludeShopWideEvents, w.HTTPMethod, w.PayloadVersion = true, !a.Restricted, "POST", f.PayloadVersion.Or("v2")
	if err = tx.mergeWebhook(a, &w, f); err != nil {
		return c, err
	}
	have := tx.number("SELECT count(*) FROM webhooks WHERE shop_id=? AND deleted_at IS NULL", a.Shop)
	if have >= int64(tx.Limits.Webhooks) {
		return c, refuse(Unprocessable, "The shop has %d webhooks, which is the maximum.", have)
	}
	w.secret = tx.newWebhookSecret()
	w.key = tx.insert(
		`INSERT INTO webhooks (shop_id, program_id, payload_version, url, events, program_ids, location_ids, include_shop_wide_events,
			active, description,
		bearer_token, secret, http_method, custom_headers, consecutive_failures, updated_at, created_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		append(append([]any{a.Shop, p.key, w.PayloadVersion}, w.columns(tx.Now)...), tx.Now)...)
	tx.auditWebhook(a, "webhook.create", w.key, "")
	made, err := tx.webhook(a, programID, tx.ID(KindWebhook, w.key))
	return CreatedWebhook{made.Webhook, made.secret}, err
}

// columns returns the values that POST and PATCH write, in the order of both
// statements.
func (w *webhook) columns(now Time) []any {
	return []any{w.URL, jsonText(w.Events), jsonKeys(w.programs), jsonKeys(w.locations), w.IncludeShopWideEvents, w.Active, w.Description,
		w.bearer, w.secret, w.HTTPMethod, jsonText(w.headers), w.ConsecutiveFailures, now}
}

// newWebhookSecret returns a new signing secret.
func (tx *Tx) newWebhookSecret() string {
	return "whsec_" + base64.StdEncoding.EncodeToString(tx.random(32))
}

// UpdateWebhook changes the fields that f names. A webhook that has the values
// already stays as it is. The answer contains the secret only if it is new.
func (tx *Tx) UpdateWebhook(a Access, programID, id string, f WebhookPatch) (u UpdatedWebhook, err error) {
	w, err := tx.webhook(a, programID, id)
	rotate := f.RotateSecret.Or(false)
	if err != nil || !namesAnyField(&f.WebhookFields) && !rotate {
		return UpdatedWebhook{Webhook: w.Webhook}, err
	}
	if err = tx.checkDraft(w, f); err != nil {
		return u, err
	}
	old, before := w.Webhook, w.columns(0)
	if err = tx.mergeWebhook(a, &w, f.WebhookFields); err != nil {
		return u, err
	}
	detail := ""
	if rotate {
		w.secret = tx.newWebhookSecret()
		u.Secret, detail = w.secret, `{"rotated":true}`
	}
	if f.Active.Or(false) {
		w.ConsecutiveFailures = 0
		tx.notifyDue(w.key)
	}
	if !rotate && slices.Equal(w.columns(0), before) {
		return UpdatedWebhook{Webhook: old}, nil
	}
	tx.exec(`UPDATE webhooks SET url=?, events=?, program_ids=?, location_ids=?, include_shop_wide_events=?, active=?, description=?,
		bearer_token=?, secret=?, http_method=?, custom_headers=?, consecutive_failures=?, updated_at=? WHERE id=?`,
		append(w.columns(tx.Now), w.key)...)
	if w.draft && w.Active {
		tx.exec("UPDATE webhooks SET draft=0 WHERE id=?", w.key)
	}
	tx.auditWebhook(a, "webhook.update", w.key, detail)
	w.UpdatedAt = tx.Now
	w.setShownFields(tx.IDs)
	u.Webhook = w.Webhook
	return u, tx.failed
}

// deleteWebhooks marks webhooks as deleted, which also ends their pending
// deliveries, and removes what they sign and authenticate with. ?1 is the time.
const deleteWebhooks = "UPDATE webhooks SET deleted_at=?1, updated_at=?1, secret='', bearer_token=NULL, custom_headers='{}' WHERE "

// DeleteWebhook deletes a webhook. Its pending deliveries are not sent.
func (tx *Tx) DeleteWebhook(a Access, programID, id string) error {
	w, err := tx.webhook(a, programID, id)
	if err != nil {
		return err
	}
	tx.exec(deleteWebhooks+"id=?2", tx.Now, w.key)
	tx.auditWebhook(a, "webhook.delete", w.key, "")
	return tx.failed
}

// auditWebhook records a change of a webhook and ends the caching of webhooks.
func (tx *Tx) auditWebhook(a Access, action string, key int64, detail string) {
	tx.bumpHookEpoch()
	tx.audit(a.Shop, action, KindWebhook, key, detail)
}

// bumpHookEpoch makes every process read webhooks again before it next matches
// or sends. It empties the writer's own cache at once, since later writes of the
// same group do not read the epoch again.
func (tx *Tx) bumpHookEpoch() {
	tx.s.subscribers = map[int64][]subscriber{}
	tx.exec("UPDATE meta SET hook_epoch=hook_epoch+1 WHERE id=1")
}

// mergeWebhook sets the fields of w that f names, and applies the rules that
// need the file or the deployment's limits.
func (tx *Tx) mergeWebhook(a Access, w *webhook, f WebhookFields) (err error) {
	moved := w.movedSecrets(f)
	merge(&w.Webhook, f)
	w.bearer = f.BearerToken.Apply(w.bearer)
	if f.Events.Set {
		w.Events = unique(f.Events.V)
	}
	if f.URL.Set && f.URL.V != tx.CheckedTarget {
		return fmt.Errorf("store: the webhook's URL was not checked")
	}
	details := append(f.Check(tx.Now), moved...)
	var more []Detail
	if f.ProgramIDs.Set {
		w.programs, more = tx.ownKeys(KindProgram, a.Shop, "program_ids", f.ProgramIDs.Or(nil), w.programs...)
		details = append(details, more...)
	}
	if f.LocationIDs.Set {
		w.locations, more = tx.ownKeys(KindLocation, a.Shop, "location_ids", f.LocationIDs.Or(nil), w.locations...)
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
		return refuse(
			Unauthorized,
			"This key is restricted to locations: location_ids must name some, all of them its own, "+
				"and include_shop_wide_events must be false.",
		)
	}
	return nil
}

// unique returns the list without repetitions, in its order.
func unique(list []string) (out []string) {
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}
