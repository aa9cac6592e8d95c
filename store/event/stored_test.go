package event

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSplice(t *testing.T) {
	for _, in := range All() {
		for _, body := range [][]byte{AppendV1(nil, sample(in.Name)), AppendV2(nil, sample(in.Name))} {
			before := string(body)
			got := string(Splice(body, "evt_1"))
			if want := strings.Replace(before, `"event_id":""`, `"event_id":"evt_1"`, 1); got != want {
				t.Errorf("%s\n got %s\nwant %s", in.Name, got, want)
			}
			if again := string(Splice([]byte(got), "evt_22")); again != strings.Replace(got, "evt_1", "evt_22", 1) {
				t.Errorf("spliced again: %s", again)
			}
			if string(body) != before {
				t.Error("the stored body was changed")
			}
		}
	}
}

// TestForeignBodies checks that bodies which this package did not render are returned unchanged by
// Splice and Scrub.
func TestForeignBodies(t *testing.T) {
	for _, s := range []string{"", "{}", "null", "{", `{"event":"`, `{"event":"x"`, `{"event":"x","event_id":`, `{"event":"x","event_id":"`,
		`{"event":"x","event_id":"\"`, `{"event":"x","other":"","event_id":""}`, `{"event_id":"","event":"x"}`} {
		if got := string(Splice([]byte(s), "evt_1")); got != s {
			t.Errorf("Splice(%s) = %s", s, got)
		}
		if got := string(Scrub([]byte(s))); got != s {
			t.Errorf("Scrub(%s) = %s", s, got)
		}
	}
}

// TestScrubTruncated checks that a truncated v2 body does not keep a name.
func TestScrubTruncated(t *testing.T) {
	whole := AppendV2(nil, sample(StampAssigned))
	head := bytes.Index(whole, []byte(versionV2)) + len(versionV2)
	for n := head; n < len(whole); n++ {
		if got := string(Scrub(whole[:n:n])); got != "null" {
			t.Fatalf("Scrub(%s) = %s", whole[:n], got)
		}
	}
}

func TestScrub(t *testing.T) {
	for _, in := range All() {
		e := sample(in.Name)
		v1 := AppendV1(nil, e)
		if got := Scrub(v1); !bytes.Equal(got, v1) {
			t.Errorf("%s: v1 was changed: %s", in.Name, got)
		}
		// The result must equal the body rendered without a holder.
		bare := *e
		bare.Card = &Card{ID: e.Card.ID, State: e.Card.State}
		bare.Transaction = &Transaction{ID: e.Transaction.ID, Type: e.Transaction.Type}
		v2, want := AppendV2(nil, e), AppendV2(nil, &bare)
		before := string(v2)
		if got := Scrub(v2); !bytes.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", in.Name, got, want)
		}
		if string(v2) != before {
			t.Errorf("%s: the stored body was changed", in.Name)
		}
		if got := Scrub(Splice(v2, "evt_1")); !bytes.Equal(got, Splice(want, "evt_1")) {
			t.Errorf("%s: after splicing: %s", in.Name, got)
		}
		if got := Scrub(Scrub(v2)); !bytes.Equal(got, want) {
			t.Errorf("%s: scrubbed twice: %s", in.Name, got)
		}
	}
}

// FuzzStored renders arbitrary strings and compares the results of Splice and Scrub with what
// encoding/json decodes.
func FuzzStored(f *testing.F) {
	f.Add("Zoë", "badge", "z@example.com", "Shop", "Label", "evt_1", []byte(`{"a":1}`))
	f.Add(`","event_id":"`, `"}}`, `\`, "\x00\xff", "</script>", `"`, []byte(` [ "}" , "\"" ] `))
	f.Add("", `,"payload_version":"v2"`, "\u2028", "null", "\\\"", "", []byte(``))
	for _, metadata := range []string{
		"null", "true", "0", "-1.5e3", `"a\"},{"`, "{}", "[]", ` {"a" : [ "]}" , {} ] } `, "\t7\n", `{"card":{"holder":{"name":"x"}}}`, "{\n}",
	} {
		f.Add("Zoë", "badge", "z@example.com", "Shop", "Label", "evt_1", []byte(metadata))
	}
	f.Fuzz(func(t *testing.T, name, ref, email, shop, label, id string, meta []byte) {
		if json.Unmarshal(meta, new(any)) != nil { // numbers out of range are refused too
			meta = nil
		}
		e := sample(PrizeRedeemed)
		e.ShopName = shop
		e.Card = &Card{ID: ref, ExternalRef: &ref, State: label, HolderName: &name, HolderEmail: &email}
		e.Transaction.Metadata = meta
		e.Location = &Location{name, email}
		e.Actor = &Actor{label, &ref}
		e.Data = data(PrizeRedeemed, name, ref, label, email)

		stored := AppendV2(nil, e)
		sent := Splice(stored, id)
		whole := decode(t, sent)
		card := whole["card"].(map[string]any)
		holder := card["holder"].(map[string]any)
		for _, c := range [][2]any{
			{whole["event_id"], id}, {whole["shop"].(map[string]any)["name"], shop}, {card["external_ref"], ref},
			{card["state"], label}, {holder["name"], name}, {holder["email"], email},
		} {
			if c[0] != asJSON(c[1].(string)) {
				t.Errorf("%q was read as %q", c[1], c[0])
			}
		}

		card["external_ref"], holder["name"], holder["email"] = nil, nil, nil
		whole["transaction"].(map[string]any)["metadata"] = nil
		if got := decode(t, Scrub(sent)); !reflect.DeepEqual(got, whole) {
			t.Errorf("scrubbed %v, want %v", got, whole)
		}
		if !bytes.Equal(Splice(Scrub(stored), id), Scrub(sent)) {
			t.Error("splicing and scrubbing depend on their order")
		}

		e.Card.ExternalRef, e.Card.HolderName, e.Card.HolderEmail, e.Transaction.Metadata = nil, nil, nil, nil
		if want := AppendV2(nil, e); !bytes.Equal(Scrub(stored), want) {
			t.Errorf("scrubbed\n     %s\nwant %s", Scrub(stored), want)
		}
		v1 := Splice(AppendV1(nil, e), id)
		if decode(t, v1)["event_id"] != asJSON(id) || !bytes.Equal(Scrub(v1), v1) {
			t.Errorf("v1: %s", v1)
		}
	})
}

func decode(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return m
}

// FuzzForeign checks that no bytes make Splice or Scrub panic or hang.
func FuzzForeign(f *testing.F) {
	f.Add([]byte(`{"event":"a","event_id":"","payload_version":"v2","card":{"holder":{"name":`))
	f.Add(AppendV2(nil, sample(StampAssigned)))
	f.Fuzz(func(t *testing.T, body []byte) {
		Splice(body, "evt_1")
		Scrub(body)
	})
}
