package store

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEveryColumnHasAClass checks that every column of texts and bytes is declared once, and that
// every declared column exists.
func TestEveryColumnHasAClass(t *testing.T) {
	f := start(t)
	const tables = " FROM pragma_table_list t, pragma_table_info(t.name) c WHERE t.schema='main' AND t.name NOT LIKE 'sqlite\\_%' " +
		"ESCAPE '\\'"
	exist := f.lines("SELECT concat(t.name, '.', c.name)" + tables)
	texts := f.lines("SELECT concat(t.name, '.', c.name)" + tables + " AND c.type NOT IN ('INTEGER', 'REAL')")
	var have []string
	for _, c := range ColumnsOf(Fixed, Secret, Chosen, Account, Holder, OneCard, HolderRow, HolderPhone, Copied) {
		have = append(have, c.Table+"."+c.Name)
	}
	for _, name := range texts {
		if !slices.Contains(have, name) {
			t.Errorf("%s is in no class: add it to declared in store/personal.go", name)
		}
	}
	slices.Sort(have)
	for i, name := range have {
		if !slices.Contains(exist, name) || i > 0 && have[i-1] == name {
			t.Errorf("%s does not exist, or is declared twice", name)
		}
	}
	if len(texts) < 100 {
		t.Errorf("only %d columns were checked", len(texts))
	}
}

// TestNewPersonalColumn adds personal columns as CONTRIBUTING.md says. An overflow card inherits
// them, check finds them on erased cards, and erasing the card removes them.
func TestNewPersonalColumn(t *testing.T) {
	withSteps(t, "ALTER TABLE cards ADD COLUMN nickname TEXT", "ALTER TABLE transactions ADD COLUMN remark TEXT")
	old := declared
	rule := slices.IndexFunc(invariants, func(rule invariant) bool { return rule.sql == stillPersonalSQL() })
	t.Cleanup(func() {
		declared = old
		invariants[rule].sql = stillPersonalSQL()
	})
	declared = append(slices.Clone(declared),
		declaration{Holder, Masked, "cards: nickname"},
		declaration{OneCard, Hidden, "transactions: remark"})
	invariants[rule].sql = stillPersonalSQL()
	k := startAlone(t, Options{}).till()
	program, _ := k.ladder(true)
	card := k.card(program)
	k.sql("UPDATE cards SET nickname='+39 06 1234'")
	k.stamped(card, 12)
	k.sql("UPDATE transactions SET remark='likes tea'")
	have := func() string {
		return strings.Join(k.lines("SELECT ifnull(nickname, '-') FROM cards UNION ALL SELECT ifnull(remark, '-') FROM transactions"), ", ")
	}
	if got := have(); got != "+39 06 1234, +39 06 1234, likes tea, likes tea" {
		t.Fatalf("before the erasure: %s", got)
	}
	for _, c := range []struct {
		alias, table string
		fields       reflect.Type
		want         string
	}{
		{"c", "cards", reflect.TypeFor[ExportedCard](), "json_object('nickname', c.nickname)"},
		{"t", "transactions", reflect.TypeFor[ExportedTransaction](), "NULL"}, // the remark is hidden, and the metadata has a field
	} {
		if got := heldBeside(c.alias, c.table, c.fields); got != c.want {
			t.Errorf("an export reads %s of %s, want %s", got, c.table, c.want)
		}
	}
	k.erase(card)
	if got := have(); got != "-, -, -, -" {
		t.Errorf("after the erasure: %s", got)
	}
	k.checkFile()
	for _, sql := range []string{
		"UPDATE cards SET nickname='x' WHERE root_id IS NULL",
		"UPDATE transactions SET remark='x' WHERE overflow_of IS NULL",
	} {
		k.sql(sql)
		if found, err := k.Check(); err != nil || len(found) != 1 ||
			!strings.Contains(found[0], "erased card that still names a person: "+card) {
			t.Errorf("after %s check finds %q, %v", sql, found, err)
		}
		k.sql("UPDATE cards SET nickname=NULL")
	}
}
