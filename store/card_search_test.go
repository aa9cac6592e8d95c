package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNameWords checks the words by which names are found.
func TestNameWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "", " ": "", "Ada": "ada", "ADA Lovelace": "ada lovelace", "Lovelace,  Ada ada": "ada lovelace",
		"José Ñandú": "jose nandu", "Jose\u0301": "jose",
		"Jean-Luc O’Brien": "brien jean jeanluc luc o obrien", "Oʼconnor": "connor o oconnor",
		"oʻConnor": "connor o oconnor", "Müller-Groß": "gross muller mullergross",
		"Søren Łukasz": "lukasz soren",
		"Æsop Œuvre":   "aesop oeuvre", "İpek Işık": "ipek isik",
		"ΟΔΥΣΣΕΥΣ Οδυσσεύς": "οδυσσευσ", "Ёлкина": "елкина",
		"山田 太郎": "太郎 山田", "ﬁona": "fiona", "Ⅳ": "iv", "😀 Zoë 2": "2 zoe", "ẞ": "ss",
		"שלום":                  "שלום",
		strings.Repeat("x", 60): strings.Repeat("x", maxWordLength),
	} {
		if got := strings.Join(nameWords(name), " "); got != want {
			t.Errorf("%q has the words %q, want %q", name, got, want)
		}
	}
	for _, spelt := range []string{"O'Connor", "O’Connor", "o`connor", "OʻConnor", "Oʼconnor", "OCONNOR"} {
		if got := searchWords(spelt); !slices.Equal(got, []string{"oconnor"}) {
			t.Errorf("a search for %s looks for %q", spelt, got)
		}
	}
	if n := len(nameWords(strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), " "))); n != maxNameWords {
		t.Errorf("%d words", n)
	}
}

// TestFoldName checks that the short way to fold Latin letters gives what the long one does, also among accents and other scripts.
func TestFoldName(t *testing.T) {
	t.Parallel()
	for r := range rune(0x2100) {
		for _, name := range []string{string(r), "e" + string(r), string(r) + "’\u0301", "É‘" + string(r) + "Ж", "\xff" + string(r)} {
			if got, want := FoldName(name), foldLetters(name); got != want {
				t.Errorf("%U: %q becomes %q, want %q", r, name, got, want)
			}
		}
	}
}

// indexNames adds the names of new cards to name_words, two words at a time.
func (f *fixture) indexNames() {
	var names NewNames
	f.view(func(v *View) (err error) {
		names, _, err = v.NewNames()
		return err
	})
	for more := true; more; {
		f.must(func(tx *Tx) (err error) {
			more, err = tx.IndexNames(&names, 2)
			return err
		})
	}
}

// searched returns the ids of all pages of a search.
func (f *fixture) searched(t *testing.T, s CardSearch, limit int) []string {
	t.Helper()
	read := func(v *View, q PageQuery) (Page[FoundCard], error) {
		s.PageQuery = q
		return v.SearchCards(f.a.Shop, s)
	}
	return allPages(t, inPagesOf(int64(limit), pages(f, read, func(c FoundCard) string { return c.ID })), nil)
}

