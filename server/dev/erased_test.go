package dev_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestEraseLeavesTheJournal checks that no entry of the journal is about a card that was erased, and
// no captured message: whether the entry names it by id, code or link, lists it among others, was
// refused, or lost its answer. The entries about other cards stay.
func TestEraseLeavesTheJournal(t *testing.T) {
	t.Parallel()
	r := start(t)
	const name, mail, ref = "Zebedee Quill", "zebedee@example.com", "zeb-7"
	program := r.ProgramIDs["standard"]
	callControl(r, "DELETE", "/requests", nil).Want(204)
	issue := func(body fields) *servertest.Reply {
		return callREST(r, "POST", cardsPath(r), body, "Idempotency-Key", fmt.Sprint(body))
	}
	other := issue(fields{"holder_name": "Grace", "holder_email": "grace@example.com", "external_ref": "zeb-70", "send_email": true}).Want(201).Str("id")
	callREST(r, "GET", "/cards?external_ref="+ref, nil).Want(200) // there is none yet
	callREST(r, "POST", "/programs/prg_none/cards", fields{"holder_email": strings.ToUpper(mail)}).Want(404)
	made := issue(fields{"holder_name": name, "holder_email": mail, "external_ref": ref, "send_email": true}).Want(201)
	card := made.Str("id")
	issue(fields{"holder_name": name, "holder_email": mail, "external_ref": ref, "send_email": true}).Want(201) // replayed
	issue(fields{"holder_name": name, "external_ref": ref}).Want(409, "conflict")
	link := made.Str("install_url")
	token := link[strings.LastIndex(link, "/")+1:]
	qr, short := r.Codes(link)
	send(r, t.Context(), "GET", link, nil, "Accept", "text/html")
	callREST(r, "PATCH", "/cards/"+card, fields{"holder_name": name + " II"}).Want(200)
	callREST(r, "PATCH", "/cards/"+card, fields{"holder_name": 7}).Want(400)
	callREST(r, "GET", "/cards", nil).Want(200)
	callREST(r, "GET", "/cards?holder_email="+url.QueryEscape(strings.ToUpper(mail)), nil).Want(200)
	callREST(r, "HEAD", "/cards?external_ref="+ref, nil)
	callREST(r, "HEAD", "/cards?holder_email="+strings.ToUpper(mail), nil)
	callREST(r, "GET", "/cards/"+token, nil).Want(404)
	stamped := callTill(r, "POST", "/cards/"+card+"/stamps", fields{"count": 12, "metadata": fields{"note": name}}).Want(201)
	child := servertest.Decode[struct {
		Card struct{ ID string } `json:"overflow_card"`
	}](stamped).Card.ID
	row := servertest.Decode[struct{ Transaction struct{ ID string } }](stamped).Transaction.ID
	callTill(r, "POST", "/transactions/"+row+"/reversal", fields{"metadata": name}).Want(400)
	callTill(r, "GET", "/cards/"+child, nil).Want(200)
	callREST(r, "GET", "/transactions", nil).Want(200)
	for _, code := range []string{qr, short} {
		callTill(r, "POST", "/cards/"+url.PathEscape(strings.ToUpper(code))+"/uses", fields{"metadata": fields{"note": name}}).Want(422)
	}
	for _, fault := range []fields{{"status": 503, "when": "after"}, {"status": 0, "when": "after"}, {"status": 503}} {
		callControl(r, "POST", "/faults", servertest.Merge(fault, fields{"method": "POST", "path": "/cards/*/reissue"})).Want(201)
		callREST(r, "POST", "/cards/"+card+"/reissue", fields{"holder_name": name, "send_email": true})
	}
	callTill(r, "GET", "/cards/"+qr, nil).Want(404) // a reissue replaced it
	// A card whose only answer was lost, and which no index finds.
	callControl(r, "POST", "/faults", fields{"method": "POST", "path": "/programs/*/cards", "status": 503, "when": "after"}).Want(201)
	callREST(r, "POST", "/programs/"+program+"/cards", fields{"holder_name": name + " III"})
	lost := r.App.Store.ID(2, 0)
	for _, id := range servertest.Decode[struct{ Data []struct{ ID string } }](callREST(r, "GET", "/cards", nil).Want(200)).Data[:1] {
		lost = id.ID
	}
	// What stays.
	kept := []string{}
	callREST(r, "GET", "/cards/"+other, nil).Want(200)
	callTill(r, "POST", "/cards/"+other+"/stamps", fields{}).Want(201)
	callREST(r, "GET", "/me", nil).Want(200)
	for _, e := range readJournal(r, "?limit=1000").Data {
		if strings.Contains(e.Path, other) || strings.HasSuffix(e.Path, "/me") || strings.Contains(string(e.Response.Body), other) && e.Method == "POST" {
			kept = append(kept, fmt.Sprint(e.Seq))
		}
	}

	names := func(path string) bool {
		text := strings.ToLower(string(callControl(r, "GET", path, nil).Want(200).Body))
		return slices.ContainsFunc([]string{name, mail, ref + `"`, ref + "&", card, child, lost, qr, short, token}, func(s string) bool { return strings.Contains(text, strings.ToLower(s)) })
	}
	if !names("/requests?limit=1000") || !names("/emails") {
		t.Fatal("nothing names the card before it is erased")
	}
	callControl(r, "POST", "/cards/"+child+"/delete", fields{}).Want(204)
	callControl(r, "POST", "/cards/"+lost+"/delete", fields{}).Want(204)
	if names("/requests?limit=1000") {
		t.Errorf("the journal still names the card: %s", callControl(r, "GET", "/requests?limit=1000", nil).Body)
	}
	if names("/emails") || !strings.Contains(string(callControl(r, "GET", "/emails", nil).Body), "grace@example.com") {
		t.Errorf("the mailbox holds %s", callControl(r, "GET", "/emails", nil).Body)
	}
	left := []string{}
	for _, e := range readJournal(r, "?limit=1000").Data {
		left = append(left, fmt.Sprint(e.Seq))
	}
	if !slices.Equal(left, kept) {
		t.Errorf("entries %v are left, want %v", left, kept)
	}
	for _, e := range readJournal(r, "?limit=1000").Hints {
		if !slices.Contains(left, fmt.Sprint(e.Seq)) {
			t.Errorf("a hint is left of entry %d", e.Seq)
		}
	}
}
