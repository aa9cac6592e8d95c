package seed

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// validSeed is the valid seed that the invalid ones are made from.
const validSeed = `{
  "now": "2026-05-18T12:00:00Z",
  "shops": [
    {
      "name": "Tern", "timezone": "Europe/Oslo", "ago": "90d",
      "locations": [
        {"ref": "quay", "name": "Quay", "lat": 59.9},
        {"ref": "hill", "name": "Hill", "require_staff_pin": true, "staff_pin": "1234"}
      ],
      "programs": [
        {"ref": "stamps", "type": "standard", "name": "Stamps", "total_stamps": 5, "icon_key": "cup",
         "prizes": [{"ref": "bun", "threshold": 3, "name": "Bun"},
                    {"threshold": 5, "name": "Tea"}, {"threshold": 5, "name": "Cake"}]},
        {"ref": "purse", "type": "prepaid", "name": "Purse", "initial_balance_cents": 0},
        {"ref": "later", "type": "discount", "name": "Later", "discount_percent": 5, "draft": true}
      ],
      "keys": [{"ref": "k1", "name": "One", "location_refs": ["quay"]}],
      "cards": [
        {"ref": "ann", "program": "stamps", "external_ref": "p-1", "ago": "30d"},
        {"ref": "bob", "program": "purse", "external_ref": "p-2", "ago": "30d"},
        {"ref": "cat", "program": "stamps", "external_ref": "p-3"}
      ],
      "activity": [
        {"ref": "a1", "ago": "20d", "location": "quay", "card": "ann", "stamp": 3},
        {"ago": "19d", "location": "quay", "card": "ann", "redeem": "bun"},
        {"ref": "t1", "ago": "18d", "location": "hill", "card": "bob", "top_up": 500},
        {"ago": "17d", "reverse": "t1"}
      ],
      "webhooks": [
        {"ref": "w", "program": "stamps", "url": "https://example.com/h", "events": ["card.added"]}
      ]
    },
    {"ref": "s2", "name": "Knot", "locations": [{"ref": "far", "name": "Far"}],
     "programs": [{"ref": "other", "type": "access", "name": "Door", "access_image_url": "https://example.com/d.png"}],
     "cards": [{"ref": "dan", "program": "other"}]}
  ]
}
`

func TestValidSeed(t *testing.T) {
	require.NoError(t, try(t, validSeed))
}

// try parses and applies a seed.
func try(t *testing.T, text string) error {
	t.Helper()
	s, err := Parse("tern.json", []byte(text))
	if err != nil {
		return err
	}
	if _, err := s.application(nil, store.TimeOf(startOf(s))).plan(); err != nil {
		return err
	}
	st, clock := emptyStore(t, startOf(s))
	_, err = s.Apply(st, clock)
	return err
}