// TestSearchCards checks what each way of searching finds.
func TestSearchCards(t *testing.T) {
	f := start(t)
	k := f.till()
	coffee, prizes := k.ladder(true, 5, 10)
	gift := f.program(prepaid("Gift", 0))
	other := f.shop(ShopFields{})
	f.in(other).
		cardWith(
			f.in(other).program(stamps("Other")),
			CardFields{HolderName: set("Ada Lovelace"), HolderEmail: set("ada@example.com"), ExternalRef: set("customer 7")},
		)
	ada := f.cardWith(
		coffee,
		CardFields{HolderName: set("Ada Lovelace"), HolderEmail: set("Ada@Example.com"), ExternalRef: set("customer 7")},
	)
	f.clock.move(time.Hour)
	jose := f.cardWith(coffee, CardFields{HolderName: set("José Ada-María"), HolderEmail: set("jose@example.com")})
	adam := f.cardOf(gift, "Adam")
	blank := f.card(gift)
	erased := f.cardWith(gift, CardFields{HolderName: set("Ada Gone"), HolderEmail: set("ada.gone@example.com")})
	f.erase(erased)
	k.stamped(ada, 7)
	seen := f.clock.at()
	f.clock.move(days(1))
	check(k.topUp(adam, 100))
	check(k.adjust(ada, 1)) // no visit, so the list shows the one before
	f.lock(jose, true)
	k.contact(jose, HolderContactPatch{ContactPatch: ContactPatch{Birthday: set("02-29")}})

	finds := func(search CardSearch, want ...string) {
		t.Helper()
		for _, limit := range []int{maxListTotal, maxTotal} {
			total := view(f, func(v *View) (Total, error) { return v.countCards(f.a.Shop, search, limit, 10*limit) })
			if total != (Total{N: int64(len(want))}) {
				t.Errorf("%+v counts %+v, want %d", search, total, len(want))
			}
		}
		for _, limit := range []int{1, 2, 50} {
			if got := f.searched(t, search, limit); !slices.Equal(got, want) {
				t.Errorf("%+v by %d: %v, want %v", search, limit, got, want)
			}
		}
	}
	short := f.shortCode(blank)
	for text, want := range map[string][]string{
		"":                                   {blank, adam, jose, ada},
		"  ":                                 {blank, adam, jose, ada},
		"ada":                                {ada, jose, adam},
		"ADÁ":                                {ada, jose, adam},
		"a":                                  {ada, jose, adam},
		"adam":                               {adam, jose}, // Ada-María is adamaria too
		"ADAMARIA":                           {jose},
		"ada-maria":                          {jose},
		"jose maria":                         {jose},
		"a lovelace":                         {ada},
		"lovelaces":                          nil,
		"%":                                  nil,
		"ada@":                               {ada},
		"ADA@EXAMPLE.COM":                    {ada},
		"da@example.com":                     nil,
		"customer 7":                         {ada},
		"customer":                           nil,
		ada:                                  {ada},
		erased:                               nil,
		f.cardCode(f.key(KindCard, adam), 0): {adam},
		strings.ToUpper(short[:4] + " " + short[4:]): {blank},
	} {
		finds(CardSearch{Q: optional(text)}, want...)
	}
	finds(CardSearch{Q: set("ada@"), WholeEmail: true})
	finds(CardSearch{Q: set("ADA@example.com"), WholeEmail: true}, ada)
	finds(CardSearch{ListFilter: ListFilter{ProgramID: set("prg_")}})
	finds(CardSearch{ListFilter: ListFilter{SeenFrom: set(seen)}}, adam, ada)
	finds(CardSearch{ListFilter: ListFilter{SeenFrom: set(seen.Add(days(1)))}}, adam)
	for _, c := range view(f, func(v *View) (Page[FoundCard], error) { return v.SearchCards(f.a.Shop, CardSearch{Q: set(ada)}) }).Data {
		if c.LastSeenAt.V != seen {
			t.Errorf("the card was last seen at %v, want %v", c.LastSeenAt.V, seen)
		}
	}
	finds(CardSearch{Q: set(ada), ListFilter: ListFilter{ProgramID: set(gift)}})
	finds(CardSearch{Q: set("ada"), ListFilter: ListFilter{ProgramID: set(gift)}}, adam)
	finds(CardSearch{Q: set("ada"), ListFilter: ListFilter{Status: set(StatusInvited)}})
	finds(CardSearch{Q: set("ada"), ListFilter: ListFilter{BirthdayMonth: setInt(2)}}, jose)
	finds(CardSearch{Q: set("ada"), ListFilter: ListFilter{BirthdayMonth: setInt(3)}})
	k.findsOverflow(t, ada, coffee, prizes[1])
	f.checkFile()
}

