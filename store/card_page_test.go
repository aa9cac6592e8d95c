package store

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// pageOf returns the token of a card's page, from the answer to an installation.
func (k till) pageOf(installURL string) string {
	k.t.Helper()
	out := check(k.install(installURL))
	token, ok := strings.CutPrefix(out.CardURL, k.opts.PublicURL+"/c/")
	if !ok {
		k.t.Fatalf("the page is at %s", out.CardURL)
	}
	return token
}

// openPage returns the error of the page with a token.
func (k till) openPage(token string) error {
	k.t.Helper()
	_, _, err := k.page(token)
	return err
}

// page returns what the page with a token shows, and the root whose stream the page follows.
// It fails the test unless the page and the stream have the same error.
func (k till) page(token string) (h HolderCard, root int64, err error) {
	k.t.Helper()
	err = k.View(0, func(v *View) (err error) { h, err = v.CardPage(token); return err })
	werr := k.View(0, func(v *View) (err error) { root, err = v.WatchedCard(token); return err })
	if (err == nil) != (werr == nil) || err != nil && err.Error() != werr.Error() {
		k.t.Errorf("the page says %v, its stream %v", err, werr)
	}
	return h, root, err
}

// TestCardPage checks what the page of a card shows. For what ends its link see the tests of
// server/holder.
func TestCardPage(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	issue := func() IssuedCard {
		return k.issue(program, CardFields{})
	}
	c := issue()
	token := k.pageOf(c.InstallURL)
	k.stamped(c.ID, 13)
	for range 60 {
		k.stamped(c.ID, 1)
		k.reversed(k.lookup(c.ID).Transactions[0].ID)
	}
	h, root, err := k.page(token)
	if err != nil || root != k.key(KindCard, c.ID) || h.PageToken != token || h.LinkExpiresAt.Valid || h.Code != k.cardCode(root, 0) ||
		len(h.Transactions) != holderTransactions ||
		h.Card.StampsCount != 3 ||
		len(h.EarlierCards) != 1 ||
		len(h.Addresses) != 1 {
		t.Errorf("the page shows %+v, %v", h, err)
	}
	if l := k.lookup(c.ID); len(l.Transactions) != shownTransactions {
		t.Errorf("a till sees %d rows", len(l.Transactions))
	}
	k.checkFile()
}

// TestPageTokens checks that the page accepts no other token or code and no altered token,
// and that a page's token is neither a code nor an install link.
func TestPageTokens(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	c := k.issue(program, CardFields{})
	root := k.key(KindCard, c.ID)
	token := k.pageToken(root, 0)
	if len(token) != blockLen || k.openPage(token) != nil {
		t.Fatalf("the token is %q", token)
	}
	link := path.Base(c.InstallURL)
	for _, other := range []string{
		"", c.ID, c.ID[4:], k.cardCode(root, 0), k.shortCode(c.ID), link, link[:blockLen], k.pageToken(root+1, 0),
		strings.ToUpper(token), token + "0", token[1:] + token[:1],
	} {
		refused(t, k.openPage(other), NotFound)
	}
	refused(t, k.openPage(k.pageToken(root, 1)), Gone)
	for _, generation := range []int64{0, 1} {
		k.refuses(NotFound)(k.stamp(k.pageToken(root, generation), 1))
	}
	if err := k.View(0, func(v *View) error { return errorOf(v.HolderCard(token)) }); err == nil {
		t.Error("a page's token is an install link")
	}
	named := view(k.fixture, func(v *View) ([]int64, error) { return v.CardsNamed([]string{token}) })
	if !slices.Equal(named, []int64{root}) {
		t.Errorf("the token names %v", named)
	}
}

// TestOnCards checks that OnCards gets the root of a chain after each write that changes the
// chain, and not after a write that was refused or changed nothing.
func TestOnCards(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5)
	c := k.issue(program, CardFields{})
	other := k.issue(program, CardFields{})
	root, last := k.key(KindCard, c.ID), k.key(KindCard, other.ID)
	announced := make(chan int64, 100)
	k.OnCards(func(roots []int64) {
		for _, r := range roots {
			announced <- r
		}
	})
	// changes reports whether a write announces the root. It then changes another chain
	// twice and waits for both announcements, which come after that of the write.
	changes := func(write func()) (found bool) {
		t.Helper()
		write()
		k.stamped(other.ID, 1)
		k.reversed(k.lookup(other.ID).Transactions[0].ID)
		for n := 0; n < 2; {
			select {
			case r := <-announced:
				if found = found || r == root; r == last {
					n++
				}
			case <-time.After(10 * time.Second):
				t.Fatal("a write of the other chain was not announced")
			}
		}
		return found
	}
	child := ""
	for _, w := range []struct {
		what  string
		want  bool
		write func()
	}{
		{"install", true, func() { check(k.install(c.InstallURL)) }},
		{"install again", false, func() { check(k.install(c.InstallURL)) }},
		{"stamp", true, func() { k.stamped(c.ID, 6) }},
		{"redeem", true, func() { k.redeemed(c.ID, prizes[0]) }},
		{"redeem again", false, func() { k.refuses(ThresholdAlreadyClaimed)(k.redeem(c.ID, prizes[0])) }},
		{"overflow", true, func() { child = k.stamped(c.ID, 6).OverflowCard.ID }},
		{"the child", true, func() { k.stamped(child, 1) }},
		{"update", true, func() { k.update(child, CardPatch{ExternalRef: set("m-1")}) }},
		{"refused update", false, func() {
			refused(t, k.do(func(tx *Tx) error {
				return errorOf(tx.UpdateCard(k.a, child, CardPatch{HolderName: set("Ada")}))
			}), CardLocked)
		}},
		{"lock", true, func() { k.lock(c.ID, true) }},
		{"refused stamp", false, func() { k.refuses(CardSuspended)(k.stamp(c.ID, 1)) }},
		{"reissue", true, func() { k.reissue(child, ReissueFields{}) }},
		{"archive", true, func() { k.archive(c.ID) }},
		{"erase", true, func() { k.erase(c.ID) }},
	} {
		if got := changes(w.write); got != w.want {
			t.Errorf("%s: announced is %t", w.what, got)
		}
	}
}
