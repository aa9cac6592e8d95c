package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The bounds of what card_words holds of a name. maxNameWords fits into a cursor; see
// searchCursor.
const (
	maxNameWords  = 20
	maxWordLength = 40 // in characters
)

// plainLetters replaces letters that no decomposition turns into letters of the Latin
// alphabet without accents.
var plainLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d",
	"þ", "th", "ł", "l", "ħ", "h", "ı", "i", "ŋ", "n", "ŧ", "t")

// nameWords returns the words of a name as card_words has them: without case, accents
// and punctuation, each once and in order, at most maxNameWords.
func nameWords(name string) (words []string) {
	if name == "" {
		return nil
	}
	for _, word := range strings.FieldsFunc(foldName(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
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
	slices.Sort(words)
	return words
}

// foldName returns a name without case and accents.
func foldName(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name) // most names, and a search may fold thousands
	}
	var folded strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(foldCase(name))) {
		if !unicode.Is(unicode.Mn, r) { // an accent
			folded.WriteRune(r)
		}
	}
	return plainLetters.Replace(folded.String())
}

// indexName adds the words of a new card's name to card_words.
func (tx *Tx) indexName(shop, card int64, name Null[string]) { tx.reindexName(shop, card, "", name.V) }

// reindexName replaces the words of a card's old name by those of its new one. A card
// without a name has none.
func (tx *Tx) reindexName(shop, card int64, from, to string) {
	if from == to {
		return
	}
	old, words := nameWords(from), nameWords(to)
	for _, word := range old {
		if !slices.Contains(words, word) {
			tx.exec("DELETE FROM card_words WHERE shop_id=? AND word=? AND card_id=?", shop, word, card)
		}
	}
	for _, word := range words {
		if !slices.Contains(old, word) {
			tx.exec("INSERT INTO card_words (shop_id, word, card_id) VALUES (?,?,?)", shop, word, card)
		}
	}
}

// reindexChain replaces the words of the names in a chain, of all its cards or only
// of those that are not archived. It is called before the names change.
func (tx *Tx) reindexChain(shop, root int64, archivedToo bool, name Null[string]) {
	type named struct {
		key  int64
		name string
	}
	if tx.failed != nil {
		return
	}
	var cards []named
	cards, tx.failed = list(tx.conn, func(r *rows) named { return named{r.int(), r.str()} },
		"SELECT "+columns("id", "holder_name")+" FROM cards WHERE (archived_at IS NULL OR ?3) AND (id=?1 OR root_id=?2) AND deleted_at IS NULL",
		root, root, archivedToo)
	for _, c := range cards {
		tx.reindexName(shop, c.key, c.name, name.V)
	}
}

// namedCards selects the cards that have names.
const namedCards = "SELECT c.id, c.shop_id, c.holder_name FROM cards c WHERE c.holder_name IS NOT NULL"

// checkCardWords returns the cards whose words in card_words are not those of their
// names, at most 20.
func (v *View) checkCardWords(m *meter) (findings []string, err error) {
	defer m.watch(namedCards, m.scanned(namedCards))()
	var all, names int64
	r := v.query(namedCards)
	for r.next() && len(findings) < 20 {
		key, shop, words := r.int(), r.int(), nameWords(r.str())
		for _, word := range words {
			n, err := v.number("SELECT count(*) FROM card_words WHERE shop_id=? AND word=? AND card_id=?", shop, word, key)
			if err != nil {
				return nil, err
			}
			all += n
		}
		names += int64(len(words))
		if all < names {
			findings = append(findings, "words of a name that the search does not find, of card: "+v.s.ID(KindCard, key))
			all = names
		}
	}
	if err := r.close(); err != nil || len(findings) > 0 {
		return findings, err
	}
	n, err := v.number("SELECT count(*) FROM card_words")
	if n > all {
		findings = append(findings, fmt.Sprintf("%d words of names that no card has", n-all))
	}
	return findings, err
}
