package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden envelopes")

// data returns the fields of an event with these values.
func data(n Name, values ...any) (d Data) {
	for i, name := range byName[n].Fields {
		d = append(d, name, values[i])
	}
	return d
}

// sample returns an envelope of the event with all context, even that which the event never has.
// Its strings have characters that must be escaped and others that must not.
func sample(n Name) *Envelope {
	e := &Envelope{
		Event: n, OccurredAt: "2026-01-02T03:04:05.678Z", ShopID: "shp_1", ShopName: `Caffè <"Uno"> & Söhne`,
		Location: &Location{"loc_1", "Zürich 東京"},
		Program:  &Program{"prg_1", "Ten & one\tfree", "standard"},
		Card: &Card{ID: "crd_1", ExternalRef: new("badge/7"), State: "active",
			HolderName: new("Zoë O'Néill \U0001f600"), HolderEmail: new("zoe@example.com")},
		Transaction: &Transaction{"txn_1", "stamp", []byte(`{"till": "A<1>", "n": [1, {"name": "x}"}]}`)},
		Actor:       &Actor{"device", new("dev_1")},
	}
	switch n {
	case CardAdded:
		e.Data = data(n, "crd_1", (*string)(nil), "counter")
	case CardRegistered:
		e.Actor = &Actor{Type: "holder"}
		e.Data = data(n, "crd_1", "apple")
	case StampAssigned:
		e.Data = data(n, "crd_1", int64(2), int64(5), "txn_1")
	case PrizeRedeemed:
		e.Transaction.Metadata = nil
		e.Data = data(n, "crd_1", "prz_1", "Espresso \\ \"doppio\"", "txn_1")
	case ValueChanged:
		e.Data = data(n, "crd_1", "spend", int64(-350), int64(1650), "txn_1")
	case TransactionReversed:
		e.Data = data(n, "txn_0", "txn_1", "crd_1", int64(-2))
	case CardUsed:
		e.Card.ExternalRef, e.Card.HolderName, e.Card.HolderEmail = nil, nil, nil
		e.Data = data(n, "crd_1", "txn_1", "access")
	case CardExpired:
		e.Data = data(n, "crd_1", "txn_1", "2026-01-01T00:00:00.000Z")
	case TransactionCreated:
		e.Data = data(n, "txn_1", "crd_1", "stamp", new(int64(2)), (*int64)(nil))
	case CardActivated, CardReissued, CardArchived, CardDeleted:
		e.Data = data(n, "crd_1")
	case SubscriptionStateChanged:
		e.Actor = &Actor{Type: "system"}
		e.Data = data(n, "active", "suspended", "payment overdue")
	case TestPing:
		e.Data = data(n, "This is a test.", true)
	default:
		if n.prefix() == "program" {
			e.Data = data(n, "prg_1")
		} else {
			e.Data = data(n, "loc_1")
		}
	}
	return e
}

