package store

import (
	"math"
	"slices"
	"strings"

	"punchcard/store/phone"
)

// CardSearch selects cards for a person who looks for one. All fields that are set
// must match.
type CardSearch struct {
	Q         Opt[string] `json:"q" max:"254" doc:"Beginnings of words of the holder's name, without regard to case, accents, apostrophes and hyphens; the beginning of an address (with an @); a phone number, or its last 4 or more digits; an external_ref; a short code; what a QR code holds; the barcode of an earlier card; or a card's id."`
	ProgramID Opt[string] `json:"program_id"`
	Status    Opt[string] `json:"status" enum:"active,locked,invited,archived,expired" doc:"Without it, archived cards that another card of their chain has replaced are left out."`
	PrizeDue  Opt[bool]   `json:"prize_due" doc:"True: only cards that have reached a prize which was not taken in this cycle."`
	SeenFrom  Opt[Time]   `json:"seen_from" doc:"Only cards whose newest row in the ledger is from then or later."`
	// NotSeenDays is as in CardFind.
	NotSeenDays Opt[int64] `json:"not_seen_days" min:"1" max:"3650" doc:"Only cards last presented at least so many days ago, by the shop's calendar, or never and issued before that. Without q the longest ago first, program by program, and archived cards only by their status."`
	// WholeEmail makes addresses and phone numbers match as a whole and not by their beginning or
	// end, for people who may not read them: a search by parts would tell them.
	WholeEmail bool `json:"-"`
	// ByEmail makes a text without an @ the beginning of an address too, not one of a name.
	ByEmail bool `json:"-"`
	// Live leaves out archived cards.
	Live bool `json:"-"`
}

// FoundCard is a card as the search shows it.
type FoundCard struct {
	ID           string       `json:"id"`
	ProgramID    string       `json:"program_id"`
	ProgramName  string       `json:"program_name"`
	ProgramType  string       `json:"program_type" enum:"standard,private,discount,access,prepaid"`
	ExternalRef  Null[string] `json:"external_ref"`
	HolderName   Null[string] `json:"holder_name"`
	HolderEmail  Null[string] `json:"holder_email"`
	Status       string       `json:"status" enum:"active,locked,invited,archived,expired"`
	StampsCount  int64        `json:"stamps_count"`
	TotalStamps  Null[int64]  `json:"total_stamps" doc:"Of the program."`
	CurrentValue Null[int64]  `json:"current_value" doc:"In cents."`
	PrizeDue     bool         `json:"prize_due"`
	LastSeenAt   Null[Time]   `json:"last_seen_at" doc:"Of the newest row in the ledger."`
	ExpiresAt    Null[Time]   `json:"expires_at"`
	CreatedAt    Time         `json:"created_at"`
}

// The conditions of a search on a card c.
const (
	lastSeenSQL = "(SELECT created_at FROM transactions WHERE card_id=c.id ORDER BY id DESC LIMIT 1)"
	prizeDueSQL = `(c.archived_at IS NULL AND EXISTS (SELECT 1 FROM prizes z WHERE z.program_id=c.program_id AND z.threshold<=c.stamps_count
		AND NOT EXISTS (SELECT 1 FROM claims WHERE card_id=c.id AND cycle=c.cycle AND threshold=z.threshold)))`
	notSeenSQL = `EXISTS (SELECT 1 FROM cards r WHERE r.id=ifnull(c.root_id, c.id) AND r.last_seen_day<=? AND (r.last_seen_day>0
		OR r.created_at<?))`
	notReplacedSQL = `(c.archived_at IS NULL OR NOT EXISTS (SELECT 1 FROM cards y WHERE y.root_id=ifnull(c.root_id, c.id) AND y.id>c.id
		AND y.deleted_at IS NULL))`
)

