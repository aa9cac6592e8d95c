package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCount counts a folder in which nothing differs, and then one in which one thing was changed each.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		name string
		kind string // of the differences; empty: there are none
		file string
		edit func(lines []string) []string
	}{
		{"as it was", "", "year.json", func(l []string) []string { return l }},
		{"a missing row", "answered rows in the ledger", ledger, without(`"type":"topup"`)},
		{"a doubled row", "rows of the ledger", ledger, twice(`"type":"spend"`)},
		{"a row that nobody asked for", "rows of the ledger", "answers.jsonl", without(`"kind":"use"`)},
		{"a row of other stamps", "answered rows in the ledger", ledger, replace(`"type":"stamp","stamps":7`, `"type":"stamp","stamps":6`)},
		{"a missing card", "cards as issued", "export/demo/cards.jsonl", without(`"program_type":"discount"`)},
		{"a wrong balance", "balances", "export/demo/cards.jsonl", replace(`"balance":30.80`, `"balance":30.90`)},
		{"wrong stamps", "stamps on cards", "export/demo/cards.jsonl", replace(`"stamps":4`, `"stamps":5`)},
		{"a prize that was not claimed", "prizes claimed", "export/demo/cards.jsonl", replace(`"claimed":null`, `"claimed":"5"`)},
		{"a wrong state", "cards", "export/demo/cards.jsonl", replace(`"state":"active"`, `"state":"locked"`)},
		{"a wrong figure", "figures of the API", "figures.jsonl", replace(`"total_stamps_awarded":16`, `"total_stamps_awarded":17`)},
		{"a wrong figure of a tool", "figures of the assistant", "figures.jsonl", replace(`"type":"prepaid","active_cards":1`,
			`"type":"prepaid","active_cards":2`)},
		{"a figure that a tool leaves out", "figures of the assistant", "figures.jsonl",
			replace(`,{"type":"prepaid","active_cards":1}`, "")},
		{"a wrong hour", "figures of the API", "figures.jsonl", replace(`"hour":10`, `"hour":9`)},
		{"a wrong page", "figures of pages", "figures.jsonl", replace(`€4.20`, `€4.30`)},
		{"wrong money", "figures of the money table", "figures.jsonl", replace(`,35.00,4.20,`, `,35.10,4.20,`)},
		{"a missing delivery", "events at receivers", "receivers/crm.jsonl", without(`"event\":\"prize.redeemed`)},
		{"a delivery of nothing", "events at receivers", ledger, without(`"type":"redemption"`)},
		{"a bad signature", "signatures", "receivers/crm.jsonl", replace(`,v1=`, `,v1=0`)},
		{"a body that was changed", "signatures", "receivers/ledger.jsonl", replace(`\"stamps_delta\":7`, `\"stamps_delta\":8`)},
		{"another shop's event", "requests to receivers", "receivers/crm.jsonl",
			replace(`\"shop\":{\"id\":\"shp_`, `\"shop\":{\"id\":\"shp_0`)},
		{"events in another order", "first requests in the order of their card", "receivers/ledger.jsonl", swapped},
		{"a stale phone", "phones", "phones.jsonl", replace("4/10", "2/10")},
		{"a stale page", "open pages", "pages.jsonl", replace("3080", "3500")},
		{"a leaked word", "files searched for traces", "log.txt", replace("the log", "the log of quirina zuccabarbieri-Ö")},
		{"an escaped word", "files searched for traces", "log.txt", replace("the log", `\"Quirina Zuccabarbieri-\u00d6\"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS("testdata/out")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, c.file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Join(c.edit(strings.SplitAfter(string(data), "\n")), "")
			if c.kind != "" && changed == string(data) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := count(folder)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			r.print(&out)
			if c.kind == "" && r.differences > 0 || c.kind != "" && r.found[c.kind] == 0 {
				t.Errorf("wanted differences: %q; got\n%s", c.kind, out.String())
			}
		})
	}
}

const ledger = "export/demo/transactions.jsonl"

// without leaves out the first line with a text.
func without(text string) func([]string) []string { return repeat(text, 0) }

// twice returns an edit that repeats the first line with a text.
func twice(text string) func([]string) []string { return repeat(text, 2) }

func repeat(text string, times int) func([]string) []string {
	return func(lines []string) (out []string) {
		done := false
		for _, l := range lines {
			n := 1
			if !done && strings.Contains(l, text) {
				n, done = times, true
			}
			for range n {
				out = append(out, l)
			}
		}
		return out
	}
}

// replace replaces a text where it first stands.
func replace(old, text string) func([]string) []string {
	return func(lines []string) []string { return []string{strings.Replace(strings.Join(lines, ""), old, text, 1)} }
}

// swapped exchanges the first two lines.
func swapped(lines []string) []string {
	lines[0], lines[1] = lines[1], lines[0]
	return lines
}

// TestNumber reads numbers as pages write them.
func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"1,234": 1234, "€12.50": 1250, "−€3.00": -300, "7 stamps": 7} {
		if n, ok := number(text); !ok || n != want {
			t.Errorf("%q is read as %d, %v", text, n, ok)
		}
	}
	if _, ok := number("–"); ok {
		t.Error("a dash is read as a number")
	}
}

// TestDays checks that days begin and end when clocks change.
func TestDays(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	day, err := parseDate("2026-03-29")
	if err != nil {
		t.Fatal(err)
	}
	first, next := startOfDay(day, rome), startOfDay(day+1, rome)
	if h := next.Sub(first).Hours(); h != 23 || dayOf(first) != day || dayOf(next.Add(-time.Second)) != day || date(day) != "2026-03-29" {
		t.Errorf("the day has %v hours, from %v", h, first)
	}
}