// invalidSeeds are the seeds of TestInvalidSeeds: validSeed with the text old replaced by new, and the
// error after the name of the file.
var invalidSeeds = []struct{ old, new, want string }{
	// Form.
	{validSeed, "", `1: $: is not valid JSON: the file ends too early`},
	{validSeed, "\n\n[]\n", `3: $: must be an object`},
	{validSeed, `{"shops": null}`, `1: shops: is required`},
	{validSeed, `{"shops": []}`, `1: shops: must have at least 1 item`},
	{validSeed, `{"shops": [{"name": "x"}]}`, `1: shops.0.locations: is required`},
	{validSeed, `{"shops": [` + strings.Repeat("{},", 100) + `{}]}`, `1: shops: must have at most 100 items`},
	{validSeed, `{"shops": ["x"]}`, `1: shops.0: must be an object`},
	{validSeed, "\xEF\xBB\xBF{}", `1: $: must not start with a byte order mark`},
	{"Quay", "Qu\xFFay", `7: $: is not valid UTF-8`},
	{"Quay", `Qu\u0000ay`, `7: shops.0.locations.0.name: must not contain the character U+0000`},
	{"\n}\n", "\n}\n{}", `38: $: goes on after its end`},
	{`"name": "Hill",`, `"name": "Hill"`, `8: shops.0.locations.1: is not valid JSON: unexpected character at byte 40 of the line`},
	{`"name": "Hill"`, `"name": "Hill", "name": "Vale"`, `8: shops.0.locations.1.name: appears twice`},
	{`"keys": [{`, `"keys": [`, `17: shops.0.keys: is not valid JSON: unexpected character at byte 21 of the line`},
	{`[{"ref": "k1", "name": "One", "location_refs": ["quay"]}]`, `{}`, `17: shops.0.keys: must be an array of objects`},
	{`"ref": "k1"`, "\"ref\": \"k1\",\n \"colour\": \"red\"", `18: shops.0.keys.0.colour: is not a known field`},

	// Fields: the rules of the REST API.
	{`"total_stamps": 5,`, `"total_stamps": 1001,`, `11: shops.0.programs.0.total_stamps: must be at most 1000`},
	{`"total_stamps": 5,`, `"total_stamps": "5",`, `11: shops.0.programs.0.total_stamps: must be a whole number`},
	{`"total_stamps": 5,`, ``, `11: shops.0.programs.0.total_stamps: is required for programs of type standard`},
	{`"type": "prepaid"`, `"type": "points"`, `14: shops.0.programs.1.type: must be one of standard, private, discount, access, prepaid`},
	{
		`"discount_percent": 5`,
		`"discount_percent": 5, "icon_key": "x"`,
		`15: shops.0.programs.2.icon_key: is not allowed for programs of type discount`,
	},
	{
		`"discount_percent": 5`,
		`"discount_percent": 5, "max_stamps_per_day": 1`,
		`15: shops.0.programs.2.max_stamps_per_day: does not apply to programs of type discount`,
	},
	{
		`"discount_percent": 5`,
		`"discount_percent": 5, "welcome_stamps": 1`,
		`15: shops.0.programs.2.welcome_stamps: does not apply to programs of type discount`,
	},
	{
		`"discount_percent": 5`,
		`"discount_percent": 5, "min_spend_cents": 1`,
		`15: shops.0.programs.2.min_spend_cents: does not apply to programs of type discount`,
	},
	{
		`"discount_percent": 5`,
		`"discount_percent": 5, "prizes": [{"threshold": 1, "name": "x"}]`,
		`15: shops.0.programs.2.prizes: do not apply to programs of type discount`,
	},
	{`"lat": 59.9`, `"lat": 95`, `7: shops.0.locations.0.lat: must be at most 90`},
	{`"1234"`, `"12"`, `8: shops.0.locations.1.staff_pin: must be 4 to 8 digits from 0 to 9`},
	{`"name": "Tea"`, `"name": ""`, `13: shops.0.programs.0.prizes.1.name: must have at least 1 character`},
	{`"name": "Tea"`, `"name": "` + strings.Repeat("x", 201) + `"`, `13: shops.0.programs.0.prizes.1.name: must be at most 200 characters`},
	{`"Europe/Oslo"`, `"Oslo"`, `5: shops.0.timezone: must be an IANA time zone, such as Europe/Rome`},
	{`"Tern",`, `"Tern", "mode": "live",`, `5: shops.0.mode: must be test: the first shop has the demo keys, which are test keys`},
	{`"now": "2026-05-18T12:00:00Z"`, `"now": "2026-05-18"`, `2: now: must be an RFC 3339 date-time with an offset`},
	{
		`"events": ["card.added"]`,
		"\"events\": [\"card.added\",\n\"tea.ready\"]",
		`31: shops.0.webhooks.0.events.1: must be an event, *, or a prefix of events followed by .*`,
	},
	{`"https://example.com/h"`, `"example.com/h"`, `30: shops.0.webhooks.0.url: must be an absolute https URL without user info`},
	{`"external_ref": "p-1"`, `"external_ref": ""`, `19: shops.0.cards.0.external_ref: must have at least 1 character`},
	{`"external_ref": "p-1"`, `"send_email": true`, `19: shops.0.cards.0.send_email: is not a field of a seed`},
	{`"name": "One"`, `"location_ids": []`, `17: shops.0.keys.0.location_ids: is not a field of a seed; give location_refs`},
	{
		`"name": "One"`,
		`"scopes": ["cards:read", "cards:eat"]`,
		`17: shops.0.keys.0.scopes.1: must be one of ` + strings.Join(store.Scopes, ", "),
	},
	{
		`"name": "One"`,
		`"key": "tsk_test_short"`,
		`17: shops.0.keys.0.key: must be tsk_ or tmk_, then live_ or test_, then 43 characters of the base64url alphabet`,
	},
	{
		`"name": "One"`,
		`"key": "` + MCPKey[:9] + strings.Repeat("x", 43) + `"`,
		`17: shops.0.keys.0.key: must begin with tsk_test_: the class is api and the shop is test`,
	},
	{`"name": "One"`, `"key": "` + APIKey + `"`, `17: shops.0.keys.0.key: is a demo key of the first shop`},
	{`"stamp": 3`, `"stamp": 0`, `24: shops.0.activity.0.stamp: must be at least 1`},
	{
		`"stamp": 3`,
		`"stamp": 3, "metadata": {"x": "` + strings.Repeat("y", 5000) + `"}`,
		`24: shops.0.activity.0.metadata: must be at most 4096 bytes of JSON`,
	},

	// References.
	{
		`"ref": "cat"`,
		`"ref": "quay"`,
		`21: shops.0.cards.2.ref: "quay" is taken by shops.0.locations.0; a ref is there once in the whole file`,
	},
	{
		`"ref": "cat"`,
		`"ref": "a cat"`,
		`21: shops.0.cards.2.ref: must be 1 to 64 letters from A to Z, digits, underscores, periods and hyphens`,
	},
	{`"ref": "cat", `, ``, `21: shops.0.cards.2.ref: is required`},
	{
		`"ref": "cat", "program": "stamps"`,
		`"ref": "cat", "program": "latte"`,
		`21: shops.0.cards.2.program: "latte" is no ref of this file; it must be that of a program`,
	},
	{
		`"ref": "cat", "program": "stamps"`,
		`"ref": "cat", "program": "quay"`,
		`21: shops.0.cards.2.program: "quay" is a location, shops.0.locations.0; it must be a program`,
	},
	{
		`"ref": "cat", "program": "stamps"`,
		`"ref": "cat", "program": "other"`,
		`21: shops.0.cards.2.program: "other" is a program of another shop, shops.1.programs.0`,
	},
	{
		`"ref": "cat", "program": "stamps"`,
		`"ref": "cat", "program": "later"`,
		`21: shops.0.cards.2.program: "later" is a draft, which has no cards`,
	},
	{`["quay"]`, `["quay", "far"]`, `17: shops.0.keys.0.location_refs.1: "far" is a location of another shop, shops.1.locations.0`},
	{`["quay"]`, `["quay", "quay"]`, `17: shops.0.keys.0.location_refs.1: "quay" is in the list twice`},
	{
		`"icon_key": "cup"`,
		`"icon_key": "cup", "location_scope": "selected_locations"`,
		`11: shops.0.programs.0.scoped_location_refs: must name at least one location with location_scope selected_locations`,
	},
	{
		`"redeem": "bun"`,
		`"redeem": "Soup"`,
		`25: shops.0.activity.1.redeem: "Soup" is neither the ref nor the name of a prize of shops.0.programs.0`,
	},
	{
		`"ref": "bun", `,
		`"ref": "b2", `,
		`25: shops.0.activity.1.redeem: "bun" is neither the ref nor the name of a prize of shops.0.programs.0`,
	},
	{`"redeem": "bun"`, `"redeem": "bun", "card": "bob"`, `25: shops.0.activity.1.card: appears twice`},
	{`"reverse": "t1"`, `"reverse": "t2"`, `27: shops.0.activity.3.reverse: "t2" is no ref of this file; it must be that of an activity`},
	{`"reverse": "t1"`, `"reverse": "t1", "card": "ann"`, `27: shops.0.activity.3.card: must be that of the reversed activity`},
	{`"reverse": "t1"`, `"reverse": "t1", "location": "quay"`, `27: shops.0.activity.3.location: must be that of the reversed activity`},

	// Activity, and time.
	{`"card": "ann", "stamp": 3`, `"stamp": 3`, `24: shops.0.activity.0.card: is required`},
	{
		`"location": "quay", "card": "ann", "stamp": 3`,
		`"card": "ann", "stamp": 3`,
		`24: shops.0.activity.0.location: is required: the shop has several`,
	},
	{`"stamp": 3`, `"stamp": 3, "top_up": 5`, `24: shops.0.activity.0.top_up: cannot be given beside stamp`},
	{`, "stamp": 3`, ``, `24: shops.0.activity.0: must have one of stamp, redeem, top_up, spend, use and reverse`},
	{`"stamp": 3`, `"use": false`, `24: shops.0.activity.0.use: must be true, or left out`},
	{`"top_up": 500`, `"top_up": 500, "spend_cents": 5`, `26: shops.0.activity.2.spend_cents: is only for a stamp`},
	{`"ref": "a1", "ago": "20d"`, `"ref": "a1"`, `24: shops.0.activity.0.at: is required, or ago`},
	{
		`"ref": "a1", "ago": "20d"`,
		`"ref": "a1", "ago": "20d", "at": "2026-05-01T00:00:00Z"`,
		`24: shops.0.activity.0.ago: cannot be given beside at`,
	},
	{
		`"ref": "a1", "ago": "20d"`,
		`"ref": "a1", "ago": "-20d"`,
		`24: shops.0.activity.0.ago: must be a duration such as 72h, 21d or 3d4h30m`,
	},
	{
		`"ref": "a1", "ago": "20d"`,
		`"ref": "a1", "at": "2026-05-18T12:00:00.001Z"`,
		`24: shops.0.activity.0.at: is after the start, 2026-05-18T12:00:00.000Z`,
	},
	{`"ref": "a1", "ago": "20d"`, `"ref": "a1", "ago": "31d"`, `24: shops.0.activity.0.ago: is before its card was issued`},
	{`"external_ref": "p-1", "ago": "30d"`, `"ago": "91d"`, `19: shops.0.cards.0.ago: is before its shop was made`},
	{`"ago": "90d"`, `"ago": "99999d"`, `5: shops.0.ago: must not be before 1990`},
	{
		`"external_ref": "p-3"`,
		`"expires_at": "2026-05-18T12:00:00Z"`,
		`21: shops.0.cards.2.expires_at: must be after the card was issued, 2026-05-18T12:00:00.000Z`,
	},
	{
		`"external_ref": "p-3"`,
		`"expires_in": "3d", "expires_at": "2026-06-18T12:00:00Z"`,
		`21: shops.0.cards.2.expires_in: cannot be given beside expires_at`,
	},
	{`"ago": "17d", "reverse"`, `"ago": "19d", "reverse"`, `27: shops.0.activity.3.reverse: the reversed activity comes later`},
	{`"now": "2026-05-18T12:00:00Z"`, `"now": "1989-12-31T23:59:59Z"`, `2: now: the start must not be before 1990`},
	{`"now": "2026-05-18T12:00:00Z"`, `"now": "1990-02-01T00:00:00Z"`, `5: shops.0.ago: must not be before 1990`},
	{
		`"external_ref": "p-3"`,
		"\n\"expires_at\": \"9999-12-31T23:59:59.5Z\"",
		`22: shops.0.cards.2.expires_at: must not be after the year 9999`,
	},

	// Problems that only the store finds.
	{`"stamp": 3`, `"stamp": 2`, `25: shops.0.activity.1.redeem: The prize needs 3 stamps; the card has 2.`},
	{
		`"stamp": 3`,
		`"stamp": 3, "spend_cents": 900`,
		`24: shops.0.activity.0.stamp: The program demands no purchase: spend_cents is not allowed.`,
	},
	{`"stamp": 3`, `"use": true`, `24: shops.0.activity.0.use: A card of a standard program does not take this.`},
	{
		`"ago": "17d", "reverse": "t1"`,
		`"ago": "17d", "location": "hill", "card": "bob", "spend": 501`,
		`27: shops.0.activity.3.spend: The card's balance is 500 cents.`,
	},
	{`"external_ref": "p-3"`, `"external_ref": "p-1"`, `21: shops.0.cards.2: This external_ref already has a live card in the program.`},
	{`"threshold": 3`, `"threshold": 6`, `12: shops.0.programs.0.prizes.0: The threshold 6 is above the program's total_stamps of 5.`},
	{`"timezone"`, `"max_locations": 1, "timezone"`, `8: shops.0.locations.1: The shop has 1 locations, which is its maximum.`},
	{`"timezone"`, `"max_cards": 1, "timezone"`, `20: shops.0.cards.1: The shop has 1 live cards, which is its maximum.`},
	{
		`"external_ref": "p-2"`,
		`"expires_at": "2026-05-01T00:00:00Z"`,
		`27: shops.0.activity.3.reverse: The card expired on 2026-05-01T00:00:00.000Z.`,
	},
	{`"external_ref": "p-2"`, `"expires_at": "2026-05-02T00:00:00Z", "locked": true`, `20: shops.0.cards.1.locked: The card is expired.`},
}

