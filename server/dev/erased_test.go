package dev_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// issueOnce issues a card with an idempotency key that is the body.
func issueOnce(r *server, body fields) *reply {
	r.T.Helper()
	return callREST(r, "POST", cardsPath(r), body, "Idempotency-Key", fmt.Sprint(body))
}

// nameCard issues a card and makes requests that name it by its id, codes, link or holder, or list it.
// Some are refused, and some lose their answers. It returns the texts that name the card or the card
// that it overflows into, and the id of that.
func nameCard(r *server) (names []string, child string) {
	r.T.Helper()
	const name, mail, ref = "Zebedee Quill", "zebedee@example.com", "zeb-7"
	r.Get("/cards?external_ref=" + ref).Want(200) // there is none yet
	r.Post("/programs/prg_none/cards", fields{"holder_email": strings.ToUpper(mail)}).Want(404)
	whole := fields{"holder_name": name, "holder_email": mail, "external_ref": ref, "send_email": true}
	made := issueOnce(r, whole).Want(201)
	card := made.Str("id")
	issueOnce(r, whole).Want(201) // replayed
	issueOnce(r, fields{"holder_name": name, "external_ref": ref}).Want(409, "conflict")
	link := made.Str("install_url")
	token := link[strings.LastIndex(link, "/")+1:]
	qr, short := r.Codes(link)
	send(r, "GET", link, nil, "Accept", "text/html")
	r.Patch("/cards/"+card, fields{"holder_name": name + " II"}).Want(200)
	r.Patch("/cards/"+card, fields{"holder_name": 7}).Want(400)
	r.Get("/cards").Want(200)
	r.Get("/cards?holder_email=" + url.QueryEscape(strings.ToUpper(mail))).Want(200)
	callREST(r, "HEAD", "/cards?external_ref="+ref, nil)
	callREST(r, "HEAD", "/cards?holder_email="+strings.ToUpper(mail), nil)
	r.Get("/cards/" + token).Want(404)
	stamped := callTill(r, "POST", "/cards/"+card+"/stamps", fields{"count": 12, "metadata": fields{"note": name}}).Want(201)
	child = stamped.Str("overflow_card.id")
	callTill(r, "POST", "/transactions/"+stamped.Str("transaction.id")+"/reversal", fields{"metadata": name}).Want(400)
	callTill(r, "GET", "/cards/"+child, nil).Want(200)
	r.Get("/transactions").Want(200)
	for _, code := range []string{qr, short} {
		callTill(r, "POST", "/cards/"+url.PathEscape(strings.ToUpper(code))+"/uses", fields{"metadata": fields{"note": name}}).Want(422)
	}
	for _, fault := range []fields{{"status": 503, "when": "after"}, {"status": 0, "when": "after"}, {"status": 503}} {
		newFault(r, servertest.Merge(fault, fields{"method": "POST", "path": "/cards/*/reissue"}))
		callREST(r, "POST", "/cards/"+card+"/reissue", fields{"holder_name": name, "send_email": true})
	}
	callTill(r, "GET", "/cards/"+qr, nil).Want(404) // a reissue replaced it
	return []string{name, mail, ref + `"`, ref + "&", card, child, qr, short, token}, child
}

// loseCard issues a card whose only answer is lost, and which no index finds. It returns its id.
func loseCard(r *server) string {
	r.T.Helper()
	newFault(r, fields{"method": "POST", "path": "/programs/*/cards", "status": 503, "when": "after"})
	callREST(r, "POST", cardsPath(r), fields{"holder_name": "Zebedee Quill III"})
	return r.Get("/cards").Want(200).Str("data.0.id")
}

// TestEraseLeavesTheJournal checks that an erasure deletes the captured messages with links of
// the card, and every entry of the journal that is about it, whether the entry names it by id, code or
// link, lists it among others, was refused, or lost its answer. The entries about other cards stay.
func TestEraseLeavesTheJournal(t *testing.T) {
	r := start(t)
	r.Control("DELETE", "/requests", nil)
	other := issueOnce(
		r,
		fields{"holder_name": "Grace", "holder_email": "grace@example.com", "external_ref": "zeb-70", "send_email": true},
	).NewID()
	names, child := nameCard(r)
	lost := loseCard(r)
	names = append(names, lost)
	r.Get("/cards/" + other).Want(200)
	callTill(r, "POST", "/cards/"+other+"/stamps", fields{}).Want(201)
	r.Get("/me").Want(200)
	var kept []int64
	for _, e := range readJournal(r, "?limit=1000").Data {
		if strings.Contains(e.Path, other) || strings.HasSuffix(e.Path, "/me") ||
			strings.Contains(string(e.Response.Body), other) && e.Method == "POST" {
			kept = append(kept, e.Seq)
		}
	}

	named := func(path string) bool {
		text := strings.ToLower(string(r.Control("GET", path, nil).Body))
		return slices.ContainsFunc(names, func(s string) bool { return strings.Contains(text, strings.ToLower(s)) })
	}
	if !named("/requests?limit=1000") || !named("/emails") {
		t.Fatal("nothing names the card before it is erased")
	}
	r.Control("POST", "/cards/"+child+"/delete", fields{})
	r.Control("POST", "/cards/"+lost+"/delete", fields{})
	const remains = "SELECT wipe_page FROM meta"
	if r.Value(remains) == "0" {
		t.Error("nothing is to be overwritten in the file after an erasure")
	}
	r.Control("POST", "/settle", fields{})
	if page := r.Value(remains); page != "0" {
		t.Errorf("after a settle the file is still to be overwritten, from page %s on", page)
	}
	if named("/requests?limit=1000") {
		t.Errorf("the journal still names the card: %s", callControl(r, "GET", "/requests?limit=1000", nil).Body)
	}
	if named("/emails") || !strings.Contains(string(callControl(r, "GET", "/emails", nil).Body), "grace@example.com") {
		t.Errorf("the mailbox holds %s", callControl(r, "GET", "/emails", nil).Body)
	}
	journal := readJournal(r, "?limit=1000")
	var left []int64
	for _, e := range journal.Data {
		left = append(left, e.Seq)
	}
	if !slices.Equal(left, kept) {
		t.Errorf("entries %v are left, want %v", left, kept)
	}
	for _, e := range journal.Hints {
		if !slices.Contains(left, e.Seq) {
			t.Errorf("a hint is left of entry %d", e.Seq)
		}
	}
}
