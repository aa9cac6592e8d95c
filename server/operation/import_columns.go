package operation

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/store/money"
	"punchcard/store/phone"
)

// importField is what a column of an imported file may hold.
type importField struct {
	name string
	// columns are names under which other systems export it, in the form that plainName returns. Where a
	// file has several of them, the first one of this list is taken. The field's own name is the last
	// one, unless it is in the list.
	columns string
	// convert turns a cell that is not blank into the text of a field of store.RowFields, and returns the
	// rule that the cell breaks, if it does. nil: the text stays as it is.
	convert func(w *importWork, cell string) (text, rule string)
}

// importFields are all of them. A field whose columns are
// several, such as first and last name, is their texts with blanks between them.
var importFields = []importField{
	{"holder_name", wholeNames + " firstname lastname surname givenname familyname nome cognome nombre apellidos apellido prenom nom " +
		"vorname nachname sobrenome apelido", nil},
	{"holder_email", "email emailaddress mail correo correoelectronico indirizzoemail adresseemail courriel emailadresse mailadresse", nil},
	{"phone", "phonenumber mobile mobilenumber mobilephone telephone tel cell cellphone telefono numeroditelefono numerotelefono " +
		"cellulare movil celular numerodetelephone portable telefon telefonnummer mobil mobilnummer handy handynummer telefone " +
		"telemovel", (*importWork).phone},
	{"birthday", "birthdate dateofbirth dob geburtstag geburtsdatum compleanno datadinascita datanascita cumpleanos fechadenacimiento " +
		"anniversaire datedenaissance aniversario datadenascimento", birthday},
	{"note", "notes memo comment comments nota notas notiz notizen bemerkung bemerkungen kommentar commentaire observaciones " +
		"observacoes", nil},
	{"stamps", "activestamps currentstamps stamps stampscount stampcount points pointsbalance currentpoints loyaltypoints " +
		"punches punti puntos pontos stempel punkte timbri bollini sellos tampons carimbos selos", (*importWork).stamps},
	{"balance", "cardbalance giftcardbalance credit storecredit credito saldo guthaben solde", (*importWork).amount},
	{"claimed", "claimedprizes", nil},
	{"claimed_overflow", "", nil},
	{"code", "code barcode cardnumber cardcode cardno kartennummer kartennr strichcode numerocarta ncarta numerotessera ntessera " +
		"codiceabarre tessera codice codigo codigodebarras tarjeta numerodetarjeta nodetarjeta carte numerodecarte ndecarte codebarres cartao " +
		"numerodocartao nodocartao", asTyped},
	{"code_2", "", asTyped},
	{"code_3", "", asTyped},
	{"code_4", "", asTyped},
	{"code_5", "", asTyped},
	{"external_ref", "externalref squarecustomerid customerid id reference referenceid ref memberid membernumber " +
		"customernumber loyaltyid userid uuid kundennummer kundennr kundenid mitgliedsnummer mitgliedsnr codicecliente " +
		"numerocliente ncliente idcliente numerodecliente nodecliente codigodecliente numeroclient nclient idclient codeclient", nil},
	{"expires_at", "expires expiry expirydate expirationdate expiration validuntil gultigbis ablaufdatum scadenza datadiscadenza " +
		"caducidad validohasta dateexpiration validade", (*importWork).expiry},
	{"member_since", "membersince createdat created datecreated dateadded joined joindate datejoined joinedon signupdate " +
		"registered registrationdate firstvisit mitgliedseit kundeseit clientedal datadiregistrazione clientedesde fechadealta " +
		"clientdepuis datedinscription", (*importWork).day},
	{"last_visit", "lastvisited lastseen lastvisitdate lastactivity lastactive lasttransaction ultimavisita letzterbesuch " +
		"dernierevisite", (*importWork).day},
	{"state", "", nil},
	// An export has both, of which only the name is the same in another file.
	{"program", "programname program programid cardname loyaltyprogram programm programma programa programme", nil},
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

// severalColumns is the field that several columns may hold, such as first and last name.
const severalColumns = "holder_name"

// wholeNames are the names of columns that hold a whole name, or the number of a customer, by their preference. In some
// files "name" is the family name, beside a column for the given name.
const wholeNames = "name fullname customername nomecompleto nomecognome nombrecompleto nomcomplet kundenname customer cliente client kunde"

// suggestColumns returns what columns hold, going by their names.
func suggestColumns(names []string) (columns []store.ImportColumn) {
	for _, name := range names {
		columns = append(columns, store.ImportColumn{Name: name})
	}
	for _, f := range importFields {
		taken := false
		for _, known := range append(strings.Fields(f.columns), plainName(f.name)) {
			for n, c := range columns {
				if plainName(c.Name) == known && !c.Field.Valid && (!taken || f.name == severalColumns) {
					columns[n].Field, taken = store.Some(f.name), true
				}
			}
		}
	}
	onlyParts(columns)
	return columns
}

// onlyParts leaves out the columns of a whole name where those of its parts are there, and all but the first one by
// preference where they are not.
func onlyParts(columns []store.ImportColumn) {
	wholes := strings.Fields(wholeNames)
	parts, first := 0, len(wholes)
	for _, c := range columns {
		at := slices.Index(wholes, plainName(c.Name))
		switch {
		case c.Field.V != severalColumns:
		case at < 0:
			parts++
		default:
			first = min(first, at)
		}
	}
	for n, c := range columns {
		at := slices.Index(wholes, plainName(c.Name))
		if c.Field.V == severalColumns && at >= 0 && (at > first || parts > 1 || parts == 1 && at > 0) {
			columns[n].Field = store.Null[string]{}
		}
	}
}

// mapColumns returns what each column holds: what the mapping says or, where it says nothing, what its name suggests,
// unless the mapping gives that to another column. faults are what is wrong with the mapping.
func mapColumns(names, mapping []string) (columns []store.ImportColumn, faults []store.Detail) {
	fault := func(field, code, format string, args ...any) {
		faults = append(faults, store.Detail{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	columns = suggestColumns(names)
	given := make([]bool, len(columns))
	for n, pair := range mapping {
		at, named := strings.LastIndex(pair, "="), fmt.Sprintf("map.%d", n)
		if at < 0 {
			fault(named, wire.CodeInvalidFormat, "must be a column and a field with = between them")
			continue
		}
		column := slices.Index(names, strings.TrimSpace(pair[:at]))
		field := strings.TrimSpace(pair[at+1:])
		switch {
		case column < 0 || names[column] == "":
			fault(named, wire.CodeInvalidValue, "must name a column of the file, which has %v", strings.Join(names, ", "))
		case field != "" && !slices.Contains(ImportFieldNames(), field):
			fault(named, wire.CodeInvalidValue, "must name a field of these: %v", strings.Join(ImportFieldNames(), ", "))
		default:
			columns[column].Field, given[column] = store.Null[string]{V: field, Valid: field != ""}, true
		}
	}
	read := false
	for n, c := range columns {
		read = read || c.Field.Valid
		for m, other := range columns[:n] {
			switch {
			case !c.Field.Valid || c.Field != other.Field || c.Field.V == severalColumns:
			case !given[n]:
				columns[n].Field = store.Null[string]{}
			case !given[m]:
				columns[m].Field = store.Null[string]{}
			default:
				fault("map", wire.CodeInvalidValue, "must not give the field %v to two columns, %v and %v", c.Field.V, other.Name, c.Name)
			}
		}
	}
	if faults == nil && !read {
		fault("map", wire.CodeRequired, "must say what the columns hold, since no name of one is known")
	}
	return columns, faults
}

// ImportFieldNames returns the names of what a column may hold, in the order in which people choose.
func ImportFieldNames() (names []string) {
	for _, f := range importFields {
		names = append(names, f.name)
	}
	return names
}

// row turns the cells of a row into the fields of a card, without the program. codes names the field of each code, such
// as code_2.
func (w *importWork) row(raw store.RawRow) (r store.ImportRow, codes []string, faults []store.Detail) {
	r.Line, w.left = raw.Line, 0
	form := url.Values{}
	for _, f := range importFields {
		column, cell := w.report.Column(f.name, raw.Cells)
		if column == "" || f.name == "program" || f.name == "state" {
			continue
		}
		if cell == "" { // of a file that has the column
			switch f.name {
			case "expires_at":
				r.ExpiresAt.Set, r.ExpiresAt.Null = true, true // the card does not expire
			case "claimed":
				r.Claimed.Set = true // no prize was redeemed
			case "claimed_overflow":
				r.ClaimedOverflow.Set = true
			}
			continue
		}
		if f.convert != nil {
			text, rule := f.convert(w, cell)
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
	details := wire.DecodeForm(form, &r.RowFields, wire.Create, nil)
	for i, d := range details {
		if d.Field == "balance" && d.Code == "too_large" { // its last word is the limit in cents
			most, _ := strconv.ParseInt(d.Message[strings.LastIndexByte(d.Message, ' ')+1:], 10, 64)
			details[i].Message = "must be an amount of at most " + money.Decimal(most, w.check.Shop.Currency)
		}
	}
	r.RowFields = wire.Without(r.RowFields, details).(store.RowFields)
	return r, codes, append(faults, details...)
}

// shortenedNumber matches a number with an exponent.
var shortenedNumber = regexp.MustCompile(`^[0-9][.,]?[0-9]*[eE]\+[0-9]+$`)

// phone returns a phone number as it was typed. Spreadsheets take away the plus sign. In Germany and Austria, the digits that are
// left may also be a number within the country, but few of these have twelve digits.
func (w *importWork) phone(cell string) (text, rule string) {
	text, rule = asTyped(w, cell)
	national, _ := phone.Parse(text, w.check.Shop.CountryCode.V)
	code, whole := strings.CutSuffix(national, text)
	if whole && len(text) >= 12 && strings.HasPrefix("+"+text, code) {
		if international, ok := phone.Parse("+"+text, ""); ok {
			text = international
		}
	}
	return text, rule
}

// asTyped returns a phone number or a code as it was before a spreadsheet took it for a number, or kept it from that.
func asTyped(_ *importWork, cell string) (text, rule string) {
	if shortenedNumber.MatchString(cell) {
		return "", "is shortened by a spreadsheet: format the column as text and save the file again"
	}
	if quoted, ok := strings.CutPrefix(cell, `="`); ok {
		return strings.TrimSuffix(quoted, `"`), ""
	}
	if whole, zeros, ok := strings.Cut(cell, "."); ok && len(whole) > 6 && strings.Trim(whole, "0123456789") == "" &&
		strings.Trim(zeros, "0") == "" {
		return whole, ""
	}
	return cell, ""
}

// stamps turns points into stamps.
func (w *importWork) stamps(cell string) (text, rule string) {
	whole, fraction, _ := strings.Cut(strings.Replace(cell, ",", ".", 1), ".")
	points, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil || strings.Trim(fraction, "0") != "" || len(fraction) == 3 || strings.ContainsAny(whole, "+"):
		return "", "must be a whole number without a thousands separator"
	case points < 0:
		return "", "must not be negative"
	}
	per := w.options.StampsPer.Or(1)
	w.left = points % per
	return strconv.FormatInt(points/per, 10), ""
}

// amount turns an amount into cents.
func (w *importWork) amount(cell string) (text, rule string) {
	currency := w.check.Shop.Currency
	cents, ok := money.Parse(cell, currency)
	if !ok {
		return "", fmt.Sprintf("must be an amount in %s with at most %d decimals, without a sign and a thousands separator", currency,
			money.Decimals(currency))
	}
	return strconv.FormatInt(cents, 10), ""
}

// The forms of dates, with a time or without. Those without a zone are in the shop's.
var timeForms = []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// readTime reads a date or a time in the shop's zone.
func (w *importWork) readTime(cell string) (at time.Time, rule string) {
	zone := store.Zone(w.check.Shop.Timezone)
	for _, form := range timeForms {
		if at, err := time.ParseInLocation(form, cell, zone); err == nil {
			return at.In(zone), ""
		}
	}
	return at, "must be a date of ISO 8601, such as 2027-05-31"
}

// day turns a date or a time into the day of the shop's calendar.
func (w *importWork) day(cell string) (text, rule string) {
	at, rule := w.readTime(cell)
	if len(cell) == len(time.DateOnly) {
		return cell, rule // the day may begin after midnight
	}
	return at.Format(time.DateOnly), rule
}

// expiry turns a date into the end of the day, and leaves a time as it is.
func (w *importWork) expiry(cell string) (text, rule string) {
	if len(cell) == len(time.DateOnly) {
		cell += " 23:59:59.999"
	}
	at, rule := w.readTime(cell)
	return store.TimeOf(at).String(), rule
}

// birthday turns a date, or a time of it, into a day of the year.
func birthday(w *importWork, cell string) (text, rule string) {
	if len(cell) == len("01-02") {
		return cell, ""
	}
	if _, rule := w.readTime(cell); rule != "" {
		return "", "must be a month and a day, such as 02-29, or a date, such as 1990-02-28"
	}
	return cell[len("2006-"):len(time.DateOnly)], ""
}
