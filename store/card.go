package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The statuses of a card.
const (
	StatusActive   = "active"
	StatusLocked   = "locked"
	StatusInvited  = "invited"
	StatusArchived = "archived"
	StatusExpired  = "expired"
)

// Card is a person's card as lists show it.
type Card struct {
	ID           string       `json:"id" min:"1" doc:"Opaque."`
	ProgramID    string       `json:"program_id" min:"1"`
	ProgramName  string       `json:"program_name"`
	ProgramType  string       `json:"program_type" enum:"standard,private,discount,access,prepaid"`
	ExternalRef  Null[string] `json:"external_ref" doc:"The caller's own id for the person."`
	HolderName   Null[string] `json:"holder_name"`
	HolderEmail  Null[string] `json:"holder_email"`
	Status       string       `json:"status" enum:"active,locked,invited,archived,expired"`
	StampsCount  int64        `json:"stamps_count"`
	CurrentValue Null[int64]  `json:"current_value" doc:"Balance in cents of a prepaid card; null for all other types."`
	ExpiresAt    Null[Time]   `json:"expires_at"`
	InstalledAt  Null[Time]   `json:"installed_at" doc:"Set once the pass is installed on a device; from then on holder fields and expiry are frozen."`
	CreatedAt    Time         `json:"created_at"`
}

// NamedLocation is a location by id and name.
type NamedLocation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// CardDetail is a card as single reads and updates return it.
type CardDetail struct {
	Card
	AllLocations bool            `json:"all_locations" doc:"Derived from the program's scope; a card carries no location of its own."`
	Locations    []NamedLocation `json:"locations" doc:"The enabled locations the card works at, by name; for a restricted key only its own."`
}

// IssuedCard is a card with a new install link. The caller draws its QR code.
type IssuedCard struct {
	ID                  string       `json:"id"`
	ProgramID           string       `json:"program_id"`
	ExternalRef         Null[string] `json:"external_ref"`
	HolderName          Null[string] `json:"holder_name"`
	HolderEmail         Null[string] `json:"holder_email"`
	ExpiresAt           Null[Time]   `json:"expires_at"`
	InstallURL          string       `json:"install_url" format:"url" doc:"The holder opens it to install the pass."`
	InstallURLExpiresAt Time         `json:"install_url_expires_at"`
}

// CardFields is the body of issuing a card. Every field is optional.
type CardFields struct {
	HolderName  Opt[string] `json:"holder_name" min:"1" max:"200" format:"line"`
	HolderEmail Opt[string] `json:"holder_email" format:"email" min:"1" max:"254"`
	ExternalRef Opt[string] `json:"external_ref" min:"1" max:"255" format:"line" doc:"The caller's own id for the person; one live card per program."`
	ExpiresAt   Opt[Time]   `json:"expires_at" doc:"In the future. Default: now plus the program's default_expire_after_days."`
	SendEmail   Opt[bool]   `json:"send_email" doc:"Mail the install link; needs holder_email and a configured mail server."`
}

// CardPatch is the body of PATCH /cards/{id}.
type CardPatch struct {
	HolderName  Opt[string] `json:"holder_name" min:"1" max:"200" format:"line" patch:"nullable"`
	HolderEmail Opt[string] `json:"holder_email" format:"email" min:"1" max:"254" patch:"nullable"`
	ExpiresAt   Opt[Time]   `json:"expires_at" patch:"nullable" doc:"In the future, or null for none."`
	ExternalRef Opt[string] `json:"external_ref" min:"1" max:"255" format:"line" patch:"nullable"`
}

// CardFilter selects a page of cards by the fields that are set.
type CardFilter struct {
	PageQuery
	ExternalRef Opt[string] `json:"external_ref" max:"255" doc:"Exact match."`
	HolderEmail Opt[string] `json:"holder_email" format:"email" max:"254" doc:"Matches without regard to case."`
	ProgramID   Opt[string] `json:"program_id"`
	Status      Opt[string] `json:"status" enum:"active,locked,invited,archived,expired"`
	Phone       Opt[string] `json:"phone" pattern:"^\\+[1-9][0-9]{6,14}$" words:"must be a phone number as E.164; write the + as %2B" doc:"Exact match, as E.164 with its + as %2B."`
	Code        Opt[string] `json:"code" max:"64" doc:"Exact match with the barcode of an earlier plastic card."`
}

