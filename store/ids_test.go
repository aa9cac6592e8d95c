package store

import (
	"math"
	"strings"
	"testing"
)

var kinds = []Kind{
	KindShop, KindProgram, KindPrize, KindCard, KindLocation, KindTransaction, KindWebhook, KindDelivery, KindEvent,
	KindKey, KindUser, KindDevice, KindRequest,
}

func idsOf(t testing.TB, secret string) IDs {
	return check(newIDs([]byte(secret)))
}

var someKeys = []int64{1, 2, 3, 31, 32, 255, 256, 65535, 1 << 31, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}

func TestIDRoundTrip(t *testing.T) {
	t.Parallel()
	g := idsOf(t, "0123456789abcdef")
	seen := map[string]bool{}
	for _, kind := range kinds {
		for _, key := range someKeys {
			id := g.ID(kind, key)
			if len(id) != 30 || !strings.HasPrefix(id, prefixes[kind]) || strings.Trim(id[4:], "0123456789abcdefghjkmnpqrstvwxyz") != "" {
				t.Errorf("kind %d, key %d: %q is not a prefix and 26 characters", kind, key, id)
			}
			if got, ok := g.Key(kind, id); !ok || got != key {
				t.Errorf("%s opens as %d, %t, want %d", id, got, ok, key)
			}
			if seen[id[4:]] {
				t.Errorf("%s is the id of two rows", id)
			}
			seen[id[4:]] = true
		}
	}
}

// TestIDOpensAsItsKindOnly checks that Key refuses an id of another kind, also without its
// prefix or with the prefix of the kind that Key expects.
func TestIDOpensAsItsKindOnly(t *testing.T) {
	t.Parallel()
	g := idsOf(t, "0123456789abcdef")
	for _, kind := range kinds {
		id := g.ID(kind, 42)
		for _, other := range append(
			kinds, kindInstall, kindCursor, kindCode, kindShortCode, KindSession, KindLink, kindCardPage,
			kindHeldCode,
		) {
			if other == kind {
				continue
			}
			for _, text := range []string{id, id[4:], prefixes[other] + id[4:]} {
				if key, ok := g.Key(other, text); ok {
					t.Errorf("%s, made for kind %d, opens as kind %d: %d", text, kind, other, key)
				}
			}
		}
		if _, key, err := g.openCursor(0, 0, id[4:]); err == nil {
			t.Errorf("%s opens as a cursor: %d", id, key)
		}
	}
}

// TestKeyRefusesOtherText checks that Key refuses altered ids and any other text that ID does not
// return for a row.
func TestKeyRefusesOtherText(t *testing.T) {
	t.Parallel()
	g := idsOf(t, "0123456789abcdef")
	id := g.ID(KindCard, 42)
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	for at := range id {
		for _, c := range letters + "ABCilou-_ \x00é" {
			text := id[:at] + string(c) + id[at+1:]
			if _, ok := g.Key(KindCard, text); ok && text != id {
				t.Errorf("%q, changed at %d, is accepted", text, at)
			}
		}
	}
	// The last character has three bits of the block and two unused ones.
	last := strings.IndexByte(letters, id[29])
	for spare := 1; spare < 4; spare++ {
		if _, ok := g.Key(KindCard, id[:29]+string(letters[last^spare])); ok {
			t.Errorf("a second spelling of %s is accepted, with %d in the unused bits", id, spare)
		}
	}
	for _, text := range []string{
		"", "crd_", id[:29], id + "0", " " + id, id + "\n", strings.ToUpper(id), "CRD_" + id[4:], id[4:],
		"crd_" + strings.Repeat("0", 26), strings.Repeat("crd_", 8),
	} {
		if key, ok := g.Key(KindCard, text); ok {
			t.Errorf("%q is accepted as %d", text, key)
		}
	}
	for _, key := range []int64{0, -1, math.MinInt64} {
		if got, ok := g.Key(KindCard, g.ID(KindCard, key)); ok {
			t.Errorf("key %d, which no row has, is accepted as %d", key, got)
		}
	}
}

func TestIDsOfAnotherFile(t *testing.T) {
	t.Parallel()
	a, b := open(t, newPath(t), Options{}), open(t, newPath(t), Options{})
	for _, key := range someKeys {
		id := a.ID(KindCard, key)
		if id == b.ID(KindCard, key) {
			t.Errorf("row %d has the id %s in two files", key, id)
		}
		if got, ok := b.Key(KindCard, id); ok {
			t.Errorf("%s of one file opens in another as %d", id, got)
		}
	}
	given := start(t, Options{IDSecret: []byte("0123456789abcdef")})
	if got, want := given.ID(KindCard, 7), idsOf(t, "0123456789abcdef").ID(KindCard, 7); got != want {
		t.Errorf("under a given secret row 7 is %s, want %s", got, want)
	}
}

func TestCursorIsBoundToListAndShop(t *testing.T) {
	t.Parallel()
	g := idsOf(t, "0123456789abcdef")
	cursor := g.cursor(listCards, 5, 7, 42)
	if place, key, err := g.openCursor(listCards, 5, cursor); err != nil || place != 7 || key != 42 {
		t.Errorf("the cursor opens as %d, %d, %v", place, key, err)
	}
	for _, c := range []struct {
		list byte
		shop int64
	}{{listPrograms, 5}, {listAudit, 5}, {listCards, 6}, {listCards, 0}, {0, 5}} {
		if _, key, err := g.openCursor(c.list, c.shop, cursor); err == nil {
			t.Errorf("a cursor of list %d, shop 5 opens in list %d, shop %d as %d", listCards, c.list, c.shop, key)
		}
	}
	for _, kind := range kinds {
		if _, ok := g.Key(kind, cursor); ok {
			t.Errorf("a cursor opens as an id of kind %d", kind)
		}
	}
}

func FuzzIDs(f *testing.F) {
	g := idsOf(f, "0123456789abcdef")
	for _, kind := range kinds {
		f.Add(g.ID(kind, 42), byte(kind), int64(1))
	}
	f.Add(g.cursor(listCards, 5, 7, 42), byte(listCards), int64(5))
	f.Add("crd_", byte(KindCard), int64(0))
	f.Add("crd_zzzzzzzzzzzzzzzzzzzzzzzzzz", byte(KindCard), int64(0))
	f.Fuzz(func(t *testing.T, text string, n byte, shop int64) {
		if kind := Kind(n); kind >= KindShop && kind <= KindRequest {
			if key, ok := g.Key(kind, text); ok && (key <= 0 || g.ID(kind, key) != text) {
				t.Errorf("%q is accepted as row %d of kind %d, whose id is %q", text, key, kind, g.ID(kind, key))
			}
		}
		if shop < 0 || shop >= 1<<48 {
			return
		}
		if place, key, err := g.openCursor(n, shop, text); err == nil && (key <= 0 || g.cursor(n, shop, place, key) != text) {
			t.Errorf("%q is accepted as a cursor at %d, %d of list %d, shop %d", text, place, key, n, shop)
		}
	})
}