// TestGolden compares the bytes of every event in both versions with golden files, since receivers
// verify and parse them.
func TestGolden(t *testing.T) {
	for _, in := range All() {
		for version, render := range map[string]func([]byte, *Envelope) []byte{V1: AppendV1, V2: AppendV2} {
			name := string(in.Name) + "." + version + ".json"
			t.Run(name, func(t *testing.T) {
				got := Splice(render(nil, sample(in.Name)), "evt_0123456789")
				path := filepath.Join("testdata", name)
				if *update {
					if err := os.WriteFile(path, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("bytes differ\n got %s\nwant %s", got, want)
				}
			})
		}
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 52 {
		t.Errorf("%d golden files, %v; want 52", len(files), err)
	}
}

// keys returns the keys of a JSON object in their order.
func keys(t *testing.T, object []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("not an object: %s", object)
	}
	var out []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, key.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestAbsentContext checks that absent context is null in v2, and that v1 omits program_id.
func TestAbsentContext(t *testing.T) {
	e := &Envelope{Event: TransactionCreated, OccurredAt: "2026-01-02T03:04:05.678Z", ShopID: "shp_1",
		Data: data(TransactionCreated, "txn_1", "crd_1", "topup", (*int64)(nil), new(int64(-1)))}
	want1 := `{"event":"transaction.created","event_id":"","shop_id":"shp_1","occurred_at":"2026-01-02T03:04:05.678Z",` +
		`"data":{"transaction_id":"txn_1","card_instance_id":"crd_1","tx_type":"topup","stamps_delta":null,"value_delta":-1}}`
	if got := string(AppendV1(nil, e)); got != want1 {
		t.Errorf("v1\n got %s\nwant %s", got, want1)
	}
	want2 := `{"event":"transaction.created","event_id":"","payload_version":"v2","occurred_at":"2026-01-02T03:04:05.678Z",` +
		`"shop":{"id":"shp_1","name":""},"location":null,"program":null,"card":null,"transaction":null,"actor":null,` +
		`"data":{"transaction_id":"txn_1","card_instance_id":"crd_1","tx_type":"topup","stamps_delta":null,"value_delta":-1}}`
	if got := string(AppendV2([]byte{}, e)); got != want2 {
		t.Errorf("v2\n got %s\nwant %s", got, want2)
	}
	over := sample(CardAdded)
	over.Data = data(CardAdded, "crd_2", new("crd_1"), "overflow")
	if got := string(AppendV1(nil, over)); !strings.HasSuffix(got, `"parent_card_instance_id":"crd_1","source":"overflow"}}`) {
		t.Errorf("overflow: %s", got)
	}
}

// TestRenderLeavesTheEnvelope checks that rendering does not change the envelope, which serves both
// versions.
func TestRenderLeavesTheEnvelope(t *testing.T) {
	for _, in := range All() {
		e := sample(in.Name)
		AppendV2(nil, e)
		AppendV1(nil, e)
		if e.Location == nil || e.Program == nil || e.Card == nil || e.Transaction == nil || e.Actor == nil ||
			e.Card.ExternalRef == nil != (in.Name == CardUsed) {
			t.Errorf("%s: the envelope was changed: %+v", in.Name, e)
		}
	}
}

// TestWrongDataPanics checks that no event is rendered with the data of an event with other fields,
// and that names outside the catalogue are not rendered at all.
func TestWrongDataPanics(t *testing.T) {
	var datas []Data
	for _, in := range All() {
		datas = append(datas, sample(in.Name).Data)
	}
	for _, n := range append(Subscribable(), TestPing, "no.such", "") {
		taken := 0
		for _, d := range append(datas, nil) {
			func() {
				defer func() { _ = recover() }()
				b := AppendV1(nil, &Envelope{Event: n, Data: d})
				in, _ := Lookup(n)
				var top struct{ Data json.RawMessage }
				if err := json.Unmarshal(b, &top); err != nil || !slices.Equal(keys(t, top.Data), in.Fields) {
					t.Errorf("%s accepted %v", n, d)
				}
				taken++
			}()
		}
		if _, ok := Lookup(n); ok != (taken > 0) {
			t.Errorf("%q was rendered with the data of %d events", n, taken)
		}
	}
}

func TestAppendString(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x300; r++ {
		all.WriteRune(r)
	}
	for _, s := range []string{
		"", "a", all.String(), "<>&'/", "\u2028\u2029\ufffd\ufeff", "\U0001f600", "\xff", "a\xc3", "\xe2\x82",
		"\xed\xa0\x80x\xff\xfe", `\"`,
	} {
		got := appendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if back != asJSON(s) {
			t.Errorf("%q was decoded as %q", s, back)
		}
		if utf8.ValidString(s) && !strings.ContainsAny(s, "\u2028\u2029") {
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(s); err != nil || strings.TrimSuffix(buf.String(), "\n") != string(got) {
				t.Errorf("%q\n got %s\nwant %s", s, got, buf.String())
			}
		}
	}
	if got := string(appendString(nil, "<a & b> é \u2028")); got != "\"<a & b> é \u2028\"" {
		t.Errorf("escaped more than JSON requires: %s", got)
	}
}

// asJSON returns s as JSON can encode it.
func asJSON(s string) string { return string([]rune(s)) }

func TestRenderAllocatesNothing(t *testing.T) {
	e, buf := sample(StampAssigned), make([]byte, 0, 2048)
	if n := testing.AllocsPerRun(100, func() { AppendV1(buf, e); AppendV2(buf, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