// card is a Card with the columns that no answer shows.
type card struct {
	Card
	key, program   int64
	root           int64 // key of the chain's first card, its own for most
	child          bool  // an overflow of another card
	lockedAt       Null[Time]
	archivedAt     Null[Time]
	activatedAt    Null[Time]
	generation     int64 // of the chain's code; set by readChain
	cycle          int64
	neverPresented bool // of the root: its chain was never presented, and not issued at a counter
	lastStamp      Null[Time]
	shortCode      Null[string] // of the chain, on its root; set by readChain
	lastSeen       int64        // last_seen_day of the chain, on its root; set by readChain
	copies         int64        // where the chain is shown too, on its root; see CopyBrowser; set by readChain
	openingLeft    int64        // of the stamps that it began with; of use in cycle 0; set by readChain
}

// cardCols are a card's own columns, and listedCardCols the same after the auth epoch and the key. The name and type of
// its program come from the cache (setProgram) or from a join (cardProgramCols, scanProgram).
const (
	cardCols = `c.program_id, c.external_ref, c.holder_name, c.holder_email, c.stamps_count, c.current_value, c.expires_at,
		c.installed_at, c.created_at, c.archived_at, c.locked_at, c.activated_at`
	cardProgramCols = "p.name, p.type"
	listedCardCols  = epochColumn + ", c.id, " + cardCols
)

func (c *Card) setProgram(p *program) { c.ProgramName, c.ProgramType = p.Name, p.Type }

// scanProgram reads cardProgramCols.
func (c *Card) scanProgram(r *rows) { c.ProgramName, c.ProgramType = r.str(), r.str() }

// scanCard reads cardCols. The card's status is the one at now.
func (g IDs) scanCard(r *rows, key int64, now Time) (c card) {
	c.key = key
	c.ID = g.ID(KindCard, key)
	c.program = r.int()
	c.ProgramID = g.ID(KindProgram, c.program)
	c.ExternalRef, c.HolderName, c.HolderEmail = r.nullStr(), r.nullStr(), r.nullStr()
	c.StampsCount, c.CurrentValue, c.ExpiresAt, c.InstalledAt, c.CreatedAt = r.int(), r.nullInt(), r.nullTime(), r.nullTime(), r.time()
	c.archivedAt, c.lockedAt, c.activatedAt = r.nullTime(), r.nullTime(), r.nullTime()
	c.Status = c.statusAt(now)
	return c
}

// statusAt returns the card's status at a time. statusSQL is the same in SQL.
func (c *card) statusAt(now Time) string {
	switch {
	case c.archivedAt.Valid:
		return StatusArchived
	case c.ExpiresAt.Valid && c.ExpiresAt.V <= now:
		return StatusExpired
	case c.lockedAt.Valid:
		return StatusLocked
	case !c.activatedAt.Valid:
		return StatusInvited
	}
	return StatusActive
}

const statusSQL = `CASE WHEN c.archived_at IS NOT NULL THEN 'archived' WHEN c.expires_at<=? THEN 'expired'
	WHEN c.locked_at IS NOT NULL THEN 'locked'
	WHEN c.activated_at IS NULL THEN 'invited' ELSE 'active' END`

// withinRestriction is the condition that a card's program works at one of the
// locations to which a key is restricted.
const withinRestriction = `(p.location_scope='all_locations' OR EXISTS (SELECT 1 FROM program_locations pl WHERE pl.program_id=p.id
	AND pl.location_id IN (SELECT value FROM json_each(?))))`

// restrict adds the restriction of a key, if it has one, to a query of programs.
func (a Access) restrict(sql string, args ...any) (string, []any) {
	if !a.Restricted {
		return sql, args
	}
	return sql + " AND " + withinRestriction, append(args, jsonKeys(a.Locations))
}

// selectCards returns the query of the cards of a program, with a reference or with an email,
// as far as these are given. It uses the most selective index; the other filters apply to the
// rows that it visits.
func (v *View) selectCards(list byte, shop int64, programID, ref, holderEmail Opt[string]) listQuery {
	w := listQuery{list: list, shop: shop, table: "cards c", alias: "c"}
	program, email := v.keyOrNone(KindProgram, programID.V), foldCase(holderEmail.V)
	switch {
	case ref.Set:
		w.useIndex("c.shop_id=? AND c.external_ref=? AND c.deleted_at IS NULL", shop, ref.V)
	case holderEmail.Set:
		w.useIndex("c.shop_id=? AND c.email_key=? AND c.deleted_at IS NULL", shop, email)
	case programID.Set:
		w.useIndex("c.program_id=? AND c.shop_id=? AND c.deleted_at IS NULL", program, shop)
	default:
		w.useIndex("c.shop_id=? AND c.deleted_at IS NULL", shop)
	}
	if holderEmail.Set && ref.Set {
		w.filter("c.email_key=?", email)
	}
	if programID.Set && (ref.Set || holderEmail.Set) {
		w.filter("c.program_id=?", program)
	}
	return w
}