// findsOverflow stamps card until it overflows, and checks that the child is found by the name of its
// parent, and the parent until a redemption of prize archives it.
func (k till) findsOverflow(t *testing.T, card, program, prize string) {
	child := k.stamped(card, 5).OverflowCard.ID
	if got := k.searched(t, CardSearch{Q: set("lovelace")}, 50); !slices.Equal(got, []string{card, child}) {
		t.Errorf("the chain is %v", got)
	}
	k.redeemed(card, prize)
	archived := CardSearch{Q: set("lovelace"), ListFilter: ListFilter{Status: set(StatusArchived)}}
	for want, search := range map[string]CardSearch{child: {Q: set("lovelace")}, card: archived} {
		if got := k.searched(t, search, 50); !slices.Equal(got, []string{want}) {
			t.Errorf("%+v finds %v", search, got)
		}
	}
	k.reads(func(v *View) {
		p, err := v.SearchCards(k.a.Shop, CardSearch{Q: set(k.cardCode(k.key(KindCard, card), 0))})
		if err != nil || len(p.Data) != 1 {
			t.Fatal(p, err)
		}
		c := p.Data[0]
		want := FoundCard{
			Card: Card{
				ID:          child,
				ProgramID:   program,
				ProgramName: "Coffee",
				ProgramType: ProgramStandard,
				ExternalRef: Some("customer 7"),
				HolderName:  Some("Ada Lovelace"),
				HolderEmail: Some("Ada@Example.com"),
				Status:      StatusActive,
				StampsCount: 3,
				CreatedAt:   k.clock.at(),
			},
			TotalStamps: Some[int64](10),
			LastSeenAt:  Some(k.clock.at()),
			lastSeen:    c.lastSeen,
		}
		if c != want {
			t.Errorf("%+v\nwant %+v", c, want)
		}
	})
}

// TestSearchFollowsNames checks that the words of a name change with the name, and that Check finds
// missing and surplus words.
func TestSearchFollowsNames(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	card := f.cardOf(program, "Ada King")
	for _, step := range []struct {
		want string
		do   func()
	}{
		{"", func() {}}, // a new card
		{"ada king", f.indexNames},
		{"ada king", func() { f.update(card, CardPatch{ExternalRef: set("x")}) }},
		{"ada lovelace", func() { f.update(card, CardPatch{HolderName: set("Ada Lovelace")}) }},
		{"augusta byron", func() { f.reissue(card, ReissueFields{HolderName: set("Augusta Byron")}) }},
		{"", func() { f.update(card, CardPatch{HolderName: null[string]()}) }},
		{"ada", func() { f.update(card, CardPatch{HolderName: set("Ada")}) }},
		{"", func() { f.erase(card) }},
	} {
		step.do()
		if got := strings.Join(f.lines("SELECT word FROM name_words ORDER BY word"), " "); got != step.want {
			t.Errorf("the words are %q, want %q", got, step.want)
		}
		f.checkFile()
	}
	f.cardOf(program, "Ada")
	for _, broken := range []string{"DELETE FROM name_words",
		"INSERT INTO name_words SELECT part, shop_id, 'left', card_id FROM name_words"} {
		g := start(t)
		g.cardOf(g.program(stamps("Coffee")), "Ada")
		g.indexNames()
		g.sql(broken)
		if found, err := g.Check(); err != nil || len(found) != 1 || !strings.Contains(found[0], "words") {
			t.Errorf("after %s check finds %q, %v", broken, found, err)
		}
	}
}