// searchConditions returns the filters of a search as a condition on a card c. since belongs
// to NotSeenDays.
func (v *View) searchConditions(f CardSearch, since notSeen) (sql string, args []any) {
	conds := []string{"c.deleted_at IS NULL"}
	add := func(cond string, more ...any) {
		conds = append(conds, cond)
		args = append(args, more...)
	}
	if f.ProgramID.Set {
		add("+c.program_id=?", v.keyOrNone(KindProgram, f.ProgramID.V))
	}
	if f.Status.Set {
		add(statusSQL+"=?", v.Now, f.Status.V)
	}
	if f.Status.Or("") != StatusArchived {
		add(notReplacedSQL)
	}
	if f.Live {
		add("c.archived_at IS NULL")
	}
	if f.SeenFrom.Set {
		add(lastSeenSQL+">=?", f.SeenFrom.V)
	}
	if f.NotSeenDays.Set {
		add(notSeenSQL, since.day, since.before)
	}
	if f.PrizeDue.Or(false) {
		add(prizeDueSQL)
	}
	return strings.Join(conds, " AND "), args
}

// Check refuses seen_from with not_seen_days.
func (f CardSearch) Check(Time) []Detail {
	if f.SeenFrom.Set && f.NotSeenDays.Set {
		return []Detail{{"seen_from", "mutually_exclusive", "cannot be combined with not_seen_days"}}
	}
	return nil
}

// bySeen reports whether the search walks the cards by the day on which they were last seen.
// That index has no archived cards.
func (f CardSearch) bySeen() bool {
	return f.NotSeenDays.Set && strings.TrimSpace(f.Q.Or("")) == "" && f.Status.Or("") != StatusArchived
}

// SearchCards returns a page of the shop's cards that a search finds. Cards that q
// names by id, code or external_ref come first. The others are in the order of the
// words or addresses that match, or newest first if there is no q. A page visits at
// most PageVisits cards, as page does.
func (v *View) SearchCards(shop int64, f CardSearch, q PageQuery) (p Page[FoundCard], err error) {
	if details := f.Check(v.Now); details != nil {
		return p, Invalid(details...)
	}
	v.snapshot()
	if f.bySeen() {
		var walked Page[CardFound]
		keys, err := v.findBySeen(Access{Shop: shop},
			CardFind{ProgramID: f.ProgramID, Status: f.Status, NotSeenDays: f.NotSeenDays, PrizeDue: f.PrizeDue}, q, &walked)
		if err != nil {
			return p, err
		}
		p.Limit, p.NextCursor = walked.Limit, walked.NextCursor
		p.Data = v.foundCards(shop, keys)
		return p, v.failed
	}
	limit := v.limit(q)
	x := cardSearch{View: v, shop: shop, CardSearch: f, limit: limit, visits: v.s.opts.PageVisits}
	if f.NotSeenDays.Set {
		x.since = v.notSeenFor(shop, f.NotSeenDays.V)
	}
	if err = x.run(q.Cursor); err != nil {
		return p, err
	}
	p = Page[FoundCard]{Limit: limit}
	if x.more {
		p.NextCursor = Some(v.searchCursor(shop, x.lastWord, x.last))
	}
	p.Data = v.foundCards(shop, x.found)
	return p, v.failed
}

// cardSearch is one run of a search.
type cardSearch struct {
	*View
	CardSearch
	shop  int64
	limit int
	since notSeen // of NotSeenDays

	words    []string // of q
	longest  string   // of words; name_words is walked by it
	exact    []int64  // cards that q names
	found    []int64
	visits   int   // how many more cards may be visited
	last     int64 // the last card that was visited
	lastWord int   // the place of the word that matched among those of its name, and newestFlag
	more     bool
}

// run finds the cards of one page.
func (x *cardSearch) run(cursor Opt[string]) error {
	text := strings.TrimSpace(x.Q.Or(""))
	from, word, err := x.position(cursor)
	if err != nil {
		return err
	}
	only := false
	if text != "" {
		if x.exact, only, err = x.namedCards(text); err != nil {
			return err
		}
		if !cursor.Set {
			x.found = x.matching(x.exact)
		}
	}
	switch {
	case only:
		return nil
	case text == "":
		return x.walkAll(from)
	case x.ByEmail, strings.Contains(text, "@"):
		return x.walkEmails(foldCase(text), from)
	}
	if digits := x.phoneEnd(text); digits != "" {
		return x.walkPhones(digits, from)
	}
	x.words = searchWords(text)
	for _, w := range x.words {
		if len(w) > len(x.longest) {
			x.longest = w
		}
	}
	if x.longest == "" {
		return nil
	}
	return x.walkNames(from, word)
}

