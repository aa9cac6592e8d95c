package store

import (
	"math"
	"slices"
	"strings"

	"punchcard/store/phone"
)

// walkAll walks the cards of the shop or of the program, newest first. It reads a run of keys from an index, and then those cards
// in ascending order, in which SQLite need not search for each of them (BenchmarkCardList).
func (x *cardSearch) walkAll(from int64) error {
	index, owner := "cards_shop WHERE c.shop_id", x.shop
	if x.ProgramID.Set {
		index, owner = "cards_program WHERE c.program_id", x.keyOrNone(KindProgram, x.ProgramID.V)
		if x.number("SELECT count(*) FROM programs WHERE id=? AND shop_id=?", owner, x.shop) == 0 {
			return x.failed
		}
	}
	source := " FROM cards c INDEXED BY " + index + "=? AND c.deleted_at IS NULL AND c.id<?"
	conds := x.searchConditions(x.shop, x.CardSearch)
	below := int64(math.MaxInt64)
	if from != 0 {
		below = from
	}
	for run := x.limit + 1; !x.more; run *= 4 {
		run = min(run, x.visits)
		var oldest int64
		visited := 0
		x.one(into(&oldest, &visited), "SELECT ifnull(min(id), 0), count(*) FROM (SELECT c.id"+source+" ORDER BY c.id DESC LIMIT ?)",
			owner, below, run)
		passing := x.keys("SELECT c.id"+source+" AND c.id>=? AND "+conds.sql()+" ORDER BY c.id",
			append([]any{owner, below, oldest}, conds.args...)...)
		for _, card := range slices.Backward(passing) {
			if x.visit(newWord{card: card}, true, 0); x.more {
				return x.failed
			}
		}
		x.visits -= visited
		x.more = x.visits == 0
		if visited < run || x.failed != nil {
			return x.failed
		}
		x.last.card, below = oldest, oldest
	}
	return x.failed
}

// walkEmails walks the cards whose address begins with a text, in the order of the addresses.
func (x *cardSearch) walkEmails(prefix string, from int64) error {
	return x.walkTexts(prefix, from, "SELECT email_key, id FROM cards WHERE id=? AND shop_id=?",
		"cards c WHERE c.shop_id=? AND c.email_key IS NOT NULL AND (c.email_key, c.id)>(?,?) AND c.email_key<? ORDER BY c.email_key, c.id")
}

// minPhoneDigits is the fewest digits of a phone number's end that a search takes.
const minPhoneDigits = 4

