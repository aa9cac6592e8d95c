package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// assistant is an AI assistant that uses the shop over /mcp.
type assistant struct {
	*year
	all    face // with a key of every scope
	reader face // with a key that reads statistics alone
	calls  int
}

// result is the answer to a call of a tool.
type result struct {
	Content []struct{ Text string }
	IsError bool
}

// hireAssistant makes the second key.
func (y *year) hireAssistant() error {
	var key struct{ Key string }
	body := map[string]any{"shop_id": y.shop.ID, "class": "mcp", "name": "Reader", "scopes": []string{"analytics:read"}}
	err := y.need(y.control(), "POST", "/keys", body, &key)
	y.assistant = &assistant{year: y, all: bearer("mcp", "/mcp", y.server.ready.MCPKey), reader: bearer("mcp", "/mcp", key.Key)}
	return err
}

// send sends a request of the protocol, whose answer must be of the status.
func (a *assistant) send(f face, method string, params map[string]any, want string) (reply, bool) {
	if params == nil {
		params = map[string]any{}
	}
	f = f.with("Accept", "application/json, text/event-stream").with("MCP-Protocol-Version", "2025-06-18")
	return a.ask(f, "POST", "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, want)
}

// rpc sends a request that must succeed, and decodes the result into v.
func (a *assistant) rpc(f face, method string, params map[string]any, v any) bool {
	r, ok := a.send(f, method, params, "200")
	if !ok {
		return false
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := r.decode(&answer); err != nil || answer.Error != nil || v != nil && json.Unmarshal(answer.Result, v) != nil {
		a.fault("mcp %s %v: %s", method, params, r.body)
		return false
	}
	return true
}

// call calls a tool, and decodes its answer into v. want is the code of the refusal that is expected; empty: none.
func (a *assistant) call(f face, tool string, args map[string]any, v any, want string) bool {
	var r result
	if !a.rpc(f, "tools/call", map[string]any{"name": tool, "arguments": args}, &r) {
		return false
	}
	var refusal struct{ Code string }
	if r.IsError {
		json.Unmarshal([]byte(r.Content[0].Text), &refusal) // a text without a code is not what is wanted
	}
	if len(r.Content) == 0 || r.IsError != (want != "") || refusal.Code != want {
		a.fault("mcp %s %v: %+v, want %q", tool, args, r, want)
		return false
	}
	a.count("assistant: " + tool)
	if v == nil {
		return true
	}
	if err := json.Unmarshal([]byte(r.Content[0].Text), v); err != nil {
		a.fault("mcp %s: %v", tool, err)
		return false
	}
	return true
}

// key returns an idempotency key.
func (a *assistant) key() string {
	a.calls++
	return fmt.Sprintf("life-%d-%d", a.seed, a.calls)
}

// report makes the calls by which the assistant reads the figures of the shop. Nobody else is busy meanwhile.
func (a *assistant) report() {
	hello := map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "life", "version": "1"}}
	a.rpc(a.all, "initialize", hello, nil)
	for _, f := range []face{a.all, a.reader} {
		var list struct{ Tools []struct{ Name string } }
		a.rpc(f, "tools/list", nil, &list)
		writes := slices.ContainsFunc(list.Tools, func(t struct{ Name string }) bool { return t.Name == "issue_cards" })
		if writes == (f.header["Authorization"] == a.reader.header["Authorization"]) {
			a.fault("mcp tools/list: %+v", list)
		}
	}
	for _, list := range []string{"resources/list", "prompts/list"} {
		a.rpc(a.all, list, nil, nil)
	}
	a.rpc(a.all, "resources/read", map[string]any{"uri": "punchcard://shop"}, nil)
	a.rpc(a.all, "prompts/get", map[string]any{"name": "weekly_report"}, nil)
	for _, args := range []map[string]any{{"view": "summary"}, {"view": "card_types"}, {"view": "heatmap"}} {
		a.figure("get_analytics", args)
	}
	for _, p := range a.shop.programs {
		a.figure("get_analytics", map[string]any{"view": "program", "program_id": p.ID})
	}
	monday := a.now.In(a.shop.zone()).AddDate(0, 0, -7)
	a.figure("compare_periods", map[string]any{"from": monday.Format(time.DateOnly), "to": monday.AddDate(0, 0, 6).Format(time.DateOnly)})
	a.figure("get_overview", map[string]any{})
	a.figure("find_cards", map[string]any{"not_seen_days": 30, "limit": 20})
	a.figure("find_cards", map[string]any{"prize_due": true, "limit": 20})
	a.call(a.all, "get_webhooks", map[string]any{}, nil, "")
	a.call(a.all, "list_transactions", map[string]any{"limit": 20}, nil, "")
}

// figure reads figures.
func (a *assistant) figure(tool string, args map[string]any) {
	var body json.RawMessage
	if !a.call(a.all, tool, args, &body, "") {
		return
	}
	path, _ := json.Marshal(args) // of texts and numbers
	a.figures.write(figure{a.shop.ID, a.now, "mcp " + tool, string(path), body})
}

