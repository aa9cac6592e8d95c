package store

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// ImportCheck finds what is wrong with the rows of an import, and what they would change.
type ImportCheck struct {
	Shop    Shop
	q       *queries
	key     int64 // of the shop
	program *program
	options ImportOptions
	room    Null[int64]          // for further cards; null: any number
	lines   map[importedName]int // of what the rows before have
}

// importedName is a reference or a code by which rows are matched: a field of a row, and its text.
type importedName struct{ field, text string }

// ImportPlan is what a row would write.
type ImportPlan struct {
	row     ImportRow
	match   int64 // root of the card that gets the values; 0: a new card
	contact HolderContact
	claims  []importedClaim
	seen    int64   // last_seen_day
	Balance int64   // in cents, that the card gets
	Refused *Detail // why the card that is there must not be changed; nil: it may, or there is none
}

// New reports whether the row makes a card.
func (p *ImportPlan) New() bool { return p.match == 0 }

// importedClaim is a prize that was redeemed before the import.
type importedClaim struct {
	card             int // of the chain; 0: the first
	threshold, prize int64
}

// nextCard is what stands between the thresholds of two cards in a list of ClaimedOverflow.
const nextCard = "/"

// The most cards that the stamps of a row may fill: of other systems, and of exports.
const (
	maxImportedChain = 2
	maxExportedChain = 25
)

// NewImportCheck returns what checks the rows of a file for a program of the shop.
func (v *View) NewImportCheck(shop int64, o ImportOptions) (*ImportCheck, error) {
	v.snapshot()
	return v.importCheck(shop, o)
}

// importCheck is NewImportCheck for the transaction that writes the rows too.
func (q *queries) importCheck(shop int64, o ImportOptions) (*ImportCheck, error) {
	p, err := q.program(Access{Shop: shop}, o.ProgramID.V)
	if err != nil {
		return nil, err
	}
	c := &ImportCheck{q: q, Shop: q.shop(shop), key: shop, program: &p, options: o, lines: map[importedName]int{}}
	if c.Shop.MaxCards.Valid {
		due := q.number("SELECT count(*) FROM cards WHERE shop_id=? AND live=1 AND expires_at IS NOT NULL AND expires_at<=?", shop, q.Now)
		live := q.number("SELECT live_cards FROM shops WHERE id=?", shop)
		c.room = Some(max(0, c.Shop.MaxCards.V-live+due))
	}
	return c, q.failed
}

// Program returns the program of the cards.
func (c *ImportCheck) Program() Program { return c.program.Program }

// Row returns what a row would write, and all faults of the row: those that are given, of cells whose values r does not
// have, and those that Row finds. The field of a fault is one of RowFields; that of a code has its index, such as codes.1.
// A faulty row takes no room.
func (c *ImportCheck) Row(r ImportRow, given ...Detail) (ImportPlan, []Detail) {
	p, faults := ImportPlan{row: r}, rowFaults(given)
	faults = append(faults, checkFuture(r.ExpiresAt, c.q.Now)...)
	contact, details := r.apply(HolderContact{MemberSince: r.MemberSince.Value()}, c.Shop.CountryCode)
	p.contact = contact
	faults = append(faults, details...)
	if r.LastVisit.Set {
		day, _ := time.Parse(time.DateOnly, r.LastVisit.V) // by its format
		if p.seen = Day(day); p.seen > c.q.today(c.Shop) || p.seen < 1 {
			faults.add("last_visit", "invalid_value", "must not be in the future, nor before 1970")
		}
	}
	if since := r.MemberSince; since.Set && (since.V > Date(c.q.today(c.Shop)) || since.V < Date(0)) {
		faults.add("member_since", "invalid_value", "must not be in the future, nor before 1970")
	}
	matchFaults := c.match(&p)
	if p.Balance = r.Balance.V; p.New() && c.program.Type == ProgramPrepaid {
		p.Balance = r.Balance.Or(c.program.InitialBalanceCents.V)
	}
	c.checkState(&p, &faults)
	faults = append(faults, matchFaults...)
	if faults == nil && p.New() && c.room.Valid {
		if c.room.V == 0 {
			faults.add("", "too_many", "is over the number of live cards that the shop may have, which is %d", c.Shop.MaxCards.V)
		}
		c.room.V = max(0, c.room.V-1)
	}
	return p, faults
}

// rowFaults are what is wrong with a row.
type rowFaults []Detail

func (l *rowFaults) add(field, code, format string, args ...any) {
	*l = append(*l, Detail{field, code, fmt.Sprintf(format, args...)})
}

