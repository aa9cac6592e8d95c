package holder_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// mailed returns the texts of the messages to an address.
func mailed(s *servertest.Server, to string) (texts []string) {
	s.T.Helper()
	for _, m := range s.ControlAPI().Get("/emails").Want(200).At("data").([]any) {
		if m := m.(map[string]any); m["to"] == to {
			texts = append(texts, m["subject"].(string)+"\n"+m["text"].(string))
		}
	}
	return texts
}

// TestLostCards asks for the links of cards, which are mailed, and opens them.
func TestLostCards(t *testing.T) {
	s := start(t)
	for _, kind := range []string{"standard", "prepaid"} {
		issueCard(s, s.ProgramIDs[kind], fields{"holder_email": "Lost@example.com", "holder_name": "Ada"})
	}
	archived, _ := issueCard(s, s.ProgramIDs["standard"], fields{"holder_email": "lost@example.com"})
	s.Control("POST", "/cards/"+archived+"/archive", fields{})
	p := readPage(s, s.Origin+"/lost?lang=it").Want(200)
	checkPage(p)
	checkText(p, "Ritrova la tua tessera", "che hai dato a Caffè Centrale")
	at := regexp.MustCompile(`action="([^"]*)"`).FindStringSubmatch(string(p.Body))[1]
	to := send(s, strings.ReplaceAll(at, "&amp;", "&"), url.Values{"email": {"LOST@example.com"}}, "").Want(303).Header.Get("Location")
	sent := readPage(s, s.Origin+to).Want(200)
	checkPage(sent)
	checkText(sent, "Se ci sono tessere con questo indirizzo")
	texts := mailed(s, "Lost@example.com")
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "I link alle tue tessere\n") {
		t.Fatalf("mail %q", texts)
	}
	links := regexp.MustCompile(`http://\S+`).FindAllString(texts[0], -1)
	if len(links) != 2 {
		t.Fatalf("links %q", links)
	}
	for _, link := range links {
		checkText(readPage(s, link).Want(200), "Ada")
	}
}

// TestLostCardsAlike checks that the answers to a form, and the page that follows, are the
// same bytes for emails that cards have and that none has.
func TestLostCardsAlike(t *testing.T) {
	s := start(t)
	issueCard(s, s.ProgramIDs["standard"], fields{"holder_email": "known@example.com"})
	answer := func(email string) string {
		r := send(s, "/lost", url.Values{"email": {email}}, "")
		h := r.Header.Clone()
		for _, name := range []string{"X-Request-Id", "Date"} {
			h.Del(name)
		}
		page := readPage(s, s.Origin+r.Want(303).Header.Get("Location"))
		return fmt.Sprint(r.Status, h, string(r.Body), string(page.Want(200).Body))
	}
	known, unknown, twice := answer("known@example.com"), answer("nobody@example.com"), answer("known@example.com")
	// Each page has a random key.
	key := regexp.MustCompile(`name="form" value="\w+"`)
	all := []string{key.ReplaceAllString(known, ""), key.ReplaceAllString(unknown, ""), key.ReplaceAllString(twice, "")}
	if len(slices.Compact(all)) != 1 {
		t.Errorf("the answers differ: %s", strings.Join(all, "\n\n"))
	}
	if strings.Contains(known, "example.com\"") {
		t.Errorf("the answer names the email: %s", known)
	}
	if n := len(mailed(s, "known@example.com")); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}

// TestLostRefusals checks forms that are refused.
func TestLostRefusals(t *testing.T) {
	s := start(t, trustLoopback)
	s.Unchanged(func() {
		for _, form := range []url.Values{
			{}, {"email": {"ada"}}, {"email": {"a@b.c\r\nBcc: x@example.com"}}, {"email": {"ada@example.com"}, "website": {"x"}},
			{"email": {"ada@example.com"}, "token": {"x"}},
		} {
			checkPage(send(s, "/lost", form, "").Want(400))
		}
		send(s, "/lost", url.Values{"email": {strings.Repeat("x", 5000)}}, "").Want(413)
		readPage(s, s.Origin+"/lost?shop=shp_none").Want(404)
		send(s, "/lost?shop=shp_none", url.Values{"email": {"ada@example.com"}}, "").Want(404)
		fetch(
			s,
			"POST",
			s.Origin+"/lost",
			"email=ada%40example.com", "Content-Type", formType, "Sec-Fetch-Site", "cross-site", "Origin",
			"https://evil.example",
		).Want(403)
	})
	issueCard(s, s.ProgramIDs["standard"], fields{"holder_email": "last@example.com"})
	for i := range 10 {
		send(s, "/lost", url.Values{"email": {fmt.Sprintf("p%d@example.com", i)}}, "192.0.2.1").Want(303)
	}
	over := send(s, "/lost", url.Values{"email": {"last@example.com"}}, "192.0.2.1").Want(303)
	checkText(readPage(s, s.Origin+over.Header.Get("Location")).Want(200), "If there are cards with this address")
	if n := len(mailed(s, "last@example.com")); n != 0 {
		t.Errorf("the eleventh form of an address within an hour sent %d messages", n)
	}
	send(s, "/lost", url.Values{"email": {"last@example.com"}}, "192.0.2.2").Want(303)
	if n := len(mailed(s, "last@example.com")); n != 1 {
		t.Errorf("a form of another address sent %d messages", n)
	}
}

// TestLinksLeadToLostCards checks that the pages of links that have ended or are unknown have
// the form for lost cards of the shop of the link.
func TestLinksLeadToLostCards(t *testing.T) {
	s := start(t)
	card, link := issueCard(s, s.ProgramIDs["standard"], fields{})
	page := s.Origin + pageOf(s, link)
	s.Call("POST", "/cards/"+card+"/reissue", fields{}).Want(200)
	s.NewShop(nil)
	for at, want := range map[string]string{
		link: "that you gave Caffè Centrale", page: "that you gave Caffè Centrale", s.Origin + "/c/unknown": "that you gave the shop",
	} {
		r := readPage(s, at)
		checkPage(r)
		checkText(r, "Find your card", want)
	}
}
