package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// assistant is an AI assistant that uses the shop over /mcp.
type assistant struct {
	*year
	face  face
	calls int
}

// call calls a tool, which must not refuse, and decodes its answer into v.
func (a *assistant) call(tool string, args map[string]any, v any) bool {
	f := a.face.with("Accept", "application/json, text/event-stream").with("MCP-Protocol-Version", "2025-06-18")
	call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}}
	r, ok := a.ask(f, "POST", "", call, "200")
	if !ok {
		return false
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if r.decode(&answer) != nil || len(answer.Result.Content) == 0 || answer.Result.IsError ||
		json.Unmarshal([]byte(answer.Result.Content[0].Text), v) != nil {
		a.fault("mcp %s %v: %s", tool, args, r.body)
		return false
	}
	a.count("assistant: " + tool)
	return true
}

// report makes the calls by which the assistant reads the figures of the shop. Nobody else is busy meanwhile.
func (a *assistant) report() {
	for _, args := range []map[string]any{{"view": "summary"}, {"view": "card_types"}, {"view": "heatmap"}} {
		a.figure("get_analytics", args)
	}
	for _, p := range a.shop.programs {
		a.figure("get_analytics", map[string]any{"view": "program", "program_id": p.ID})
	}
	monday := a.now.In(a.shop.zone()).AddDate(0, 0, -7)
	a.figure("compare_periods", map[string]any{"from": monday.Format(time.DateOnly), "to": monday.AddDate(0, 0, 6).Format(time.DateOnly)})
	a.figure("get_overview", map[string]any{})
	a.figure("find_cards", map[string]any{"prize_due": true, "limit": 20})
}

// figure reads figures.
func (a *assistant) figure(tool string, args map[string]any) {
	var body json.RawMessage
	if !a.call(tool, args, &body) {
		return
	}
	path, _ := json.Marshal(args) // of texts and numbers
	a.figures.write(figure{a.shop.ID, a.now, "mcp " + tool, string(path), body})
}

// askAssistant makes the calls by which the assistant issues cards.
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
	return func() { a.issue(members, p) }
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
			ID, Code string
		}
	}
	if !a.call("issue_cards", args, &made) || made.Issued != 0 {
		return
	}
	delete(args, "dry_run")
	a.calls++
	args["idempotency_key"] = fmt.Sprintf("life-%d-%d", a.seed, a.calls)
	ok := a.call("issue_cards", args, &made)
	if ok && made.Token != "" {
		args["confirm_token"] = made.Token
		ok = a.call("issue_cards", args, &made)
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
		a.count("card issued: mcp")
		a.answers.write(done{At: a.now, Shop: a.shop.ID, Face: "mcp", Kind: "issue", Card: c.ID, Rows: []row{},
			Issued: &issued{ID: c.ID, ProgramID: p.ID}})
	}
}