// checkState checks stamps, balance and redeemed prizes.
func (c *ImportCheck) checkState(p *ImportPlan, faults *rowFaults) {
	r, kind := &p.row, c.program.Type
	if r.Balance.V > 0 && kind != ProgramPrepaid {
		faults.add("balance", "not_allowed", "is for cards of prepaid programs only")
	}
	if !CollectsStamps(kind) {
		if r.Stamps.V > 0 || len(r.Claimed.V)+len(r.ClaimedOverflow.V) > 0 {
			field := "stamps"
			switch {
			case r.Stamps.V > 0:
			case len(r.Claimed.V) > 0:
				field = "claimed"
			default:
				field = "claimed_overflow"
			}
			faults.add(field, "not_allowed", "is for cards of stamp programs only")
		}
		return
	}
	total := c.program.TotalStamps.V
	cards := int64(1)
	switch {
	case !c.program.RepeatAfterReset:
	case r.ClaimedOverflow.Set:
		cards = maxExportedChain
	default:
		cards = maxImportedChain
	}
	if p.match != 0 && r.Stamps.V > cards*total {
		cards = max(cards, c.q.number("SELECT count(*) FROM cards WHERE archived_at IS NULL AND "+inChain, p.match, p.match))
	}
	if room := cards * total; r.Stamps.V > room {
		if cards == 1 {
			faults.add("stamps", "too_large", "must be at most %d, which the card holds", room)
		} else {
			faults.add("stamps", "too_large", "must be at most %d, which %d cards hold", room, cards)
		}
		return
	}
	stamps := r.Stamps.V
	if p.match != 0 && !r.Stamps.Set { // an update keeps those of the card
		if p.Refused != nil {
			return // the card may be of another program, or have other stamps since the file was written
		}
		stamps = c.q.number("SELECT sum(stamps_count) FROM cards WHERE archived_at IS NULL AND "+inChain, p.match, p.match)
	}
	for n, list := range [][]string{r.Claimed.V, r.ClaimedOverflow.V} {
		field, card := [2]string{"claimed", "claimed_overflow"}[n], n
		for _, text := range list {
			if text == nextCard && n == 1 {
				card++
				continue
			}
			claim := importedClaim{card: card}
			claim.threshold, _ = strconv.ParseInt(text, 10, 64)
			stamps := min(total, max(0, stamps-int64(card)*total)) // those of that card
			prize := slices.IndexFunc(c.program.Prizes, func(z Prize) bool { return z.Threshold == claim.threshold })
			if prize >= 0 {
				claim.prize, _ = c.q.Key(KindPrize, c.program.Prizes[prize].ID)
			}
			switch {
			case prize < 0:
				faults.add(field, "invalid_value", "must be numbers of stamps at which the program has a prize, separated by blanks")
			case stamps < claim.threshold && !(r.ClaimedOverflow.Set && (n == 0 || stamps > 0)): // a correction may have taken stamps
				faults.add(field, "invalid_value", "has a prize for %d stamps, and the card has %d", claim.threshold, stamps)
			case c.program.RepeatAfterReset && claim.threshold == total:
				faults.add(field, "invalid_value",
					"has the last prize of a full card, after which the card starts again: give the stamps of the new round")
			case slices.Contains(p.claims, claim):
				faults.add(field, "invalid_value", "has a prize twice")
			default:
				p.claims = append(p.claims, claim)
				continue
			}
			return // one fault of prizes is enough
		}
	}
}

// match finds the card that has the reference or the codes of a row.
func (c *ImportCheck) match(p *ImportPlan) (faults rowFaults) {
	ref := p.row.ExternalRef.Value()
	if !ref.Valid && len(p.contact.Codes) == 0 && !c.options.AllowUnkeyed.V {
		return []Detail{{"external_ref", "required", "is required, or a code, unless rows without either are allowed"}}
	}
	once := func(field string, name importedName) {
		if first := c.lines[name]; first != 0 && first != p.row.Line {
			faults.add(field, "invalid_value", "is also in line %d", first)
		}
		if name.text != "" {
			c.lines[name] = p.row.Line
		}
	}
	once("external_ref", importedName{"external_ref", ref.V})
	for n, text := range p.row.Codes.V {
		code, _ := parseForeignCode(text)
		once(fmt.Sprintf("codes.%d", n), importedName{"code", code})
	}
	if faults != nil {
		return faults
	}
	if ref.Valid {
		p.match = c.q.number(`SELECT ifnull((SELECT ifnull(root_id, id) FROM cards WHERE shop_id=? AND external_ref=? AND program_id=?
			AND archived_at IS NULL AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at>?) LIMIT 1), 0)`,
			c.key, ref.V, c.program.key, c.q.Now)
	}
	for n, code := range p.row.Codes.V {
		owner := c.q.foreignCodeCard(c.key, code)
		if owner != 0 && p.match == 0 && !ref.Valid && c.options.Update.V {
			p.match = owner
		}
		isShort := owner == 0 && c.q.number("SELECT count(*) FROM cards WHERE shop_id=? AND short_code=?", c.key, normalizeCode(code)) > 0
		if isShort || owner != 0 && owner != p.match {
			faults.add(fmt.Sprintf("codes.%d", n), "invalid_value", "is the code of another card")
		}
	}
	if p.match != 0 {
		field := "external_ref"
		if !ref.Valid {
			field = "codes.0"
		}
		once(field, importedName{"card", strconv.FormatInt(p.match, 10)})
	}
	switch {
	case faults != nil || p.match == 0:
	case !c.options.Update.V:
		faults.add("external_ref", "invalid_value", "is that of a card that is there already")
	default:
		p.Refused = c.q.importRefusal(p.match, c.program.key)
	}
	return faults
}

// importRefusal returns why an import must not change a card; nil if it may.
func (q *queries) importRefusal(root, program int64) *Detail {
	var source string
	var of int64
	var archived, installed, used bool
	q.one(into(&source, &of, &archived, &installed, &used), `SELECT source, program_id, archived_at IS NOT NULL,
		EXISTS (SELECT 1 FROM cards WHERE (id=?1 OR root_id=?1) AND installed_at IS NOT NULL),
		EXISTS (SELECT 1 FROM transactions WHERE card_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1)) FROM cards WHERE id=?1`, root)
	switch {
	case of != program:
		return &Detail{"", "not_allowed", "the card is of another program"}
	case source != SourceImport:
		return &Detail{"", "not_allowed", "the card was not imported"}
	case archived:
		return &Detail{"", "not_allowed", "the card is archived"}
	case installed:
		return &Detail{"", "not_allowed", "the card is on a phone"}
	case used:
		return &Detail{"", "not_allowed", "the card was used"}
	}
	return nil
}
