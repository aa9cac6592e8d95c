package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The bounds of what name_words holds of a name. maxNameWords fits into a cursor; see
// searchCursor.
const (
	maxNameWords  = 20
	maxWordLength = 40 // in characters
)

// plainLetters replaces letters that no decomposition turns into letters of the Latin
// alphabet without accents.
var plainLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d",
	"þ", "th", "ł", "l", "ħ", "h", "ı", "i", "ŋ", "n", "ŧ", "t")

// The characters that people leave out when they look for a name.
const (
	apostrophes = "'’‘ʼʻ′`´"
	hyphens     = "-‐‑"
)

// without returns a text without some characters.
func without(text, characters string) string {
	if !strings.ContainsAny(text, characters) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(characters, r) {
			return -1
		}
		return r
	}, text)
}

// nameWords returns the words of a name as name_words has them: without case, accents
// and punctuation, each once and in order, at most maxNameWords. O’Brien has the words o, brien and
// obrien.
func nameWords(name string) (words []string) {
	words = addWords(nil, name)
	if joined := without(name, apostrophes+hyphens); joined != name {
		words = addWords(words, joined)
	}
	slices.Sort(words)
	return words
}

// searchWords returns the words of a search. Those of O’Brien are obrien alone, which finds Obrien too.
func searchWords(text string) []string {
	words := addWords(nil, without(text, apostrophes))
	slices.Sort(words)
	return words
}

// addWords adds the words of a name to a list that does not have them, as long as it has fewer than
// maxNameWords.
func addWords(words []string, name string) []string {
	for _, word := range strings.FieldsFunc(FoldName(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) || r == 'ʼ' || r == 'ʻ' // which are letters
	}) {
		if len(word) > maxWordLength {
			if runes := []rune(word); len(runes) > maxWordLength {
				word = string(runes[:maxWordLength])
			}
		}
		if len(words) < maxNameWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// FoldName returns a name without case and accents.
func FoldName(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name) // most names, and a search may fold thousands
	}
	var folded strings.Builder
	latin := foldedLatin()
	for _, r := range name {
		switch {
		case int(r) < len(latin):
			folded.WriteString(latin[r])
		case r == '’', r == '‘':
			folded.WriteRune(r)
		default:
			return foldLetters(name)
		}
	}
	return folded.String()
}

// foldedLatin returns what foldLetters makes of each letter below U+0250, with which most European names are written.
var foldedLatin = sync.OnceValue(func() []string {
	letters := make([]string, 0x250)
	for r := range letters {
		letters[r] = foldLetters(string(rune(r)))
	}
	return letters
})

// foldLetters does the same as FoldName for letters of all scripts. It takes longer.
func foldLetters(name string) string {
	var folded strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(foldCase(name))) {
		if !unicode.Is(unicode.Mn, r) { // an accent
			folded.WriteRune(r)
		}
	}
	return plainLetters.Replace(folded.String())
}

// cardsPerRun is how many cards IndexNames adds to name_words at a time. The words of one new
// card are on as many pages of the table as there are words; sorted, those of many cards share
// pages. A search reads the names of the newest cards, which name_words does not have yet.
const cardsPerRun = 1024

// namePart returns the part of name_words that has the words of a card's name. A part has few
// pages, so that many of the words that are added together share one. A search reads each part.
func namePart(card int64) int64 { return card >> 12 }

// indexedCards is the query for the key up to which name_words has the words of all cards.
const indexedCards = "SELECT indexed_cards FROM meta"

// NewNames are names that name_words does not have yet.
type NewNames struct {
	words []newWord // in the order of name_words
	last  int64     // the newest of the cards
}

// newWord is a word of a card's name.
type newWord struct {
	shop, card int64
	word, name string
}

// compare compares words by their order in a part of name_words.
func (w newWord) compare(o newWord) int {
	return cmp.Or(cmp.Compare(w.shop, o.shop), strings.Compare(w.word, o.word), cmp.Compare(w.card, o.card))
}

