package e2e

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestAttackShopWideEvents checks that webhooks tell a key restricted to a location nothing about
// cards at another: neither its own webhooks, nor a webhook or a program that it changes.
func TestAttackShopWideEvents(t *testing.T) {
	t.Parallel()
	url, got := receiveCommanded(t)
	p := startDev(t)
	program := p.ready.ProgramIDs["standard"]
	owner, restricted := p.api(p.ready.APIKey), p.api(p.ready.RestrictedAPIKey)
	here, there := p.ready.LocationIDs[0], p.ready.LocationIDs[1]
	all := "/programs/" + program + "/webhooks"
	body := func(more map[string]any) map[string]any {
		return servertest.Merge(map[string]any{"url": url, "events": []string{"*"}, "location_ids": []string{here}}, more)
	}
	restricted.Post(all, body(map[string]any{"include_shop_wide_events": true})).Want(403, "unauthorized")
	own := all + "/" + restricted.Post(all, body(nil)).Want(201).Str("id")
	wide := all + "/" + owner.Post(all, body(map[string]any{"url": "https://hooks.invalid/", "active": false})).Want(201).Str("id")
	restricted.Patch(own, map[string]any{"include_shop_wide_events": true}).Want(403, "unauthorized")
	restricted.Patch(own, map[string]any{"location_ids": []string{here, there}}).Want(403, "unauthorized")
	restricted.Patch(wide, map[string]any{"url": url, "active": true}).Want(404, "not_found")
	restricted.Patch(wide, map[string]any{"rotate_secret": true}).Want(404, "not_found")
	restricted.Get(wide+"/deliveries").Want(404, "not_found")
	restricted.Post(wide+"/test", nil).Want(404, "not_found")
	restricted.Call("DELETE", wide, nil).Want(404, "not_found")
	away := newProgram(owner, `{"type":"access","name":"Away","access_image_url":"https://example.com/a.png","location_scope":"selected_locations","scoped_location_ids":["`+there+`"]}`)
	card := issueCard(owner, away, map[string]string{"holder_name": "Ada"})
	restricted.Patch("/programs/"+away, map[string]any{"location_scope": "all_locations"}).Want(403, "unauthorized")
	restricted.Patch("/programs/"+away, map[string]any{"scoped_location_ids": []string{here}}).Want(403, "unauthorized")
	restricted.Get("/cards/"+card.ID).Want(404, "not_found")
	p.outside().Post("/dev/cards/"+card.ID+"/archive", nil).Want(200) // a shop-wide event
	p.outside().Post("/dev/settle", nil).Want(200)
	restricted.Post(own+"/test", nil).Want(202)
	p.outside().Post("/dev/settle", nil).Want(200)
	if first := <-got; first.Event != "test.ping" {
		t.Errorf("the restricted key's webhook got %s", first.Event)
	}
}

// TestAttackStolenBearerToken checks that a key that may write webhooks cannot make the
// server send the secrets of one, which no answer shows, to another host.
func TestAttackStolenBearerToken(t *testing.T) {
	t.Parallel()
	url, got := receiveCommanded(t)
	p := startDev(t)
	api := p.api(p.ready.APIKey)
	all := "/programs/" + p.ready.ProgramIDs["standard"] + "/webhooks"
	made := api.Post(all, map[string]any{"url": "https://hooks.invalid/a", "events": []string{"*"}, "bearer_token": "tok-3b1f", "custom_headers": map[string]string{"X-Pass": "val-77aa"}}).Want(201)
	hook := all + "/" + made.Str("id")
	for _, target := range []string{url, "http://127.0.0.1:1/", "https://hooks.invalid:444/a", "https://evil.hooks.invalid/a"} {
		r := api.Patch(hook, map[string]any{"url": target})
		wantDetail(r, "bearer_token", "required")
		wantDetail(r, "custom_headers", "required")
	}
	wantDetail(api.Patch(hook, map[string]any{"url": url, "bearer_token": "***", "custom_headers": nil}), "bearer_token", "invalid_value")
	wantDetail(api.Patch(hook, map[string]any{"url": url, "bearer_token": nil, "custom_headers": map[string]string{"X-Pass": "***"}}), "custom_headers.X-Pass", "invalid_value")
	for _, name := range []string{"Cookie", "Host", "X_Pass", "Connection", "Transfer-Encoding", "Content-Length", "Proxy-Authorization"} {
		wantDetail(api.Patch(hook, map[string]any{"custom_headers": map[string]string{name: "x"}}), "custom_headers."+name, "invalid_value")
	}
	api.Patch(hook, map[string]any{"url": url, "bearer_token": nil, "custom_headers": nil}).Want(200)
	api.Post(hook+"/test", nil).Want(202)
	p.outside().Post("/dev/settle", nil).Want(200)
	if e := <-got; e.header.Get("Authorization") != "" || e.header.Get("X-Pass") != "" {
		t.Errorf("sent %v", e.header)
	}
	api.Call("DELETE", hook, nil).Want(204)
}

// TestAttackNamesOfTheNetwork checks that whoever may write webhooks cannot find out
// which names there are in the operator's network.
func TestAttackNamesOfTheNetwork(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--strict-webhook-targets")
	api := p.api(p.ready.APIKey)
	answers := map[string]bool{}
	for _, host := range []string{"localhost", "none.invalid", "10.0.0.1", "[fd00::1]", "169.254.169.254"} {
		r := api.Post("/programs/"+p.ready.ProgramIDs["standard"]+"/webhooks", map[string]any{"url": "https://" + host + "/", "events": []string{"*"}})
		wantDetail(r, "url", "not_public")
		answers[strings.ReplaceAll(string(r.Body), r.Str("error.request_id"), "")] = true
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
}
