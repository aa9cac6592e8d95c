package store

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// exportedFiles are the files of an export by their names.
type exportedFiles map[string]*bytes.Buffer

// export exports the fixture's shop. began, if set, is called when a file begins.
func (f *fixture) export(t *testing.T, format string, began func(name string)) (ExportManifest, exportedFiles) {
	x := view(f, func(v *View) (Export, error) { return v.Export(f.a.Shop, ExportFormat{set(format)}) })
	files := exportedFiles{}
	m := check(x.Write(context.Background(), func(name string) (io.Writer, error) {
		if began != nil {
			began(name)
		}
		files[name] = &bytes.Buffer{}
		return files[name], nil
	}))
	return m, files
}

// table returns the rows of a CSV file by the names of their columns, as an import reads them.
func (files exportedFiles) table(t *testing.T, name string) (all []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(files[name+".csv"].Bytes())).ReadAll()
	if err != nil {
		t.Fatal(name, err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = Undefuse(cell)
		}
		all = append(all, row)
	}
	return all
}

// exportedShop is a shop with cards in every state, and what an export says of each.
type exportedShop struct {
	k      till
	cards  []string
	want   []map[string]string // of cards.csv, in its order
	erased string
}

func startExportedShop(t *testing.T) (x exportedShop) {
	k := startTill(t)
	x.k = k
	k.updateShop(ShopFields{Currency: set("KWD"), Timezone: set("Pacific/Auckland")})
	ladder := stamps("=Coffee")
	ladder.TotalStamps, ladder.RepeatAfterReset = setInt(3), set(true)
	coffee, prizes := k.ladderOf(ladder, 2, 3)
	gift := k.program(prepaid("Gift", 1005))
	add := func(card string, want string) {
		row := map[string]string{"card_id": card}
		for pair := range strings.SplitSeq(want, "|") {
			name, value, _ := strings.Cut(pair, "=")
			row[name] = value
		}
		x.cards, x.want = append(x.cards, card), append(x.want, row)
	}
	// Stamps on two cards, with prizes of both.
	chain := k.cardWith(coffee, CardFields{HolderName: set("'=Ada"), HolderEmail: set("+ada@example.com"), ExternalRef: set("-1")})
	k.stamped(chain, 2)
	k.redeemed(chain, prizes[0])
	k.stamped(chain, 3)
	k.redeemed(chain, prizes[0])
	k.contact(chain, HolderContactPatch{
		ContactPatch: ContactPatch{
			PhoneField: PhoneField{set("+390612345678")},
			Birthday:   set("02-29"),
			Codes:      set([]string{"OLD 2", "@1"}),
		},
		Note: set("likes \"tea\",\nand 'cake"),
	})
	k.sql("UPDATE contacts SET erasure_at=?", k.clock.at())
	add(chain, "program_name==Coffee|holder_name='=Ada|holder_email=+ada@example.com|external_ref=-1|stamps=5|balance=|claimed=2|"+
		"erasure_at=2026-01-02T03:04:05.678Z|claimed_overflow=2|phone=+390612345678|birthday=02-29|"+
		"note=likes \"tea\",\nand 'cake|code=@1|code_2=OLD 2|code_3=|state=active|"+
		"locked=false|last_visit=2026-01-02|expires_at=|installed_at=|short_code=")
	locked := k.cardWith(coffee, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	k.stamped(locked, 1)
	k.lock(locked, true)
	add(locked, "stamps=1|claimed=|state=locked|locked=true|expires_at=2026-01-02T04:04:05.678Z")
	money := k.card(gift)
	check(k.spend(money, 1000))
	add(money, "stamps=|balance=0.005|initial_balance=1.005|state=active")
	archived := k.card(gift)
	k.archive(archived)
	add(archived, "stamps=|balance=|initial_balance=1.005|state=archived|archived_at=2026-01-02T03:04:05.678Z")
	x.erased = k.cardOf(gift, "Nobody Knows")
	check(k.spend(x.erased, 5))
	k.erase(x.erased)
	add(k.card(coffee), "stamps=0|state=invited|activated_at=|last_visit=|created_at=2026-01-02T03:04:05.678Z|source=api")
	other := k.in(k.shop(ShopFields{Name: set("Other shop")}))
	other.cardOf(other.program(stamps("Theirs")), "Their Customer")
	return x
}

// TestExport exports a shop while it is written to. The files are of one moment, the manifest tells
// them apart from any others, CSV says the same as JSON, and no secret is in them.
func TestExport(t *testing.T) {
	x := startExportedShop(t)
	k := x.k
	secrets := x.secrets()
	rows := k.rows()
	wrote := 0
	m, files := k.export(t, "csv", func(string) {
		if wrote++; wrote == 1 { // the first query has begun the transaction
			k.cardOf(k.program(stamps("Later")), "Later")
			k.stamped(x.cards[0], 1) // the writer does not wait
		}
	})
	_, lines := k.export(t, "jsonl", nil)
	var names []string
	for _, f := range m.Files {
		text := files[f.Name].Bytes()
		sum := sha256.Sum256(text)
		name := strings.TrimSuffix(f.Name, ".csv")
		names = append(names, name)
		if f.SHA256 != hex.EncodeToString(sum[:]) || int(f.Rows) != len(files.table(t, name)) {
			t.Errorf("%+v is not right", f)
		}
		if strings.Contains(string(text), "Later") || strings.Contains(string(text), "Their") ||
			strings.Contains(string(text), "Nobody Knows") || strings.Contains(string(text), "Other shop") {
			t.Errorf("%s has what it must not have:\n%s", f.Name, text)
		}
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) || bytes.Contains(lines[name+".jsonl"].Bytes(), []byte(secret)) {
				t.Errorf("%s has the secret %q", f.Name, secret)
			}
		}
	}
	if want := "cards programs prizes transactions locations staff audit"; strings.Join(names, " ") != want {
		t.Errorf("files %v", names)
	}
	var written map[string]any
	if err := json.Unmarshal(files["manifest.json"].Bytes(), &written); err != nil || written["shop_id"] != m.ShopID ||
		written["at"] != m.At.String() || len(written["files"].([]any)) != len(m.Files) {
		t.Errorf("manifest %v, %v", written, err)
	}
	for i, row := range files.table(t, "cards") {
		for name, want := range x.want[i] {
			if got, ok := row[name]; !ok || got != want {
				t.Errorf("card %d: %s is %q, want %q", i, name, got, want)
			}
		}
	}
	ledger := files.table(t, "transactions")
	if int64(len(ledger)) != rows {
		t.Errorf("%d transactions, want %d", len(ledger), rows)
	}
	sum := map[string]int64{}
	for _, row := range ledger {
		var n int64
		fmt.Sscan(row["stamps"], &n)
		sum[row["card_id"]] += n
	}
	if sum[x.cards[0]] != 5 { // those of its overflow card too
		t.Errorf("the ledger has %d stamps of the chain", sum[x.cards[0]])
	}
	x.compareLines(t, lines)
}

