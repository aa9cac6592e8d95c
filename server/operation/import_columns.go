package operation

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/store/money"
)

// importField is what a column of an imported file may hold.
type importField struct {
	name string
	// columns are names under which other systems export it, in the form that plainName returns. Where a
	// file has several of them, the first one of this list is taken. The field's own name is the last
	// one, unless it is in the list.
	columns string
	// convert turns a cell that is not blank into the text of a field of store.ImportRow, and returns the
	// rule that the cell breaks, if it does. nil: the text stays as it is.
	convert func(i *importer, cell string) (text, rule string)
}

// importFields are all of them. A field whose columns are
// several, such as first and last name, is their texts with blanks between them.
var importFields = []importField{
	{name: "holder_name", columns: "name fullname customername customer firstname lastname surname givenname familyname nome cognome " +
		"nombre apellidos apellido prenom nom vorname nachname sobrenome"},
	{name: "holder_email", columns: "email emailaddress mail correo correoelectronico"},
	{name: "phone", columns: "phonenumber mobile mobilenumber mobilephone telephone tel cell " +
		"cellphone telefono telefon handy telemovel portable"},
	{name: "birthday", columns: "birthdate dateofbirth dob geburtstag geburtsdatum " +
		"compleanno cumpleanos anniversaire aniversario", convert: birthday},
	{name: "note", columns: "notes memo comment comments"},
	{name: "stamps", columns: "activestamps currentstamps stamps stampscount stampcount points " +
		"pointsbalance currentpoints loyaltypoints punches punti puntos " +
		"stempel punkte timbri sellos tampons", convert: (*importer).stamps},
	{name: "balance", columns: "cardbalance giftcardbalance credit storecredit credito saldo guthaben solde", convert: (*importer).amount},
	{name: "claimed", columns: "claimedprizes redeemed"}, {name: "claimed_overflow"},
	{name: "code", columns: "code barcode cardnumber cardcode cardno kartennummer numerocarta tessera codice codigo tarjeta carte"},
	{name: "code_2"}, {name: "code_3"}, {name: "code_4"}, {name: "code_5"},
	{
		name: "external_ref",
		columns: "externalref squarecustomerid customerid id reference referenceid ref memberid membernumber customernumber " +
			"loyaltyid userid uuid",
	},
	{name: "expires_at", columns: "expires expiry expirydate expirationdate expiration validuntil", convert: (*importer).expiry},
	{name: "member_since", columns: "membersince createdat created datecreated dateadded joined joindate datejoined joinedon " +
		"signupdate registered registrationdate firstvisit", convert: (*importer).day},
	{name: "last_visit", columns: "lastvisited lastseen lastvisitdate lastactivity lastactive lasttransaction " +
		"ultimavisita letzterbesuch dernierevisite", convert: (*importer).day},
	{name: "state"},
	// An export has both, of which only the name is the same in another file.
	{name: "program", columns: "programname program programid card cardname loyaltyprogram"},
}

// plainName returns a name of a column without case, accents, blanks and punctuation.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, store.FoldName(name))
}

// suggest returns the index in importFields of what a column holds, going by its name; -1 if nothing
// is known of it. Of two names for the same, the one with the lower rank is taken.
func suggest(column string) (at, rank int) {
	plain := plainName(column)
	for n, f := range importFields {
		names := append(strings.Fields(f.columns), plainName(f.name))
		if rank := slices.Index(names, plain); rank >= 0 {
			return n, rank
		}
	}
	return -1, 0
}

// importer turns the rows of a file into those of an import.
type importer struct {
	currency string
	zone     *time.Location
	columns  []string
	fields   []int // of importFields, for each column; -1: it is not read
	per      int64 // points for a stamp; 1: the file has stamps
	left     int64 // points that were no whole stamp
}

// given is the rank of what a mapping gives a column, before all that its name suggests.
const given = -1