// phoneEnd returns the digits of a text that is a phone number or its end, as phone_key has them: the
// last one first. It returns an empty text for all other texts.
func (x *cardSearch) phoneEnd(text string) string {
	digits := without(text, " -./()")
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

// walkContacts walks the newest cards of the chains for which a column of contacts begins with a text, in
// the order of the column.
func (x *cardSearch) walkContacts(column, prefix string, from int64) error {
	named := strings.NewReplacer("k.at", "k."+column).Replace
	return x.walkTexts(prefix, from,
		named("SELECT k.at, k.card_id FROM cards c JOIN contacts k ON k.card_id=ifnull(c.root_id, c.id) WHERE c.id=? AND c.shop_id=?"),
		named(`(SELECT k.card_id AS id FROM contacts k WHERE k.shop_id=? AND k.at IS NOT NULL AND (k.at, k.card_id)>(?,?) AND k.at<?
			ORDER BY k.at, k.card_id) r CROSS JOIN cards c ON c.id=`+newestOfChain))
}

// walkTexts walks the cards of a source, which has them in the order of texts that begin with a prefix. from is the last card of
// the page before, of which place selects the text and the key in the source.
func (x *cardSearch) walkTexts(prefix string, from int64, place, source string) error {
	at, key := prefix, int64(0)
	if from != 0 {
		at = ""
		x.one(into(&at, &key), place, from, x.shop)
		if !strings.HasPrefix(at, prefix) {
			return errCursor
		}
	}
	return x.walk("c.id", source, x.shop, at, key, x.end(prefix))
}

// end returns the text before which those that begin with a prefix are, or only the prefix itself if addresses and
// phone numbers match as a whole.
func (x *cardSearch) end(prefix string) string {
	if x.WholeEmail {
		return prefix + "\x00"
	}
	return prefix + lastText
}

// lastText is greater than the rest of any text: no text has such a character.
const lastText = "\U0010ffff"

// walkNames walks the cards that have a word which begins with the rarest of the search: first the
// newest cards, which name_words does not have yet, and then those of each part of name_words,
// the newest part first. All of them are in the order of these words. from is the last card of the
// page before, and place that of its word, which tells by what word of the search that page walked.
func (x *cardSearch) walkNames(from, place int64) error {
	indexed := x.number(indexedCards)
	candidates := distinctBeginnings(x.words)
	after, part := newWord{shop: x.shop}, int64(math.MaxInt64)
	if from == 0 {
		x.walked = x.rarest(candidates)
	} else {
		var name string
		x.one(into(&name), "SELECT holder_name FROM cards WHERE id=? AND shop_id=?", from, x.shop)
		words, word := nameWords(name), int(place&^newestFlag)
		if word >= len(words) {
			return errCursor
		}
		i := slices.IndexFunc(candidates, func(w string) bool { return strings.HasPrefix(words[word], w) })
		if i < 0 {
			return errCursor
		}
		x.walked, after.card, after.word = candidates[i], from, words[word]
	}
	start := newWord{shop: x.shop, word: x.walked}
	if from == 0 {
		after = start
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
		err := x.walk("w.card_id, w.word, c.holder_name", `name_words w CROSS JOIN cards c ON c.id=w.card_id
			WHERE w.part=? AND w.shop_id=? AND (w.word, w.card_id)>(?,?) AND w.word<? AND w.card_id<=? ORDER BY w.word, w.card_id`,
			part, x.shop, after.word, after.card, x.walked+lastText, indexed)
		if err != nil {
			return err
		}
		part--
	}
	return nil
}

// distinctBeginnings returns the words, in order, of which none is the beginning of another. So no name has a word
// that begins with two of them.
func distinctBeginnings(words []string) (list []string) {
	for i, w := range words {
		if i+1 == len(words) || !strings.HasPrefix(words[i+1], w) {
			list = append(list, w)
		}
	}
	return list
}

// rarest returns the word with which the fewest words of the newest part of name_words begin.
func (x *cardSearch) rarest(words []string) (rarest string) {
	fewest := int64(math.MaxInt64)
	if len(words) == 1 {
		return words[0]
	}
	for _, w := range words {
		n := x.number(`SELECT count(*) FROM name_words WHERE part=(SELECT max(part) FROM name_words) AND shop_id=? AND word>=? AND word<?`,
			x.shop, w, w+lastText)
		if n < fewest {
			rarest, fewest = w, n
		}
	}
	return rarest
}

// visitNewest visits the cards that are newer than those of name_words, from a word on.
func (x *cardSearch) visitNewest(indexed int64, after newWord) {
	var found []newWord
	const names = "SELECT id, holder_name FROM cards WHERE shop_id=? AND id>? AND holder_name IS NOT NULL AND deleted_at IS NULL"
	for r := range x.each(names, x.shop, indexed) {
		w := newWord{shop: x.shop, card: r.int(), name: r.str()}
		for _, w.word = range nameWords(w.name) {
			if strings.HasPrefix(w.word, x.walked) && w.compare(after) > 0 {
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

// walk reads the cards of a source until the page is full or no more may be visited.
// cols are the key and, of a search by names, the word that matched and the name to which it belongs.
func (x *cardSearch) walk(cols, source string, args ...any) error {
	conds := x.searchConditions(x.shop, x.CardSearch)
	// Unlike ifnull, iif computes as few terms as it needs.
	r := x.query("SELECT iif("+conds.sql()+", 1, 0), "+cols+" FROM "+source+" LIMIT ?",
		append(append(conds.args, args...), x.visits)...)
	for !x.more && r.next() {
		passes, w := r.bool(), newWord{card: r.int()}
		if x.walked != "" {
			w.word, w.name = r.str(), r.str()
		}
		x.visit(w, passes, 0)
		x.visits--
	}
	x.more = x.more || x.visits == 0
	return r.close()
}

// visit adds a card to the page if it passes the filters and its name matches, and sets more if the
// page is full. The word is empty if the search is not by names.
func (x *cardSearch) visit(w newWord, passes bool, place int64) {
	passes = passes && (w.word == "" || x.matchName(w.word, w.name)) && !slices.Contains(x.exact, w.card)
	if passes && len(x.found) >= x.limit {
		x.more = true
		return
	}
	x.last, x.lastPlace = w, place
	if passes {
		x.found = append(x.found, w.card)
	}
}

// matchName reports whether a name has all words of the search. A name of which several words match is found by the
// first of them only, word.
func (x *cardSearch) matchName(word, name string) bool {
	words := nameWords(name)
	begins := func(prefix string) int {
		return slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, prefix) })
	}
	first := begins(x.walked)
	return first >= 0 && words[first] == word && !slices.ContainsFunc(x.words, func(w string) bool { return begins(w) < 0 })
}
