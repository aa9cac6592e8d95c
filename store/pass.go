package store

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"time"
)

// passKept is how long a pass is kept that has ended or that no phone has.
const passKept = 30 * 24 * time.Hour

// Pass is a copy of a card for Apple Wallet. What it shows is compared with what it showed before
// whenever it is read, so that nothing that changes a card has to know passes.
type Pass struct {
	HolderCard
	Root, Generation int64
	ShopKey          int64
	Wallet           AppleWallet // of the shop; may be not set
	PublicURL        string      // of the shop, with which the URLs of the pass begin
	// Serial names the pass, and Token is what phones that have it present. They never change.
	Serial, Token string
	// Ended says that the card was reissued, archived or erased. Then HolderCard has the shop and the
	// program alone, and nothing about the holder.
	Ended      bool
	Changes    int64 // counter of its changes; 0: nobody has read it yet
	Modified   Time  // when it last changed, in whole seconds
	Hash       []byte
	unlisted   bool  // it has ended, and phones are kept that have read that
	download   bool  // it is read for its card's page, from which nobody has downloaded it as it is now
	downloaded int64 // Changes when it was downloaded last; 0: never
}

// ErrNoPass refuses a serial number or a token that no pass has, without saying which.
var ErrNoPass error = refuse(InvalidCredentials, "This serial number and token are of no pass.")

// PassOfPage returns the pass of the card of a page, which must not have ended. RefreshPass makes the short code that it shows.
func (v *View) PassOfPage(token string) (p Pass, err error) {
	v.snapshot()
	shop, root, err := v.livePage(token)
	if err != nil {
		return p, err
	}
	if p, err = v.pass(shop, root, v.number("SELECT code_generation FROM cards WHERE id=?", root)); err != nil {
		return p, err
	}
	p.download = p.Changes == 0 || p.downloaded != p.Changes
	if p.ShortCode == "" {
		p.ShortCode, _ = v.shortCodeOf(shop, root)
		p.download = true
	}
	return p, v.failed
}

// PassBySerial returns the pass of a type and a serial number to a phone that presents its token.
func (v *View) PassBySerial(passType, serial, token string) (p Pass, err error) {
	v.snapshot()
	shop, root, generation, err := v.openPass(passType, serial, token)
	if err != nil {
		return p, err
	}
	return v.pass(shop, root, generation)
}

// passSerial returns the serial number of the pass of a generation of a chain, which is also the name of its object at Google.
func (g IDs) passSerial(root, generation int64) string {
	return string(g.seal(nil, kindPass, uint64(generation), root))
}

// openPass returns the chain and the generation of a pass that a phone presents.
func (q *queries) openPass(passType, serial, token string) (shop, root, generation int64, err error) {
	extra, root, ok := q.openAny(kindPass, serial)
	want := q.seal(nil, kindPassToken, extra, root)
	found := ok && subtle.ConstantTimeCompare(want, []byte(token)) == 1 &&
		q.one(into(&shop), `SELECT c.shop_id FROM cards c JOIN apple_wallets w ON w.shop_id=c.shop_id
			WHERE c.id=? AND root_id IS NULL AND pass_type=?`, root, passType)
	if !found {
		return 0, 0, 0, cmp.Or(q.failed, ErrNoPass)
	}
	return shop, root, int64(extra), q.closing(shop).Refuse(false)
}

// passEnded is the condition that the pass of a generation of the chain c has ended.
const passEnded = `(c.deleted_at IS NOT NULL OR c.code_generation<>x.generation OR NOT EXISTS
	(SELECT 1 FROM cards o WHERE o.archived_at IS NULL AND (o.id=c.id OR o.root_id=c.id)))`

