package store

import (
	"cmp"
	"net/netip"
	"strings"
	"time"
)

// LostCard is a card and the link of its page.
type LostCard struct {
	Shop    string
	Program string // in the language of the message
	Link    string
}

const (
	// lostPeriod is how long a request for lost cards waits for the mail server and the
	// quotas. Whoever asked has given up by then.
	lostPeriod = 24 * time.Hour
	// maxLost is the number of cards in a message.
	maxLost = 20
)

// The rules for requests of lost cards, for the email and for the address.
var (
	lostEmailRule   = attemptRule{name: "lost_email", max: 10, window: time.Hour, lock: time.Hour, longest: time.Hour}
	lostAddressRule = attemptRule{name: "lost_address", max: 10, window: time.Hour, lock: time.Hour, longest: time.Hour}
)

// LostPage is the form for the links of lost cards.
type LostPage struct {
	ShopID   string // empty: the cards of all shops are looked for
	Name     string // of the shop
	Language string // of the shop; empty without one
	Mails    bool   // there is a mail server
}

// LostPage returns the form of the shop with an id or, without one, of the shop whose card
// has a link, which may have ended. With neither it is that of the file's only shop or,
// where there are several, of all of them.
func (v *View) LostPage(shop, token string) (l LostPage, err error) {
	l.Mails = v.s.mails()
	if key := v.lostShop(shop, token); key != 0 {
		sh, err := v.findShop(key)
		err = cmp.Or(err, v.closing(key).Refuse(false))
		l.ShopID, l.Name, l.Language = sh.ID, sh.Name, sh.Language
		return l, err
	}
	return l, v.failed
}

// lostShop returns the key of the shop of a form, 0 for that of all shops.
func (v *View) lostShop(shop, token string) int64 {
	if shop != "" {
		return v.keyOrNone(KindShop, shop)
	}
	if root, ok := v.rootOfLink(token); ok {
		if key := v.number("SELECT shop_id FROM cards WHERE id=?", root); key != 0 {
			return key
		}
	}
	if keys := v.keys("SELECT id FROM shops WHERE closed IS NULL LIMIT 2"); len(keys) == 1 {
		return keys[0]
	}
	return 0
}

// rootOfLink returns the root of the chain that a page's link or an install link names,
// also one that has ended.
func (g IDs) rootOfLink(token string) (root int64, ok bool) {
	if isPageToken(token) {
		_, root, ok = g.openAny(kindCardPage, token)
		return root, ok
	}
	return g.openInstall(token)
}

// LostFields is what somebody fills in who has lost a card.
type LostFields struct {
	Email    Opt[string] `json:"email" req:"true" format:"email" min:"1" max:"254"`
	ShopID   Opt[string] `json:"shop" min:"1" max:"255" doc:"Whose cards; absent: those of all shops."`
	Language Opt[string] `json:"language" enum:"en,it,es,fr,de,pt" doc:"Of the message. Default en."`
	Website  Opt[string] `json:"website" doc:"Must be empty; see JoinFields."`
}

// Check refuses what only programs fill in.
func (f LostFields) Check(Time) []Detail {
	if f.Website.Set {
		return []Detail{{"website", "not_allowed", "must be empty"}}
	}
	return nil
}

// RequestCardLinks stores a request for the links of the cards with an email, from the
// address at. It does the same whether there are such cards or not: they are looked for
// when the request is answered by mail. Of too many requests it stores none, and does not say
// so.
func (tx *Tx) RequestCardLinks(f LostFields, at netip.Addr) error {
	if !tx.s.mails() {
		return refuse(Unprocessable, "This server sends no mail. Ask the shop for a new link.")
	}
	var shop int64
	if f.ShopID.Set {
		sh := tx.shop(tx.keyOrNone(KindShop, f.ShopID.V))
		shop, _ = tx.Key(KindShop, sh.ID)
		tx.requireOpen(shop)
	}
	address := subject{lostEmailRule, tx.s.subjectHash("lost email", foldCase(f.Email.V))}
	if tx.countAll(address, tx.s.addressSubject(lostAddressRule, "lost address", at)) > 0 {
		return tx.failed
	}
	token := tx.newSecret("")
	tx.auditSubject(address, shop, "card.request_links", KindShop, shop, "")
	// A request that waits already is answered by one message.
	tx.exec("INSERT OR IGNORE INTO lost_mails (shop_id, email, language, token, due_at, created_at) VALUES (?1,?2,?3,?4,?5,?5)",
		shop, lowerASCII(f.Email.V), f.Language.Or("en"), token, tx.Now)
	tx.notifyMail()
	return tx.failed
}