// Cards returns a page of cards, newest first.
func (v *View) Cards(a Access, f CardFilter) (Page[Card], error) {
	w := v.selectCards(listCards, a.Shop, f.ProgramID, f.ExternalRef, f.HolderEmail)
	if f.Phone.Set {
		w.useChains("SELECT card_id FROM contacts WHERE shop_id=? AND phone_key=?", a.Shop, phoneKey(f.Phone.V))
	}
	if f.Code.Set {
		w.useChains("?", v.foreignCodeCard(a.Shop, f.Code.V))
	}
	if f.Status.Set {
		w.filter(statusSQL+"=?", v.Now, f.Status.V)
	}
	if a.Restricted {
		w.join = " JOIN programs p ON p.id=c.program_id"
		w.filter(withinRestriction, jsonKeys(a.Locations))
	}
	var programs []int64
	p, err := page(v, w, f.PageQuery, listedCardCols, func(r *rows, key int64) Card {
		c := v.scanCard(r, key, v.Now)
		programs = append(programs, c.program)
		return c.Card
	})
	if err != nil {
		return p, err
	}
	for i := range p.Data {
		program := v.cachedProgram(a.Shop, programs[i], v.rowEpoch)
		p.Data[i].setProgram(program)
	}
	return p, err
}

const cardDetailSQL = "SELECT " + listedCardCols + ", " + cardProgramCols + `, p.location_scope='all_locations',
	CASE p.location_scope WHEN 'all_locations' THEN '' ELSE (SELECT group_concat(location_id) FROM program_locations
		WHERE program_id=p.id) END
	FROM cards c JOIN programs p ON p.id=c.program_id WHERE c.id=? AND c.shop_id=? AND c.deleted_at IS NULL`

// Card returns a card with its locations.
func (v *View) Card(a Access, id string) (d CardDetail, err error) {
	return v.detailOf(a, id, func(epoch int64) shopLocations {
		v.seeEpoch(epoch)
		return v.cachedLocations(a.Shop, epoch)
	})
}

// detailOf reads a card. locations returns those of its shop at an auth epoch.
func (q *queries) detailOf(a Access, id string, locations func(epoch int64) shopLocations) (d CardDetail, err error) {
	var epoch int64
	sql, args := a.restrict(cardDetailSQL, q.keyOrNone(KindCard, id), a.Shop)
	var scope []int64
	if err = q.find("card", func(r *rows) {
		epoch = r.int()
		d.Card = q.scanCard(r, r.int(), q.Now).Card
		d.scanProgram(r)
		d.AllLocations = r.bool()
		scope = r.keys()
	}, sql, args...); err != nil {
		return d, err
	}
	all := locations(epoch)
	d.Locations = all.named
	if !d.AllLocations || a.Restricted {
		d.Locations = nil
		for i, l := range all.keys {
			if (d.AllLocations || slices.Contains(scope, l)) && a.allows(l) {
				d.Locations = append(d.Locations, all.named[i])
			}
		}
	}
	return d, nil
}

// card finds a card of the shop with all columns that writes need.
func (tx *Tx) card(a Access, id string) (c card, err error) {
	sql, args := a.restrict(
		"SELECT c.id, "+cardCols+", "+cardProgramCols+`, ifnull(c.root_id, c.id), c.root_id IS NOT NULL
			FROM cards c JOIN programs p ON p.id=c.program_id WHERE c.id=? AND c.shop_id=? AND c.deleted_at IS NULL`,
		tx.keyOrNone(KindCard, id), a.Shop)
	err = tx.find("card", func(r *rows) {
		c = tx.scanCard(r, r.int(), tx.Now)
		c.scanProgram(r)
		c.root, c.child = r.int(), r.bool()
	}, sql, args...)
	return c, err
}

// newInstallToken makes the token of an install link: the card's key in opaque form,
// so that no index is needed, and 128 random bits, of which only the hash is stored.
func (tx *Tx) newInstallToken(root int64) string {
	return string(alphabet.AppendEncode(tx.seal(nil, kindInstall, 0, root), tx.random(16)))
}

// referencedInstallToken returns the token of the install link of a card that a till issued
// with a reference. It is a keyed hash in place of random bits, so that a repeat of the
// write gets the same link although the file has only the token's hash.
func (s *Store) referencedInstallToken(root int64, reference string) string {
	hash := s.mac(fmt.Sprintf("install link\x00%d\x00%s", root, reference))
	return string(alphabet.AppendEncode(s.seal(nil, kindInstall, 0, root), hash))
}

func emailKey(email Null[string]) Null[string] {
	return Null[string]{foldCase(email.V), email.Valid}
}

// foldCase maps texts that differ only by case to one text, in every script. Lower
// case is not enough: it keeps σ and ς apart, which are both Σ in upper case.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			first = min(first, f)
		}
		return first
	}, s)
}