// pass reads the pass of a generation of a chain, inside a snapshot.
func (v *View) pass(shop, root, generation int64) (p Pass, err error) {
	var program int64
	v.one(into(&program, &p.Ended), "SELECT program_id, "+passEnded+" FROM cards c, (SELECT ?2 generation) x WHERE id=?1", root, generation)
	if p.Ended {
		p.HolderCard = v.programCard(shop, program)
		p.unlisted = v.number("SELECT count(*) FROM apple_devices WHERE card_id=? AND generation=? AND listed>0", root, generation) > 0
	} else if p.HolderCard, err = v.holderCard(shop, root); err != nil {
		return p, err
	}
	p.Root, p.Generation, p.ShopKey = root, generation, shop
	p.Serial = v.passSerial(root, generation)
	p.Token = string(v.seal(nil, kindPassToken, uint64(generation), root))
	p.Wallet = v.AppleWallet(shop)
	p.PublicURL, p.PageURL = v.PublicURLOf(shop), v.pageURL(shop, root, generation)
	v.one(into(&p.Changes, &p.Modified, &p.Hash, &p.downloaded),
		"SELECT id, modified_at, hash, downloaded FROM apple_passes WHERE card_id=? AND generation=?", root, generation)
	return p, v.failed
}

// programCard returns what all cards of a program show.
func (v *View) programCard(shop, program int64) (h HolderCard) {
	h.Shop, h.Program = v.shop(shop), v.programByKey(shop, program).Program
	h.LogoHash, h.Texts, h.PrizeTexts = v.programTexts(program)
	return h
}

// NeedsRefresh reports whether RefreshPass has something to note about a pass that is read and whose
// content has a hash.
func (p *Pass) NeedsRefresh(hash []byte) bool {
	return !bytes.Equal(p.Hash, hash) || p.unlisted || p.download
}

// RefreshPass notes the hash of what a pass shows, and that the pass has changed if it showed something
// else, unless somebody else has noted a change since p was read. A phone that has asked what has changed
// since the pass ended is left alone from now on if it reads the pass. A pass that is read for its card's page
// is downloaded.
func (tx *Tx) RefreshPass(p Pass, hash []byte) (Pass, error) {
	tx.requireOpen(p.ShopKey)
	latest := tx.number("SELECT id FROM apple_passes WHERE card_id=? AND generation=?", p.Root, p.Generation) == p.Changes
	if latest && p.unlisted {
		tx.exec("DELETE FROM apple_devices WHERE card_id=? AND generation=? AND listed>=?", p.Root, p.Generation, p.Changes)
	}
	if latest && !bytes.Equal(p.Hash, hash) {
		p.Hash, p.Modified = hash, max(tx.Now-tx.Now%1000, p.Modified+1000)
		p.Changes = tx.writePass(p)
	}
	if p.download {
		tx.shortCode(p.ShopKey, p.Root)
		tx.exec("UPDATE apple_passes SET downloaded=id WHERE card_id=? AND generation=?", p.Root, p.Generation)
	}
	return p, tx.failed
}

// writePass writes the row of a pass that has changed, and returns its counter of changes.
func (tx *Tx) writePass(p Pass) int64 {
	key := tx.insert(`INSERT OR REPLACE INTO apple_passes (card_id, shop_id, program_id, generation, hash, modified_at, downloaded,
		delete_at)
		SELECT c.id, c.shop_id, c.program_id, ?2, ?3, ?4, ifnull(p.downloaded, 0), iif(?5 OR p.id IS NULL, ?6, p.delete_at)
		FROM cards c LEFT JOIN apple_passes p ON p.card_id=c.id AND p.generation=?2 WHERE c.id=?1`,
		p.Root, p.Generation, p.Hash, p.Modified, p.Ended, tx.Now.Add(passKept))
	tx.noteCopies(p.Root)
	return key
}

// PrunePasses deletes up to n passes that have ended, or that no phone has, since passKept. It reports
// whether there may be more.
func (tx *Tx) PrunePasses(n int) (bool, error) {
	due := tx.keys("SELECT id FROM apple_passes WHERE delete_at<=? LIMIT ?", tx.Now, n)
	for _, key := range due {
		tx.exec("DELETE FROM apple_devices WHERE (card_id, generation)=(SELECT card_id, generation FROM apple_passes WHERE id=?)", key)
		root := tx.number("SELECT card_id FROM apple_passes WHERE id=?", key)
		tx.exec("DELETE FROM apple_passes WHERE id=?", key)
		tx.noteCopies(root)
	}
	return len(due) == n, tx.failed
}