// newestFlag is in the place of a word if name_words did not have its card yet.
const newestFlag = 1 << 7

// searchCursor makes a cursor of a search: the card at which a page ends and, of a
// search by name, the place of the word that matched among those of the card's name.
func (g IDs) searchCursor(shop int64, word int, key int64) string {
	return string(g.seal(nil, kindCursor, searchExtra(shop, word), key))
}

func searchExtra(shop int64, word int) uint64 {
	return uint64(listCardSearch)<<48 | uint64(word)<<40 | uint64(shop)
}

// position returns where the page before ended: its last card and the place of the
// word that matched. Without a cursor they are 0.
func (x *cardSearch) position(cursor Opt[string]) (key int64, word int, err error) {
	if !cursor.Set {
		return 0, 0, nil
	}
	extra, key, ok := x.openAny(kindCursor, cursor.V)
	word = int(extra >> 40 & 0xff)
	if !ok || extra != searchExtra(x.shop, word) {
		return 0, 0, errCursor
	}
	return key, word, nil
}

// maxExact is the most cards that q names by an external_ref.
const maxExact = 20

// namedCards returns the cards that a text names by an id, a code or an external_ref.
// only reports whether it can be nothing else.
func (x *cardSearch) namedCards(text string) (keys []int64, only bool, err error) {
	if key, ok := x.Key(KindCard, text); ok {
		return []int64{key}, true, nil
	}
	if all, epoch, foreign := x.chainByIDOrCode(x.shop, text, nil, chainOfCardSQL); len(all) > 0 {
		chain := newCardChain(Till{Shop: x.shop}, all)
		program := x.cachedProgram(x.shop, chain.newest.program, epoch)
		chain.setProgram(program)
		keys, only = []int64{chain.nextToStamp().key}, !IsShortCode(text) && !foreign
	}
	refs := x.keys("SELECT id FROM cards WHERE shop_id=? AND external_ref=? AND deleted_at IS NULL ORDER BY id DESC LIMIT ?", x.shop,
		text, maxExact)
	for _, key := range refs {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, only, x.failed
}

// matching returns those of the cards that pass the filters.
func (x *cardSearch) matching(keys []int64) []int64 {
	if len(keys) == 0 {
		return nil
	}
	conds, args := x.searchConditions(x.CardSearch, x.since)
	return x.keys(
		"SELECT c.id FROM json_each(?) k CROSS JOIN cards c ON c.id=k.value WHERE c.shop_id=? AND "+conds,
		append([]any{jsonKeys(keys), x.shop}, args...)...)
}

// walkAll walks the cards of the shop or of the program, newest first.
func (x *cardSearch) walkAll(from int64) error {
	below := int64(1<<63 - 1)
	if from != 0 {
		below = from
	}
	if x.ProgramID.Set {
		return x.walk("'', c.id, ''", "cards c WHERE c.program_id=? AND c.shop_id=? AND c.deleted_at IS NULL AND c.id<? ORDER BY c.id DESC",
			x.keyOrNone(KindProgram, x.ProgramID.V), x.shop, below)
	}
	return x.walk("'', c.id, ''", "cards c WHERE c.shop_id=? AND c.deleted_at IS NULL AND c.id<? ORDER BY c.id DESC", x.shop, below)
}

// walkEmails walks the cards whose address begins with a text, in the order of the
// addresses. from is the last card of the page before.
func (x *cardSearch) walkEmails(prefix string, from int64) error {
	at, end := prefix, prefix+lastText
	if x.WholeEmail {
		end = prefix + "\x00"
	}
	if from != 0 {
		at = x.textOf(from, "email_key")
		if !strings.HasPrefix(at, prefix) {
			return errCursor
		}
	}
	return x.walk("'', c.id, ''",
		"cards c WHERE c.shop_id=? AND c.email_key IS NOT NULL AND (c.email_key, c.id)>(?,?) AND c.email_key<? ORDER BY c.email_key, c.id",
		x.shop, at, from, end)
}

// minPhoneDigits is the fewest digits of a phone number's end that a search takes.
const minPhoneDigits = 4

// phoneEnd returns the digits of a text that is a phone number or its end, as phone_key has them: the
// last one first. It returns an empty text for all other texts.
func (x *cardSearch) phoneEnd(text string) string {
	digits := strings.NewReplacer(" ", "", "-", "", ".", "", "/", "", "(", "", ")", "").Replace(text)
	bare := strings.TrimPrefix(digits, "+")
	if len(bare) < minPhoneDigits || strings.Trim(bare, "0123456789") != "" {
		return ""
	}
	if whole, ok := phone.Parse(digits, x.View.shop(x.shop).CountryCode.V); ok {
		key := phoneKey(whole)
		if x.WholeEmail || x.number("SELECT count(*) FROM contacts WHERE shop_id=? AND phone_key=?", x.shop, key) > 0 {
			return key
		}
	}
	return phoneKey(strings.TrimLeft(bare, "0"))
}

// walkPhones walks the newest cards of the chains whose phone number begins with a text when it is
// read from its end. from is the last card of the page before.
func (x *cardSearch) walkPhones(prefix string, from int64) error {
	at, end, root := prefix, prefix+lastText, int64(0)
	if x.WholeEmail {
		end = prefix + "\x00"
	}
	if from != 0 {
		at = ""
		x.one(into(&at, &root), `SELECT k.phone_key, k.card_id FROM cards c JOIN contacts k ON k.card_id=ifnull(c.root_id, c.id)
			WHERE c.id=? AND c.shop_id=? AND k.phone_key IS NOT NULL`, from, x.shop)
		if !strings.HasPrefix(at, prefix) {
			return errCursor
		}
	}
	return x.walk("'', c.id, ''", `contacts k JOIN cards r ON r.id=k.card_id JOIN cards c ON c.id=`+newestOfChain+
		" WHERE k.shop_id=? AND k.phone_key IS NOT NULL AND (k.phone_key, k.card_id)>(?,?) AND k.phone_key<? ORDER BY k.phone_key, k.card_id",
		x.shop, at, root, end)
}

// lastText is greater than the rest of any text: no text has such a character.
const lastText = "\U0010ffff"

// walkNames walks the cards that have a word which begins with the longest of the search: first the
// newest cards, which name_words does not have yet, and then those of each part of name_words,
// the newest part first. All of them are in the order of these words. from is the last card of the
// page before, and place that of its word.
func (x *cardSearch) walkNames(from int64, place int) error {
	indexed := x.number(indexedCards)
	start := newWord{shop: x.shop, word: x.longest}
	after, part := start, int64(math.MaxInt64)
	if from != 0 {
		words, word := nameWords(x.textOf(from, "holder_name")), place&^newestFlag
		if word >= len(words) || !strings.HasPrefix(words[word], x.longest) {
			return errCursor
		}
		after.card, after.word = from, words[word]
	}
	switch {
	case place&newestFlag == 0 && from != 0:
		part = namePart(from)
	case from <= indexed && from != 0: // name_words has got the newest cards meanwhile
		after = start
	default:
		x.visitNewest(indexed, after)
		after = start
	}
	for ; !x.more; after = start {
		if part = x.number("SELECT ifnull(max(part), -1) FROM name_words WHERE part<=?", part); part < 0 || x.failed != nil {
			return x.failed
		}
		err := x.walk("w.word, w.card_id, c.holder_name", `name_words w CROSS JOIN cards c ON c.id=w.card_id
			WHERE w.part=? AND w.shop_id=? AND (w.word, w.card_id)>(?,?) AND w.word<? AND w.card_id<=? ORDER BY w.word, w.card_id`,
			part, x.shop, after.word, after.card, x.longest+lastText, indexed)
		if err != nil {
			return err
		}
		part--
	}
	return nil
}

// visitNewest visits the cards that are newer than those of name_words, from a word on.
func (x *cardSearch) visitNewest(indexed int64, after newWord) {
	var found []newWord
	const names = "SELECT id, holder_name FROM cards WHERE shop_id=? AND id>? AND holder_name IS NOT NULL AND deleted_at IS NULL"
	for r := range x.each(names, x.shop, indexed) {
		w := newWord{shop: x.shop, card: r.int(), name: r.str()}
		for _, w.word = range nameWords(w.name) {
			if strings.HasPrefix(w.word, x.longest) && w.compare(after) > 0 {
				found = append(found, w)
			}
		}
	}
	slices.SortFunc(found, newWord.compare)
	for words := range slices.Chunk(found, x.limit+1) {
		var keys []int64
		for _, w := range words {
			keys = append(keys, w.card)
		}
		passing := x.matching(keys)
		for _, w := range words {
			if x.visit(w, slices.Contains(passing, w.card), newestFlag); x.more {
				return
			}
		}
	}
}

// textOf returns a text column of a card of the shop, empty if it is null.
func (x *cardSearch) textOf(key int64, column string) (text string) {
	x.one(into(&text), "SELECT "+column+" FROM cards WHERE id=? AND shop_id=?", key, x.shop)
	return text
}

// walk reads the cards of a source until the page is full or no more may be visited.
// cols are the word that matched, the key and the name to which the word belongs.
func (x *cardSearch) walk(cols, source string, args ...any) error {
	conds, filterArgs := x.searchConditions(x.CardSearch, x.since)
	r := x.query("SELECT "+epochColumn+", "+cols+", ifnull("+conds+", 0) FROM "+source+" LIMIT ?",
		append(append(filterArgs, args...), x.visits)...)
	for !x.more && r.next() {
		x.seeEpoch(r.int())
		w := newWord{word: r.str(), card: r.int(), name: r.str()}
		x.visit(w, r.bool(), 0)
		x.visits--
	}
	x.more = x.more || x.visits == 0
	return r.close()
}

// visit adds a card to the page if it passes the filters and its name matches, and sets more if the
// page is full. The word is empty if the search is not by names. flag is 0 or newestFlag.
func (x *cardSearch) visit(w newWord, passes bool, flag int) {
	place := 0
	if passes && w.word != "" {
		place, passes = x.matchName(w.word, w.name)
	}
	if passes = passes && !slices.Contains(x.exact, w.card); passes && len(x.found) >= x.limit {
		x.more = true
		return
	}
	if w.word != "" && !passes {
		place = max(0, slices.Index(nameWords(w.name), w.word))
	}
	x.last, x.lastWord = w.card, place|flag
	if passes {
		x.found = append(x.found, w.card)
	}
}

// matchName reports whether a name has all words of the search, and the place of word
// in it. A name of which several words match is found by the first of them only.
func (x *cardSearch) matchName(word, name string) (place int, ok bool) {
	words := nameWords(name)
	place = slices.Index(words, word)
	begins := func(prefix string) int {
		return slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, prefix) })
	}
	return place, begins(x.longest) == place && !slices.ContainsFunc(x.words, func(w string) bool { return begins(w) < 0 })
}