// askAssistant makes the calls by which the assistant issues cards, changes one, drafts a webhook once a month, and tries what its keys
// must not do.
func (o *office) askAssistant(day time.Time, _ int) func() {
	a, n := o.assistant, 3
	if day.Day() <= 7 { // more than ten have to be confirmed
		n = 12
	}
	members := make([]*member, n)
	p := o.shop.programs[o.rand.IntN(len(o.shop.programs))]
	for i := range members {
		members[i] = o.newMember()
		members[i].shop, members[i].program, members[i].faceOfIssue, members[i].platform = o.shop, p, "mcp", ""
	}
	found := o.pick(1, func(m *member) bool { return !o.busy[m] })
	return func() {
		a.issue(members, p)
		if found != nil {
			a.refer(found[0])
		}
		l := o.shop.locations[0]
		if a.call(a.all, "update_location", map[string]any{"id": l.ID, "city": "Roma", "idempotency_key": a.key()}, nil, "") {
			a.note("location", done{change: change{Subject: l.ID}})
		}
		a.call(a.all, "set_location_state", map[string]any{"id": l.ID, "state": "disabled"}, nil, "") // which it does not confirm
		a.call(a.all, "set_location_state", map[string]any{"id": "loc_x", "state": "disabled"}, nil, "not_found")
		a.forbidden(l)
		if n > 3 {
			a.draft(p)
		}
	}
}

// refer gives the card of a member another reference, after finding the one that is in use.
func (a *assistant) refer(m *member) {
	var list struct{ Data []struct{ ID, Status string } }
	if !a.call(a.all, "find_cards", map[string]any{"email": m.email()}, &list, "") {
		return
	}
	for _, c := range list.Data {
		if c.Status == "archived" {
			continue
		}
		args := map[string]any{"id": c.ID, "external_ref": fmt.Sprintf("as-%d", m.n), "idempotency_key": a.key()}
		if a.call(a.all, "update_card", args, nil, "") {
			a.note("card", done{Card: m.card, change: change{Subject: c.ID}})
		}
		return
	}
	a.fault("mcp find_cards finds %+v of %s", list, m.email())
}

// draft drafts a webhook, to which nothing is sent before a person has looked at it.
func (a *assistant) draft(p *program) {
	var made struct{ ID string }
	args := map[string]any{"program_id": p.ID, "url": "https://hooks.example/n8n", "events": []string{"card.*"}, "idempotency_key": a.key()}
	if a.call(a.all, "draft_webhook", args, &made, "") {
		a.note("webhook", done{change: change{Subject: made.ID}})
		a.call(a.all, "manage_webhook", map[string]any{"id": made.ID, "action": "test"}, nil, "unprocessable_entity")
	}
}

// note writes a line about a change of the assistant.
func (a *assistant) note(kind string, line done) {
	line.At, line.Shop, line.Face, line.Kind, line.Rows = a.now, a.shop.ID, "mcp", kind, []row{}
	a.answers.write(line)
	a.count("assistant changed: " + kind)
}

// issue issues the cards of members, after a trial.
func (a *assistant) issue(members []*member, p *program) {
	cards := []any{}
	for _, m := range members {
		cards = append(cards, map[string]any{"holder_name": m.name(), "holder_email": m.email(), "external_ref": fmt.Sprint("m-", m.n)})
	}
	args := map[string]any{"program_id": p.ID, "cards": cards, "dry_run": true}
	var made struct {
		Token  string `json:"confirm_token"`
		Issued int
		Cards  []struct {
			ID          string
			ExternalRef *string `json:"external_ref"`
			Code        string
		}
	}
	if !a.call(a.all, "issue_cards", args, &made, "") || made.Issued != 0 {
		return
	}
	delete(args, "dry_run")
	args["idempotency_key"] = a.key()
	ok := a.call(a.all, "issue_cards", args, &made, "")
	if ok && made.Token != "" {
		args["confirm_token"] = made.Token
		ok = a.call(a.all, "issue_cards", args, &made, "")
	}
	if !ok {
		return
	}
	for i, c := range made.Cards {
		if c.ID == "" {
			a.count("card refused: " + c.Code)
			continue
		}
		m := members[i]
		m.card, m.first = c.ID, c.ID
		a.note("issue", done{Card: c.ID, Issued: &issued{ID: c.ID, ProgramID: p.ID, ExternalRef: c.ExternalRef}})
	}
}

// forbidden tries what the keys must not do.
func (a *assistant) forbidden(l *location) {
	issue := map[string]any{"program_id": a.shop.programs[0].ID, "cards": []any{map[string]any{"holder_name": "X"}}}
	a.call(a.reader, "issue_cards", issue, nil, "unauthorized")
	a.call(a.reader, "set_location_state", map[string]any{"id": l.ID, "state": "disabled"}, nil, "unauthorized")
	a.call(a.reader, "find_cards", map[string]any{}, nil, "unauthorized")
	r, ok := a.send(a.all, "tools/call", map[string]any{"name": "stamp", "arguments": map[string]any{}}, "200")
	if ok && !strings.Contains(string(r.body), "This server does not have the tool.") {
		a.fault("mcp stamp: %s", r.body)
	}
	rest := a.shop.api
	rest.base = "/mcp"
	a.send(rest, "tools/list", nil, "401")
	other := a.all
	other.base = "/api/public/v1"
	a.ask(other, "GET", "/cards", nil, "401 unauthenticated")
	a.count("assistant: what its keys must not do")
}