// NewNames returns the names of the oldest cards that name_words does not have yet, also if they have
// no name. ok is false while there are fewer than cardsPerRun.
func (v *View) NewNames() (n NewNames, ok bool, err error) {
	cards := 0
	const newest = "SELECT id, shop_id, ifnull(holder_name, '') FROM cards WHERE id>(" + indexedCards + ") ORDER BY id LIMIT ?"
	for r := range v.each(newest, cardsPerRun) {
		card, shop, name := r.int(), r.int(), r.str()
		for _, word := range nameWords(name) {
			n.words = append(n.words, newWord{shop, card, word, name})
		}
		n.last = card
		cards++
	}
	slices.SortFunc(n.words, func(a, b newWord) int {
		return cmp.Or(cmp.Compare(namePart(a.card), namePart(b.card)), a.compare(b))
	})
	v.s.newCards.Store(int64(cards))
	return n, cards == cardsPerRun, v.failed
}

// IndexNames adds at most limit words of the names to name_words, and reports whether there are
// more. Names that have changed meanwhile are there already.
func (tx *Tx) IndexNames(n *NewNames, limit int) (more bool, err error) {
	batch := n.words[:min(limit, len(n.words))]
	for _, w := range batch {
		tx.exec(`INSERT OR IGNORE INTO name_words (part, shop_id, word, card_id)
			SELECT ?, shop_id, ?, id FROM cards WHERE id=? AND holder_name=?`, namePart(w.card), w.word, w.card, w.name)
	}
	n.words = n.words[len(batch):]
	if len(n.words) == 0 {
		tx.exec("UPDATE meta SET indexed_cards=max(indexed_cards, ?)", n.last)
	}
	return len(n.words) > 0, tx.failed
}

// countNewCard counts a new card, for NamesDue.
func (tx *Tx) countNewCard() {
	if tx.s.newCards.Add(1) >= cardsPerRun {
		wake(tx.s.namesDue)
	}
}

// wake sends to a channel of capacity 1, unless a value waits there.
func wake(due chan<- struct{}) {
	select {
	case due <- struct{}{}:
	default:
	}
}

// NamesDue returns a channel that receives when there may be enough NewNames.
func (s *Store) NamesDue() <-chan struct{} { return s.namesDue }

// reindexName replaces the words of a card's old name by those of its new one. A card
// without a name has none.
func (tx *Tx) reindexName(shop, card int64, from, to string) {
	if from == to {
		return
	}
	words := nameWords(to)
	for _, word := range nameWords(from) {
		if !slices.Contains(words, word) {
			tx.exec("DELETE FROM name_words WHERE part=? AND shop_id=? AND word=? AND card_id=?", namePart(card), shop, word, card)
		}
	}
	for _, word := range words { // of which name_words has none if the card is new
		tx.exec("INSERT OR IGNORE INTO name_words (part, shop_id, word, card_id) VALUES (?,?,?,?)", namePart(card), shop, word, card)
	}
}

// reindexChain replaces the words of the names in a chain, of all its cards or only
// of those that are not archived. It is called before the names change.
func (tx *Tx) reindexChain(shop, root int64, archivedToo bool, name Null[string]) {
	const chain = "SELECT id, holder_name FROM cards WHERE (archived_at IS NULL OR ?3) AND (id=?1 OR root_id=?2) AND deleted_at IS NULL"
	for r := range tx.each(chain, root, root, archivedToo) {
		tx.reindexName(shop, r.int(), r.str(), name.V)
	}
}

// namedCards selects the cards that have names.
const namedCards = "SELECT c.id, c.shop_id, c.holder_name FROM cards c WHERE c.holder_name IS NOT NULL AND " +
	ofShopNotDeleted

// checkCardWords returns the cards whose words in name_words are not those of their
// names, at most 20. Those of the newest cards may be missing.
func (v *View) checkCardWords(m *meter) (findings []string, err error) {
	defer m.watch(namedCards, m.scanned(namedCards))()
	indexed := v.number(indexedCards)
	var all int64
	for r := range v.each(namedCards) {
		if len(findings) == 20 {
			break
		}
		key, shop, words := r.int(), r.int(), nameWords(r.str())
		var found int64
		for _, word := range words {
			found += v.number("SELECT count(*) FROM name_words WHERE part=? AND shop_id=? AND word=? AND card_id=?",
				namePart(key), shop, word, key)
		}
		all += found
		if found < int64(len(words)) && key <= indexed && v.failed == nil {
			findings = append(findings, "words of a name that the search does not find, of card: "+v.ID(KindCard, key))
		}
	}
	if v.failed != nil || len(findings) > 0 {
		return findings, v.failed
	}
	if n := v.number("SELECT count(*) FROM name_words WHERE " + ofShopNotDeleted); n > all {
		findings = append(findings, fmt.Sprintf("%d words of names that no card has", n-all))
	}
	return findings, v.failed
}