// compareLines compares the cards of the JSON lines, written later, with those of the CSV file.
func (x exportedShop) compareLines(t *testing.T, lines exportedFiles) {
	for i, line := range strings.Split(strings.TrimSpace(lines["cards.jsonl"].String()), "\n")[:len(x.want)] {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(line, err)
		}
		for name, want := range x.want[i] {
			got := ""
			if row[name] != nil {
				got = fmt.Sprint(row[name])
			}
			if got != want && !(i == 0 && name == "stamps") { // stamped meanwhile
				t.Errorf("card %d: %s is %q, want %q", i, name, got, want)
			}
		}
	}
}

// secrets returns what the file has in columns of secrets. Some are set by the test.
func (x exportedShop) secrets() (all []string) {
	k := x.k
	k.lookup(x.cards[1])
	k.sql("UPDATE locations SET staff_pin='$argon2id$pin-of-location'")
	k.sql("INSERT INTO staff (shop_id, name, pin, created_at) VALUES (?, 'Grace', '$argon2id$pin-of-staff', 0)", k.a.Shop)
	for _, c := range ColumnsOf(Secret) {
		all = append(all, k.lines("SELECT "+c.Name+" FROM "+c.Table+" WHERE length("+c.Name+")>8")...)
	}
	if !slices.Contains(all, "$argon2id$pin-of-staff") || len(all) < 4 {
		panic(fmt.Sprint("too few secrets: ", all))
	}
	return all
}

// TestExportHasEveryColumn checks that an export leaves out no column of the tables that it is of, but
// those that it says.
func TestExportHasEveryColumn(t *testing.T) {
	f := start(t)
	without := map[string]string{
		"cards": "shop_id root_id parent_id email_key cycle deleted_at code_generation expiry_noted install_hash install_expires_at live " +
			"updated_at last_stamp_at lapsed client_reference opening_left import_id copies",
		"contacts":     "card_id shop_id phone_key",
		"programs":     "shop_id logo_hash queue_after",
		"prizes":       "",
		"transactions": "shop_id cycle taken",
		"locations":    "shop_id staff_pin",
		"staff":        "shop_id pin",
		"audit":        "id shop_id",
	}
	tables := map[string]string{}
	for _, x := range exportTables() {
		tables[x.name] = x.columns
	}
	tables["contacts"] = tables["cards"]
	for _, table := range slices.Sorted(maps.Keys(without)) {
		for _, column := range f.lines("SELECT name FROM pragma_table_info(?)", table) {
			out := slices.Contains(strings.Fields(without[table]), column)
			if has := regexp.MustCompile(`\b[^ix]\.` + column + `\b`).MatchString(tables[table]); has == out && column != "program_id" {
				t.Errorf("%s.%s: exported %v", table, column, has)
			}
		}
	}
}