// setColumns finds what each column holds: what the mapping says or, where it says nothing, what its name
// suggests.
func (i *importer) setColumns(columns, mapping []string) error {
	var faults []store.Detail
	fault := func(field, code, format string, args ...any) {
		faults = append(faults, store.Detail{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	i.columns, i.fields = columns, make([]int, len(columns))
	ranks := make([]int, len(columns))
	for n, column := range columns {
		i.fields[n], ranks[n] = suggest(column)
	}
	i.keepBest(ranks, nil)
	for n, pair := range mapping {
		at, named := strings.LastIndex(pair, "="), fmt.Sprintf("map.%d", n)
		if at < 0 {
			fault(named, wire.CodeInvalidFormat, "must be a column and a field with = between them")
			continue
		}
		column := slices.Index(columns, strings.TrimSpace(pair[:at]))
		field := strings.TrimSpace(pair[at+1:])
		of := slices.IndexFunc(importFields, func(f importField) bool { return f.name == field })
		switch {
		case column < 0 || columns[column] == "":
			fault(named, wire.CodeInvalidValue, "must name a column of the file, which has %v", strings.Join(columns, ", "))
		case of < 0 && field != "":
			fault(named, wire.CodeInvalidValue, "must name a field of these: %v", strings.Join(ImportFieldNames(), ", "))
		default:
			i.fields[column], ranks[column] = of, given
		}
	}
	i.keepBest(ranks, func(field, a, b string) {
		fault("map", wire.CodeInvalidValue, "must not give the field %v to two columns, %v and %v", field, a, b)
	})
	if faults == nil && slices.Max(append(slices.Clone(i.fields), -1)) < 0 {
		fault("map", wire.CodeRequired, "must say what the columns hold, since no name of one is known")
	}
	if faults != nil {
		return store.Invalid(faults...)
	}
	return nil
}

// keepBest leaves a field to the column with the lowest rank, and to the first of several. Only a name may have
// several columns. It calls twice with a field that is given to two columns.
func (i *importer) keepBest(ranks []int, twice func(field, a, b string)) {
	for n, of := range i.fields {
		for m := range n {
			switch {
			case of < 0 || i.fields[m] != of || importFields[of].name == "holder_name":
			case ranks[m] == given && ranks[n] == given:
				twice(importFields[of].name, i.columns[m], i.columns[n])
			case ranks[n] < ranks[m]:
				i.fields[m] = -1
			default:
				i.fields[n] = -1
			}
		}
	}
}

// ImportFieldNames returns the names of what a column may hold, in the order in which people choose.
func ImportFieldNames() (names []string) {
	for _, f := range importFields {
		names = append(names, f.name)
	}
	return names
}

// column returns the name and the cell of the column that holds a field; empty if none does.
func (i *importer) column(field string, cells []string) (name, cell string) {
	for n, of := range i.fields {
		if of >= 0 && importFields[of].name == field {
			if name != "" { // first and last name
				name, cell = name+", ", cell+" "
			}
			name += i.columns[n]
			if n < len(cells) {
				cell += cells[n]
			}
		}
	}
	return name, strings.TrimSpace(cell)
}

// row turns the cells of a row into the fields of a card, without the program. The field of a fault is
// the one of importFields, and codes has those of the codes of the row.
func (i *importer) row(cells []string) (r store.ImportRow, codes []string, faults []store.Detail) {
	form := url.Values{}
	for _, f := range importFields {
		column, cell := i.column(f.name, cells)
		if column == "" || f.name == "program" || f.name == "state" || cell == "" {
			continue
		}
		if f.convert != nil {
			text, rule := f.convert(i, cell)
			if rule != "" {
				faults = append(faults, store.Detail{Field: f.name, Code: wire.CodeInvalidFormat, Message: rule})
				continue
			}
			cell = text
		}
		switch {
		case strings.HasPrefix(f.name, "code"):
			form["codes"], codes = append(form["codes"], cell), append(codes, f.name)
		case strings.HasPrefix(f.name, "claimed"):
			form[f.name] = strings.Fields(cell)
		default:
			form.Set(f.name, cell)
		}
	}
	details := wire.DecodeForm(form, &r, wire.Create, nil)
	r = wire.Without(r, details).(store.ImportRow)
	for _, d := range details {
		d.Field, _, _ = strings.Cut(codeField(d.Field, codes), ".")
		faults = append(faults, d)
	}
	// An empty cell says that the card does not expire, or that no prize was redeemed. A file without the column does not say so.
	if column, _ := i.column("expires_at", cells); column != "" {
		r.ExpiresAt.Set, r.ExpiresAt.Null = true, !r.ExpiresAt.Set
	}
	if column, _ := i.column("claimed", cells); column != "" {
		r.Claimed.Set, r.Claimed.Null = true, !r.Claimed.Set
	}
	return r, codes, faults
}

// codeField returns the one of the fields of the codes that the field of a fault names, such as codes.1, or the
// field itself.
func codeField(field string, codes []string) string {
	if at, ok := strings.CutPrefix(field, "codes."); ok {
		if n, err := strconv.Atoi(at); err == nil && n < len(codes) {
			return codes[n]
		}
	}
	return field
}

// stamps turns points into stamps.
func (i *importer) stamps(cell string) (text, rule string) {
	whole, fraction, _ := strings.Cut(strings.Replace(cell, ",", ".", 1), ".")
	points, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil || strings.Trim(fraction, "0") != "" || len(fraction) == 3 || strings.ContainsAny(whole, "+"):
		return "", "must be a whole number without a thousands separator"
	case points < 0:
		return "", "must not be negative"
	}
	i.left += points % i.per
	return strconv.FormatInt(points/i.per, 10), ""
}

// amount turns an amount into cents.
func (i *importer) amount(cell string) (text, rule string) {
	cents, ok := money.Parse(cell, i.currency)
	if !ok {
		return "", fmt.Sprintf("must be an amount in %s with at most %d decimals, without a sign and a thousands separator", i.currency,
			money.Decimals(i.currency))
	}
	return strconv.FormatInt(cents, 10), ""
}

// The forms of dates with a time in exports. Those without a zone are in the shop's.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// readTime reads a date or a time.
func (i *importer) readTime(cell string) (at time.Time, isDate, ok bool) {
	if at, err := time.ParseInLocation(time.DateOnly, cell, i.zone); err == nil {
		return at, true, true
	}
	for _, form := range timeForms {
		if at, err := time.ParseInLocation(form, cell, i.zone); err == nil {
			return at, false, true
		}
	}
	return at, false, false
}

const noDate = "must be a date of ISO 8601, such as 2027-05-31"

// day turns a date or a time into the day of the shop's calendar.
func (i *importer) day(cell string) (text, rule string) {
	at, _, ok := i.readTime(cell)
	if !ok {
		return "", noDate
	}
	return at.In(i.zone).Format(time.DateOnly), ""
}

// expiry turns a date into the end of the day, and leaves a time as it is.
func (i *importer) expiry(cell string) (text, rule string) {
	at, isDate, ok := i.readTime(cell)
	if !ok {
		return "", noDate
	}
	if isDate {
		at = at.AddDate(0, 0, 1).Add(-time.Millisecond)
	}
	return store.TimeOf(at).String(), ""
}

// birthday turns a date into a day of the year.
func birthday(_ *importer, cell string) (text, rule string) {
	if len(cell) == len("01-02") {
		return cell, ""
	}
	at, err := time.Parse(time.DateOnly, cell)
	if err != nil {
		return "", "must be a month and a day, such as 02-29, or a date, such as 1990-02-28"
	}
	return at.Format("01-02"), ""
}
