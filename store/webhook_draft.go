package store

// DraftFields are the fields of a webhook that an assistant drafts: those that a person can
// check by looking at them, and none that is a secret.
type DraftFields struct {
	URL         Opt[string]   `json:"url" req:"true" min:"1" max:"2048" format:"target-url"`
	Events      Opt[[]string] `json:"events" req:"true" min:"1" max:"50" distinct:"true"`
	Description Opt[string]   `json:"description" max:"500"`
	ProgramIDs  Opt[[]string] `json:"program_ids" max:"1000"`
	LocationIDs Opt[[]string] `json:"location_ids" max:"1000"`
}

// webhookFields returns the fields of the webhook, which is not active.
func (f DraftFields) webhookFields() WebhookFields {
	return WebhookFields{
		URL:         f.URL,
		Events:      f.Events,
		Description: f.Description,
		ProgramIDs:  f.ProgramIDs,
		LocationIDs: f.LocationIDs,
		Active:      Given(false),
	}
}

// Target returns the URL of the webhook.
func (f DraftFields) Target() (field, url string) { return "url", f.URL.Or("") }

// Check validates the fields against each other.
func (f DraftFields) Check(now Time) []Detail { return f.webhookFields().Check(now) }

// DraftWebhook creates a webhook to which nothing is sent, not even a test, before a person
// has activated it and so made a new secret.
func (tx *Tx) DraftWebhook(a Access, programID string, f DraftFields) (Webhook, error) {
	made, err := tx.CreateWebhook(a, programID, f.webhookFields())
	if err != nil {
		return made.Webhook, err
	}
	tx.exec("UPDATE webhooks SET draft=1 WHERE id=?", tx.keyOrNone(KindWebhook, made.ID))
	return made.Webhook, tx.failed
}

// checkDraft refuses to activate a draft other than by a person who makes a new secret:
// the person has seen the URL, and nobody else knows the secret.
func (tx *Tx) checkDraft(w webhook, f WebhookPatch) error {
	switch {
	case !w.draft || !f.Active.Or(false):
		return nil
	case tx.Actor.Type != "user":
		return errDraft
	case !f.RotateSecret.Or(false):
		return refuse(Unprocessable, "The webhook is a draft: make a new secret when you activate it.")
	}
	return nil
}

var errDraft = refuse(Unprocessable, "The webhook is a draft of an assistant; a person must activate it in the dashboard first.")

// activeWebhook returns a webhook by its id alone, and refuses one that is not active.
func (tx *Tx) activeWebhook(a Access, id string) (w webhook, err error) {
	w, err = tx.webhookByID(a, id)
	switch {
	case err != nil:
	case w.draft:
		err = errDraft
	case !w.Active:
		err = refuse(Unprocessable, "The webhook is inactive; a person can activate it in the dashboard.")
	}
	return w, err
}

// PausedWebhook is a webhook that is inactive.
type PausedWebhook struct {
	Webhook
	Draft bool `json:"draft" doc:"Drafted by an assistant, and not activated by a person yet."`
}

// PauseWebhook makes a webhook inactive. A draft is inactive already, and stays a draft.
func (tx *Tx) PauseWebhook(a Access, id string) (PausedWebhook, error) {
	w, err := tx.webhookByID(a, id)
	if err != nil {
		return PausedWebhook{}, err
	}
	u, err := tx.UpdateWebhook(a, w.ProgramID, id, WebhookPatch{WebhookFields: WebhookFields{Active: Given(false)}})
	return PausedWebhook{u.Webhook, w.draft}, err
}

// TestActiveWebhook does what TestWebhook does, for an active webhook only.
func (tx *Tx) TestActiveWebhook(a Access, id string) (d Delivery, err error) {
	w, err := tx.activeWebhook(a, id)
	if err != nil {
		return d, err
	}
	return tx.TestWebhook(a, w.ProgramID, id)
}

// RedeliverToActive does what Redeliver does, for a webhook that is named by its id alone.
func (tx *Tx) RedeliverToActive(a Access, id, deliveryID string) (d Delivery, err error) {
	w, err := tx.activeWebhook(a, id)
	if err != nil {
		return d, err
	}
	return tx.Redeliver(a, w.ProgramID, id, deliveryID)
}