// TestExportColumns checks the headings of the files, which importers rely on, and that each column with a type is in one.
func TestExportColumns(t *testing.T) {
	want := map[string]string{
		"cards": "card_id program program_name program_type short_code holder_name external_ref holder_email phone birthday note " +
			"correction member_since correction_at erasure_at stamps balance claimed claimed_overflow expires_at code code_2 code_3 " +
			"code_4 code_5 state locked created_at last_visit source opening_stamps initial_balance first_location_id activated_at installed_at " +
			"platform archived_at consent_version consent_at",
		"programs": "program_id type name name_localizations description description_localizations category total_stamps " +
			"repeat_after_reset stamps_expire_after_days welcome_stamps max_stamps_per_day default_expire_after_days discount_percent " +
			"initial_balance min_spend logo_url access_image_url brand_color_hex bg_color_hex text_color_hex icon_key visible_in_catalog " +
			"border_enabled location_scope has_installed_cards created_at updated_at published_at suspended_at deleted_at",
		"prizes": "prize_id program_id threshold ordinal name name_localizations description description_localizations redemptions " +
			"created_at updated_at",
		"transactions": "transaction_id card_id instance_id program_id location_id device_id staff_id type stamps amount prize_id " +
			"reverses_id overflow_of_id created_at occurred_at reversed_at expired_at client_reference metadata",
		"locations": "location_id name address city postal_code country_code lat lon require_staff_pin require_staff created_at " +
			"updated_at disabled_at",
		"staff": "staff_id location_ids name created_at disabled_at",
		"audit": "at actor_type actor_id actor_name action target_id detail",
	}
	_, files := startTill(t).export(t, "csv", nil)
	all := ""
	for name, columns := range want {
		heading, _, _ := strings.Cut(files[name+".csv"].String(), "\n")
		if got := strings.ReplaceAll(heading, ",", " "); got != columns {
			t.Errorf("%s.csv has the columns %s", name, got)
		}
		all += columns + " "
	}
	for _, names := range columnsOfType {
		for name := range strings.FieldsSeq(names) {
			if !slices.Contains(strings.Fields(all), name) {
				t.Errorf("no file has the column %s", name)
			}
		}
	}
}

// TestExportEnds checks that a second export at the same time is refused, and that an error of the
// target and the end of the context end one.
func TestExportEnds(t *testing.T) {
	k := startTill(t)
	k.stamped(k.card(k.program(stamps("Coffee"))), 1)
	x := view(k.fixture, func(v *View) (Export, error) { return v.Export(k.a.Shop, ExportFormat{}) })
	full := errors.New("the disk is full")
	_, err := x.Write(context.Background(), func(string) (io.Writer, error) {
		refused(t, errorOf(x.Write(context.Background(), nil)), Conflict)
		return nil, full
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = x.Write(ctx, func(string) (io.Writer, error) {
		cancel()
		return io.Discard, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	k.export(t, "csv", nil)
}

// TestExportZip checks that an export ends while nobody reads it, that it is read whole afterwards, and
// that one which is closed before leaves no file.
func TestExportZip(t *testing.T) {
	k := startTill(t)
	k.stamped(k.card(k.program(stamps("Coffee"))), 1)
	x := view(k.fixture, func(v *View) (Export, error) { return v.Export(k.a.Shop, ExportFormat{}) })
	z := check(x.Zip(context.Background()))
	for range z.more { // until it is written
	}
	k.export(t, "csv", nil) // another one
	text := check(io.ReadAll(z))
	files := check(zip.NewReader(bytes.NewReader(text), int64(len(text)))).File
	if len(files) != 8 || files[7].Name != "manifest.json" {
		t.Errorf("%d files", len(files))
	}
	check(0, z.Close())
	check(0, check(x.Zip(context.Background())).Close())
	for _, e := range check(os.ReadDir(filepath.Dir(k.path))) {
		if !strings.HasPrefix(e.Name(), "cards.db") {
			t.Errorf("it left %s", e.Name())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	z = check(x.Zip(ctx))
	if _, err := io.ReadAll(z); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	check(0, z.Close())
}

// FuzzDefuse checks that Undefuse gives the text back, and that no cell begins like a formula.
func FuzzDefuse(f *testing.F) {
	for _, text := range []string{"", "a", "'", "=1", "'=1", "''+1", "'a", "''", "\tx", "-'", "+39 06"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cell := Defuse(text)
		if got := Undefuse(cell); got != text {
			t.Errorf("%q became %q and %q", text, cell, got)
		}
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			t.Errorf("%q is a formula", cell)
		}
	})
}