// TestInvalidSeeds changes one thing of the valid seed at a time and checks that the
// error has the file, line, path and rule, also if only the store finds the problem.
func TestInvalidSeeds(t *testing.T) {
	for _, c := range invalidSeeds {
		text := replaced(t, c.old, c.new)
		got := fmt.Sprint(try(t, text))
		if want := "tern.json:" + c.want; got != want {
			t.Errorf("%.60s\n got  %s\n want %s", c.new, got, want)
		}
	}
}

// TestManyProblems checks that an error has all problems, at most twenty, in the order
// of the file.
func TestManyProblems(t *testing.T) {
	text := strings.NewReplacer(`"lat": 59.9`, `"lat": 95, "lon": "west"`, `"1234"`, `"12"`, `"name": "Purse"`, `"name": ""`).
		Replace(validSeed)
	want := "tern.json:7: shops.0.locations.0.lat: must be at most 90\n" +
		"tern.json:7: shops.0.locations.0.lon: must be a number\n" +
		"tern.json:8: shops.0.locations.1.staff_pin: must be 4 to 8 digits from 0 to 9\n" +
		"tern.json:14: shops.0.programs.1.name: must have at least 1 character"
	if got := fmt.Sprint(try(t, text)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got := fmt.Sprint(try(t, `{"shops": [`+strings.TrimSuffix(strings.Repeat("1,\n", 50), ",\n")+`]}`))
	if lines := strings.Split(got, "\n"); len(lines) != 20 || lines[19] != "tern.json:20: shops.19: must be an object" {
		t.Errorf("%d lines:\n%s", len(lines), got)
	}
}

// TestAmbiguousPrize checks that the redemption of a prize by a name that two prizes share is refused.
func TestAmbiguousPrize(t *testing.T) {
	text := strings.NewReplacer(`"name": "Cake"`, `"name": "Tea"`, `"redeem": "bun"`, `"redeem": "Tea"`).Replace(validSeed)
	want := `tern.json:25: shops.0.activity.1.redeem: "Tea" is the name of 2 prizes; give the ref of one`
	if got := fmt.Sprint(try(t, text)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var faultLine = regexp.MustCompile(`^seed\.json:([1-9][0-9]*): [^\n]+: [^\n]+$`)

// FuzzParse checks that Parse accepts any file or returns errors of the documented
// form, with lines that the file has.
func FuzzParse(f *testing.F) {
	f.Add([]byte(validSeed))
	for _, text := range []string{``, `[]`, `{"shops":[{"locations":[{"ref":"a"}]}]}`,
		`{"shops":[{"locations":[{"ref":"a"}],"x.y":1,"cards":[{"ref":"b","program":"a"}]}]}`,
		`{"shops":[{"name":"\u2028","locations":[{"ref":"a","\n":{"z":[0]}}]}]}`, strings.Repeat("[", 200)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse("seed.json", raw)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			checkFaults(t, raw, err)
			return
		}
		if _, err := s.application(nil, 1_780_000_000_000).plan(); err != nil {
			checkFaults(t, raw, err)
		}
	})
}

// checkFaults checks that each line of an error names a line that the file has.
func checkFaults(t *testing.T, raw []byte, err error) {
	t.Helper()
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > maxProblems {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		m := faultLine.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("%q", l)
		}
		if n, _ := strconv.Atoi(m[1]); n > 1+bytes.Count(raw, []byte("\n")) {
			t.Errorf("%q is beyond the end of the file", l)
		}
	}
}
