package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

func TestWebhookForms(t *testing.T) {
	s := start(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
	defer receiver.Close()
	owner, manager := s.as("owner"), s.as("manager")

	form := manager.open("/dashboard/new/webhook")
	for _, field := range []string{"url", "events"} {
		form.refused(field)
	}
	form.set("url", "ftp://example.com/", "events", "card.nothing").refused("events")
	form.set("url", receiver.URL+"/in", "events", "card.*", "description", "Newsletter", "_custom_headers", "X-Team marketing")
	form.refused("_custom_headers")
	form.set("_custom_headers", "X-Team: marketing\r\nX-Env: prod", "bearer_token", "t0ken")
	if made := form.send().shows("The webhook was created", "only owners"); strings.Contains(made.body, "whsec_w") {
		t.Error("a manager sees the secret")
	}
	s.Unchanged(func() { form.send().want(200) })
	list := manager.get("/dashboard/webhooks").has("Newsletter", "card.*", "Nothing sent yet", "On")
	at := list.pathTo("/dashboard/webhook/", "")

	edit := manager.get(at+"/edit").has("X-Env, X-Team", "One is stored").form()
	edit.set("description", "Accounts").
		sendTwice().
		next().
		has("Accounts", "The webhook was saved.", "Sent with each delivery", "X-Env, X-Team")
	manager.fill(at+"/edit", "url", "http://127.0.0.1:9/elsewhere").want(400).problem("bearer_token")
	manager.fill(at+"/edit", "_remove_token", "true", "_remove_headers", "true").next().lacks("X-Env", "Sent with each")

	rotated := owner.get(at+"/rotate").
		has("Rotate the signing secret?").
		form().
		send().
		want(200).
		has("The secret was rotated", "whsec_", "WEBHOOK_SECRET=", "verify.py")
	if secret := between(rotated.text(), "WEBHOOK_SECRET='", "'"); len(secret) < 40 ||
		strings.Contains(owner.get(at).body+owner.get(at+"/receiver").body, secret) {
		t.Errorf("the secret is %q, or another page shows it", secret)
	}
	form = owner.open("/dashboard/new/webhook", "url", receiver.URL+"/owner", "events", "card.*")
	for range 2 { // a form that is sent again shows no secret
		secret := form.send().want(200).setting("secret")
		if !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("%s: the secret is %s", form.what, secret)
		}
		s.Unchanged(func() { form.send().want(200).lacks(secret).has("was shown once") })
		form = owner.open(at + "/rotate")
	}
	if n := s.Value("SELECT count(*) FROM idempotency WHERE instr(body, 'whsec_')>0"); n != "0" {
		t.Errorf("%s secrets are remembered", n)
	}
	manager.twice(at + "/deactivate").next().has("The webhook is off")
	manager.get(at).has("Off").form(at + "/activate").sendTwice().next().has("The webhook is on")
	sent := manager.get(at).form(at+"/test").sendTwice().next().has("test.ping", "A test event is on its way.")
	s.Control("POST", "/settle", nil).Want(200)
	viewer := s.as("viewer")
	viewer.get(sent.path).has("test.ping", "Managers and owners").lacks("This is a test delivery")
	viewer.get("/dashboard/webhooks").lacks("/dashboard/new/webhook")
	viewer.get(at + "/receiver?language=python").want(200)
	viewer.get(at + "/deliveries?state=failed&event=test.ping").want(200)
	owner.get(at + "/deliveries?state=none").want(400)
	manager.get(sent.path).
		has("Delivered", "204 No Content", "X-Service-Signature", "This is a test delivery").
		form(sent.path + "/redeliver").
		sendTwice().
		next().
		has("The event is sent again.")
	manager.get(at).has("of the newest 1", "Latest deliveries")
	manager.get(at + "/delete").has("Delete this webhook?").form().sendTwice().next().has("The webhook was deleted.")
	manager.get(at).want(404)
}

// TestDraftActivatedOnce turns the draft of an assistant on by a form that is sent twice: once
// it is activated, and once its secret is shown.
func TestDraftActivatedOnce(t *testing.T) {
	s := start(t, func(c *app.Config) { c.HoldWebhooks = true })
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		tx.CheckedTarget = "https://example.com/n8n"
		_, err := tx.DraftWebhook(store.Access{Shop: s.Row(store.KindShop, s.ShopID)}, s.ProgramIDs["standard"], store.DraftFields{
			URL: store.Given(tx.CheckedTarget), Events: store.Given([]string{"card.*"}), Description: store.Given("For n8n"),
		})
		return err
	})
	owner := s.as("owner")
	at := owner.get("/dashboard/webhooks").has("For n8n", "Draft of an assistant").pathTo("/dashboard/webhook/", "")
	s.as("manager").get(at).has("An assistant drafted this webhook.").lacks(at+"/rotate", at+"/activate", at+"/test")
	form := owner.get(at+"/rotate").has("Turn on this draft?", "https://example.com/n8n").form()
	secret := form.send().want(200).setting("secret")
	if !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("the secret is %s", secret)
	}
	s.Unchanged(func() { form.send().want(200).lacks(secret).has("was shown once") })
	owner.get(at).has("On").lacks("An assistant drafted", secret)
	if n := s.Value("SELECT count(*) FROM audit WHERE action='webhook.update'"); n != "1" {
		t.Errorf("%s changes are audited", n)
	}
	if stored := s.Value("SELECT secret FROM webhooks WHERE description='For n8n'"); stored != secret {
		t.Error("deliveries are signed with another secret")
	}
}
