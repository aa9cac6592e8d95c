package api_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestContact checks how the contact of a card is read, changed and refused.
func TestContact(t *testing.T) {
	s := start(t, servertest.Frozen)
	card, other := s.Issue(s.ProgramIDs["standard"], nil), s.Issue(s.ProgramIDs["standard"], nil)
	path := "/cards/" + card + "/contact"
	s.Get(path).Want(200).Shaped("", "Contact", "phone birthday")
	s.SQL("UPDATE shops SET country_code=NULL")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	s.Patch(path, fields{"phone": "06 1234 5678"}).Invalid("phone invalid_format")
	s.SQL("UPDATE shops SET country_code='IT'")
	s.SQL("UPDATE meta SET auth_epoch=auth_epoch+1")
	r := s.Patch(path, fields{
		"phone": "06 1234 5678", "birthday": "02-29", "codes": []string{" 036000291452 ", "A-1", "0036000291452"},
	}).Want(200)
	r.Shaped("", "Contact", "")
	r.Shows(fields{"phone": "+390612345678", "birthday": "02-29", "codes": []string{"0036000291452", "A-1"}})
	audited := s.Value("SELECT count(*) FROM audit")
	s.Patch(path, fields{"phone": "+39 06 12345678"}).Want(200)
	s.Patch(path, fields{}).Want(200)
	if got := s.Value("SELECT count(*) FROM audit"); got != audited {
		t.Error("a change of nothing is audited")
	}
	s.Unchanged(func() {
		s.Patch(path, fields{"phone": "12", "birthday": "02-30", "codes": []string{"a", "é", ""}}).
			Invalid("phone invalid_format", "birthday invalid_value", "codes.1 invalid_format", "codes.2 invalid_format")
		s.Patch(path, fields{"birthday": "13-01", "phone": strings.Repeat("1", 65)}).Invalid("birthday invalid_format", "phone too_long")
		s.Patch(path, fields{"codes": []string{"1", "2", "3", "4", "5", "6"}}).Invalid("codes too_many")
		s.Patch(path, fields{"note": "x"}).Invalid("note unknown_field")
		s.Patch("/cards/"+other+"/contact", fields{"codes": []string{"A-1"}}).Want(409, "conflict")
		s.Patch("/cards/crd_none/contact", fields{"birthday": "01-01"}).Want(404, "not_found")
		s.Patch("/cards/crd_none/contact", fields{"birthday": "02-30", "phone": "12"}).
			Invalid("phone invalid_format", "birthday invalid_value")
	})
	s.Install(card)
	s.Patch(path, fields{"birthday": nil}).WantOK(fields{"birthday": nil, "phone": "+390612345678"})
	s.Get("/cards/"+card).Want(200).Shaped("", "CardDetail", "external_ref holder_name holder_email current_value expires_at")

	list := func(query string) string { return strings.Join(s.Get("/cards?"+query).Want(200).IDs(), " ") }
	for query, want := range map[string]string{
		"phone=%2B390612345678": card, "code=A-1": card, "code=036000291452": card, "code=A-": "", "phone=%2B390612345679": "",
		"phone=%2B390612345678&code=A-1": card, "phone=%2B390612345678&status=invited": "",
	} {
		if got := list(query); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	s.Get("/cards?phone=+390612345678").Invalid("phone invalid_format")
	if details := s.Get("/cards?phone=+390612345678"); !strings.Contains(string(details.Body), "%2B") {
		t.Errorf("no hint at %%2B: %s", details.Body)
	}

	s.Post("/cards/"+card+"/reissue", nil).Want(200)
	s.Get(path).WantOK(fields{"codes": []string{}, "phone": "+390612345678"})
	s.Control("POST", "/cards/"+card+"/archive", nil)
	s.Patch(path, fields{"phone": nil}).Want(409, "conflict")
	s.Patch(path, fields{}).Want(200)
	s.Control("POST", "/cards/"+card+"/delete", nil)
	s.Get(path).Want(404, "not_found")
	if n := s.Value("SELECT count(*) FROM contacts"); n != "0" {
		t.Errorf("%s contacts are left of an erased card", n)
	}
}

// TestForeignCodesAreUnique checks that a code of an earlier card and a short code never name two cards.
func TestForeignCodesAreUnique(t *testing.T) {
	s := start(t, servertest.Frozen)
	issued := s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", nil).Want(201)
	_, short := s.Codes(issued.Str("install_url"))
	other := s.Issue(s.ProgramIDs["standard"], nil)
	for _, spelt := range []string{short, strings.ToUpper(short), short[:4] + "-" + short[4:]} {
		s.Patch("/cards/"+other+"/contact", fields{"codes": []string{spelt}}).Want(409, "conflict")
	}
	// The short code of another card would be the one that is given as a code before.
	s.SQL("UPDATE cards SET short_code=NULL WHERE id=?", s.Row(store.KindCard, issued.Str("id")))
	s.Patch("/cards/"+other+"/contact", fields{"codes": []string{strings.ToUpper(short)}}).Want(200)
	if _, again := s.Codes(issued.Str("install_url")); again == short {
		t.Errorf("the short code %s is also the code of an earlier card", again)
	}
}