// lowerASCII returns an email without the case of its letters from A to Z, as lower does
// in SQLite. Letters that only a mapping of all scripts takes for the same, such as the
// sign of kelvins for a k, may be those of another mailbox.
func lowerASCII(email string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// nextLostMail returns the request for lost cards that is due first, as a message to the
// address of the cards. It is obsolete if there are none.
func (v *View) nextLostMail() (m QueuedMail, ok bool, err error) {
	var shop int64
	var email string
	if !v.one(into(&m.lost, &shop, &email, &m.Language, &m.Token, &m.Due, &m.Attempts, &m.Unsure, &m.At),
		"SELECT id, shop_id, email, language, token, due_at, attempts, unsure, created_at FROM lost_mails WHERE "+ofOpenShop+
			" ORDER BY due_at LIMIT 1") {
		return m, false, v.failed
	}
	m.Kind = MailLost
	v.addLostCards(&m, shop, email)
	switch {
	case len(m.Lost) == 0, m.At.Add(lostPeriod) <= v.Now:
		m.Status = MailObsolete
	case m.Due <= v.Now:
		v.checkQuotas(&m)
	}
	return m, true, v.failed
}

// addLostCards adds the newest cards with an email to a message: those of a shop, or with
// shop 0 those of all shops.
func (v *View) addLostCards(m *QueuedMail, shop int64, email string) {
	shops := []int64{shop}
	if shop == 0 {
		shops = v.keys("SELECT id FROM shops WHERE closed IS NULL ORDER BY id")
	}
	for _, shop := range shops {
		roots := v.keys(
			"SELECT ifnull(root_id, id) FROM cards WHERE shop_id=? AND email_key=? AND lower(holder_email)=? ORDER BY id DESC LIMIT ?",
			shop, foldCase(email), email, 5*maxLost)
		seen := map[int64]bool{} // a chain has several cards with the email
		for _, root := range roots {
			if seen[root] || len(m.Lost) == maxLost {
				continue
			}
			seen[root] = true
			v.addLostCard(m, root)
		}
	}
}

// addLostCard adds a chain to a message, unless it has ended. The message goes to the
// address as the first card has it, not as it was typed, and counts for that card's shop.
func (v *View) addLostCard(m *QueuedMail, root int64) {
	var card LostCard
	var shop, generation int64
	var to string
	var programs map[string]string // its name by language
	if !v.one(into(&shop, &generation, &to, &card.Shop, &card.Program, &programs),
		`SELECT c.shop_id, (SELECT code_generation FROM cards WHERE id=?1), c.holder_email, s.name, p.name, p.name_localizations
		FROM cards c JOIN shops s ON s.id=c.shop_id JOIN programs p ON p.id=c.program_id
		WHERE (c.id=?1 OR c.root_id=?1) AND c.archived_at IS NULL AND c.deleted_at IS NULL AND c.holder_email IS NOT NULL LIMIT 1`,
		root) {
		return
	}
	card.Program = cmp.Or(programs[m.Language], card.Program)
	card.Link = v.pageURL(shop, root, generation)
	if len(m.Lost) == 0 {
		m.To, m.root, m.shop = to, root, shop
		m.CardID, m.Shop, m.Program, m.Link = v.ID(KindCard, root), card.Shop, card.Program, card.Link
	}
	m.Lost = append(m.Lost, card)
}