var foundCardSQL = "SELECT " + columns(slices.Concat([]string{epochColumn, "c.id"}, cardCols, []string{prizeDueSQL, lastSeenSQL})...) +
	" FROM json_each(?) k CROSS JOIN cards c ON c.id=k.value WHERE c.shop_id=? AND c.deleted_at IS NULL"

// foundCards reads cards of the shop in the order of the keys.
func (v *View) foundCards(shop int64, keys []int64) (list []FoundCard) {
	list = make([]FoundCard, 0, len(keys))
	var programs []int64
	for r := range v.each(foundCardSQL, jsonKeys(keys), shop) {
		v.seeEpoch(r.int())
		c := v.scanCard(r, r.int(), v.Now)
		programs = append(programs, c.program)
		list = append(
			list,
			FoundCard{
				ID:           c.ID,
				ProgramID:    c.ProgramID,
				ExternalRef:  c.ExternalRef,
				HolderName:   c.HolderName,
				HolderEmail:  c.HolderEmail,
				Status:       c.Status,
				StampsCount:  c.StampsCount,
				CurrentValue: c.CurrentValue,
				PrizeDue:     r.bool(),
				LastSeenAt:   r.nullTime(),
				ExpiresAt:    c.ExpiresAt,
				CreatedAt:    c.CreatedAt,
			},
		)
	}
	for i := range list {
		p := v.cachedProgram(shop, programs[i], v.rowEpoch)
		list[i].ProgramName, list[i].ProgramType, list[i].TotalStamps = p.Name, p.Type, p.TotalStamps
	}
	return list
}