// TestNewNamesChange checks what happens to names that change, or are erased, between NewNames and
// IndexNames.
func TestNewNamesChange(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	var cards []string
	for _, name := range []string{"Ada King", "Grace Hopper", "Edsger Dijkstra"} {
		cards = append(cards, f.cardOf(program, name))
	}
	unnamed := f.card(program)
	var names NewNames
	f.view(func(v *View) (err error) {
		names, _, err = v.NewNames()
		return err
	})
	f.update(cards[0], CardPatch{HolderName: set("Ada Lovelace")})
	f.erase(cards[1])
	f.writes(func(tx *Tx) { check(tx.IndexNames(&names, 100)) })
	f.selectsLines([]string{"ada", "dijkstra", "edsger", "lovelace"}, "SELECT word FROM name_words ORDER BY word")
	for text, want := range map[string][]string{"lovelace": cards[:1], "king": nil, "hopper": nil, "edsger": cards[2:]} {
		if got := f.searched(t, CardSearch{Q: set(text)}, 50); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
	if indexed, want := f.number(indexedCards), f.key(KindCard, unnamed); indexed != want {
		t.Errorf("the cards up to %d are indexed, want %d, which has no name", indexed, want)
	}
	f.checkFile()
}

// TestSearchVisitsBoundedRows compares searches of random names, in pages of several sizes,
// with a search in memory, and checks that no page visits more cards than it may. The names of
// the last cards are not in name_words.
func TestSearchVisitsBoundedRows(t *testing.T) {
	rng := chance(t)
	const visits = 7
	f := start(t, Options{PageVisits: visits})
	program := f.program(stamps("Coffee"))
	parts := []string{"a", "ab", "abc", "b", "ba", "c"}
	type row struct {
		id    string
		key   int64
		part  int // 0: the newest cards
		words []string
		email string
	}
	var rows []row
	for n := range 60 {
		part := 1
		if n == 35 {
			f.indexNames()
		}
		if n >= 35 {
			part = 0
		}
		var words []string
		for range 1 + rng.IntN(3) {
			words = append(words, parts[rng.IntN(len(parts))])
		}
		email := parts[rng.IntN(len(parts))] + "@" + parts[rng.IntN(len(parts))]
		id := f.cardWith(program, CardFields{HolderName: set(strings.Join(words, " ")), HolderEmail: set(email)})
		slices.Sort(words)
		rows = append(rows, row{id, f.key(KindCard, id), part, slices.Compact(words), email})
	}
	for _, text := range append(slices.Clone(parts), "a b", "b a", "ab ab", "ba c a", "a@", "ab@a", "x", "x@") {
		// The matches are in the order of the words that one word of the search begins, the same for all limits.
		var orders [][]string
		for _, walked := range append(nameWords(text), text)[:max(1, len(nameWords(text)))] {
			matches := map[string]row{} // by a text that sorts them
			for _, r := range rows {
				if strings.Contains(text, "@") {
					if strings.HasPrefix(r.email, text) {
						matches[fmt.Sprintf("%s %09d", r.email, r.key)] = r
					}
					continue
				}
				i := slices.IndexFunc(r.words, func(w string) bool { return strings.HasPrefix(w, walked) })
				if i >= 0 && !slices.ContainsFunc(nameWords(text), func(w string) bool {
					return !slices.ContainsFunc(r.words, func(have string) bool { return strings.HasPrefix(have, w) })
				}) {
					matches[fmt.Sprintf("%d %s %09d", r.part, r.words[i], r.key)] = r
				}
			}
			var order []string
			for _, key := range slices.Sorted(maps.Keys(matches)) {
				order = append(order, matches[key].id)
			}
			orders = append(orders, order)
		}
		for _, limit := range []int{1, 2, 5, 50} {
			got := f.searched(t, CardSearch{Q: set(text)}, limit)
			orders = slices.DeleteFunc(orders, func(want []string) bool { return !slices.Equal(got, want) })
			if len(orders) == 0 {
				t.Fatalf("%q by %d: %d cards %v", text, limit, len(got), got)
			}
		}
	}
	// A search without a match ends each page after as many cards as it may visit.
	for _, text := range []string{"", "@"} {
		all, pages := 60, 0
		none := CardSearch{Q: set(text), ListFilter: ListFilter{Status: set(StatusLocked)}}
		if text == "@" {
			none.Q = set("a@")
			all = int(f.number("SELECT count(*) FROM cards WHERE email_key>='A@' AND email_key<'A@Z'"))
		}
		allPages(t, func(q PageQuery) Page[FoundCard] {
			pages++
			none.PageQuery = q
			return view(f, func(v *View) (Page[FoundCard], error) { return v.SearchCards(f.a.Shop, none) })
		}, nil)
		if pages != all/visits+1 {
			t.Errorf("%q: %d cards without a match took %d pages of %d visits", text, all, pages, visits)
		}
	}
}

// TestSearchWhileNamesAreIndexed checks that a search whose pages are read while the names of its
// cards are indexed leaves out no card.
func TestSearchWhileNamesAreIndexed(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	want := map[string]bool{}
	for n := range 9 {
		if n == 4 {
			f.indexNames()
		}
		want[f.cardWith(program, CardFields{HolderName: set(fmt.Sprintf("Ada %c", 'z'-n))})] = true
	}
	pages := 0
	allPages(t, func(q PageQuery) (p Page[FoundCard]) {
		if pages++; pages == 3 {
			f.indexNames()
		}
		q.Limit = setInt(2)
		f.reads(func(v *View) { p = check(v.SearchCards(f.a.Shop, CardSearch{PageQuery: q, Q: set("ada")})) })
		for _, c := range p.Data {
			delete(want, c.ID)
		}
		return p
	}, nil)
	if len(want) > 0 {
		t.Errorf("%d cards were left out", len(want))
	}
}

// TestSearchCursors checks that a cursor of another list, shop or search is refused.
func TestSearchCursors(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	cards := []string{}
	for range 3 {
		cards = append(cards, f.cardWith(program, CardFields{HolderName: set("Ada B"), HolderEmail: set("ada@example.com")}))
	}
	var cursor string
	search := func(shop int64, text, cursor string) (p Page[FoundCard], err error) {
		q := PageQuery{Limit: setInt(1), Cursor: Opt[string]{V: cursor, Set: cursor != ""}}
		err = f.View(0, func(v *View) error { p, err = v.SearchCards(shop, CardSearch{PageQuery: q, Q: set(text)}); return err })
		return p, err
	}
	p := check(search(f.a.Shop, "ada", ""))
	cursor = p.NextCursor.V
	if _, err := search(f.a.Shop, "ada", cursor); err != nil {
		t.Error(err)
	}
	other := f.shop(ShopFields{}).Shop
	for _, c := range []struct {
		shop         int64
		text, cursor string
	}{
		{other, "ada", cursor}, {f.a.Shop, "b", cursor}, {f.a.Shop, "x@", cursor},
		{f.a.Shop, "ada", f.cursor(listCards, f.a.Shop, 0, 1)}, {f.a.Shop, "ada", "x"},
	} {
		refused(t, errorOf(search(c.shop, c.text, c.cursor)), ValidationFailed)
	}
	for _, list := range []CardSearch{{Sort: set(SortLastVisit)}, {ListFilter: ListFilter{NotSeenDays: setInt(1)}}} {
		f.reads(func(v *View) {
			list.Cursor = set(v.cursor(listCardSearch, f.a.Shop, 0, 1))
			refused(t, errorOf(v.SearchCards(f.a.Shop, list)), ValidationFailed)
		})
	}
	f.erase(cards[0])
	refused(t, errorOf(search(f.a.Shop, "ada", cursor)), ValidationFailed)
}

func TestSearchRefusesOrders(t *testing.T) {
	f := start(t)
	f.reads(func(v *View) {
		for _, s := range []CardSearch{{Q: set("a")}, {ListFilter: ListFilter{Status: set(StatusArchived)}}} {
			s.Sort = set(SortStamps)
			refused(t, errorOf(v.CountCards(f.a.Shop, s)), ValidationFailed)
		}
		q := PageQuery{Cursor: set(v.cursor(listCards, f.a.Shop, 0, 1))}
		refused(t, errorOf(v.SearchCards(f.a.Shop, CardSearch{PageQuery: q, Sort: set(SortBalance)})), ValidationFailed)
	})
}
