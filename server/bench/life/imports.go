package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// importRows is how many people each file of another system has.
const importRows = 500

// importFile is a file of another system, as a person imports it.
type importFile struct {
	name      string
	program   *program
	columns   map[string]string // what columns hold, where the page does not guess it
	stampsPer string            // points of a stamp; empty: the file has stamps
	members   []*member
	data      []byte
}

// importMembers imports the people of three earlier systems. The first file is imported with a wrong number of points at first.
func (y *year) importMembers() error {
	byType := func(kind string) *program {
		return y.shop.programs[slices.IndexFunc(y.shop.programs, func(p *program) bool { return p.Type == kind })]
	}
	files := []*importFile{
		{name: "square.csv", program: byType("private"), columns: map[string]string{"Transaction Count": "stamps", "Lifetime Spend": ""}},
		{name: "stamp-me.csv", program: byType("standard"), columns: map[string]string{"Stamps": "", "Active Stamps": "stamps"}},
		{name: "tessere.csv", program: byType("prepaid"), columns: map[string]string{"Timbri": "", "Credito": "balance",
			"Tessera": "code"}},
	}
	for i, f := range files {
		for range importRows {
			m := y.newMember()
			m.shop, m.program, m.faceOfIssue, m.platform, m.imported = y.shop, f.program, "import", "", true
			m.hasNumber = true
			m.regular = m.n%4 == 0
			f.members = append(f.members, m)
		}
		var err error
		if f.data, err = f.write(); err != nil {
			return err
		}
		if i == 0 {
			f.stampsPer = "5"
			run := y.importCards(f)
			y.undoImport(f, run)
			f.stampsPer = "10"
		}
		y.importCards(f)
	}
	return nil
}

// openingStamps returns the stamps with which an imported member begins. Some of a standard program have more than a card holds.
func (m *member) openingStamps() int64 {
	if m.program.Type == "standard" {
		return int64(m.n % 14)
	}
	return int64(m.n % 10)
}

// openingCents returns the balance with which an imported member begins.
func (m *member) openingCents() int64 { return int64(m.n%40) * 55 }

// write writes the file in the shape of those in testdata/import, with a faulty row at the end.
func (f *importFile) write() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	switch f.name {
	case "square.csv":
		w.Write(strings.Split("Reference ID,First Name,Last Name,Email Address,Phone Number,Birthday,Memo,Transaction Count,Lifetime Spend",
			","))
		for _, m := range f.members {
			first, last, _ := strings.Cut(m.name(), " ")
			points := fmt.Sprint(10*m.openingStamps() + int64(m.n%5))
			w.Write([]string{m.reference(), first, last, m.email(), "'" + m.number(), "1990-12-10", `Said: "no sugar"`, points,
				"$1,204.50"})
		}
		w.Write([]string{"sq-none", "No", "Address", "nobody", "", "", "", "1", ""})
	case "stamp-me.csv":
		b.WriteString("\ufeff")
		w.Write(strings.Split("Customer Name,Email,Mobile,Stamps,Active Stamps,Completed Stamps,Date Joined,Last Activity", ","))
		for _, m := range f.members {
			all, active := fmt.Sprint(20+m.openingStamps()), fmt.Sprint(m.openingStamps())
			w.Write([]string{m.name(), m.email(), m.number(), all, active, "20", "2024-02-11 09:14:02", "2024-12-28 08:03:55"})
		}
		w.Write([]string{"Too Many", "many@members.example", "", "99", "99", "0", "", ""})
	default:
		w.Comma = ';'
		w.Write(strings.Split("Tessera;Nome;Cognome;Telefono;E-mail;Compleanno;Timbri;Credito;Note", ";"))
		for _, m := range f.members {
			m.code = fmt.Sprintf("TES-%06d", m.n)
			first, last, _ := strings.Cut(m.name(), " ")
			credit := fmt.Sprintf("%d,%02d", m.openingCents()/100, m.openingCents()%100)
			w.Write([]string{m.code, first, last, m.number(), m.email(), "02-29", "3", credit,
				"Preferisce il caffè lungo; niente scontrino"})
		}
		w.Write([]string{"TES-0", "No", "Credit", "", "", "02-30", "", "much", ""})
	}
	w.Flush()
	if f.name == "tessere.csv" {
		return charmap.Windows1252.NewEncoder().Bytes(b.Bytes())
	}
	return b.Bytes(), w.Error()
}

// reference returns the number of the member in an earlier system.
func (m *member) reference() string { return fmt.Sprintf("sq-%d", m.n) }

// upload sends a file with a form that has nothing else.
func (b *browser) upload(path, name string, data []byte, want ...string) *page {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("file", name) // writing to memory does not fail
	part.Write(data)
	w.Close()
	up := *b
	up.face = b.face.with("Content-Type", w.FormDataContentType())
	return up.fetch(http.MethodPost, path, body.Bytes(), want...)
}

// importCards imports a file: it is uploaded, its columns are mapped, the preview is checked, and the import is run. It
// returns the path of the page of the import.
func (y *year) importCards(f *importFile) (run string) {
	b := y.office.people["manager"]
	if b.get("/dashboard/imports") == nil { // it signs in
		return ""
	}
	p := b.upload("/dashboard/imports", f.name, f.data, "303")
	if p == nil {
		return ""
	}
	at := p.location()
	if p = b.get(at); p == nil {
		return ""
	}
	form := p.form("").fill("program_id", f.program.ID, "skip_faulty", "true", "allow_unkeyed", "true", "stamps_per", f.stampsPer)
	for i, column := range form.fields["map"] {
		name, _, _ := strings.Cut(column, "=")
		if field, ok := f.columns[name]; ok {
			form.fields["map"][i] = name + "=" + field
		}
	}
	form.fields.Del("idempotency_key")
	if p = b.get(at + "?" + form.fields.Encode()); p == nil { // the button "Check again"
		return ""
	}
	shown := text(p.root)
	if !strings.Contains(shown, fmt.Sprintf("Import %d cards", len(f.members))) || !strings.Contains(shown, "Faulty rows 1 ") {
		_, said, _ := strings.Cut(shown, "More choices")
		y.fault("the preview of %s says %.1500s", f.name, said)
		return ""
	}
	if p = p.form("").send("303"); p == nil {
		return ""
	}
	run, _, _ = strings.Cut(p.location(), "?")
	p = b.wait(run, func(text string) bool { return strings.Contains(text, "Running") })
	if p == nil || !strings.Contains(text(p.root), fmt.Sprintf("Cards added %d", len(f.members))) {
		y.fault("the import of %s ends with %.1000s", f.name, text(p.root))
	}
	y.noteImported(f)
	return run
}

// noteImported writes what an import made of each row.
func (y *year) noteImported(f *importFile) {
	found := map[string]issued{} // by name
	for path := "/cards?limit=100&program_id=" + f.program.ID; path != ""; {
		var page struct {
			Data []struct {
				issued
				HolderName *string `json:"holder_name"`
			}
			NextCursor *string `json:"next_cursor"`
		}
		r, ok := y.ask(y.shop.api, "GET", path, nil, "200")
		if !ok || r.decode(&page) != nil {
			return
		}
		path = ""
		for _, c := range page.Data {
			if c.HolderName != nil {
				found[*c.HolderName] = c.issued
			}
		}
		if page.NextCursor != nil {
			path = "/cards?limit=100&program_id=" + f.program.ID + "&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	for _, m := range f.members {
		made, ok := found[m.name()]
		if !ok {
			y.fault("the import of %s made no card of %s", f.name, m.name())
			continue
		}
		if m.collects() {
			made.Stamps = m.openingStamps()
			if f.stampsPer == "5" {
				made.Stamps *= 2
			}
		} else {
			m.cents = m.openingCents()
			made.Value = &m.cents
		}
		m.card, m.first = made.ID, made.ID
		y.count("card issued: import")
		y.answers.write(done{At: y.now, Shop: y.shop.ID, Face: "import", Kind: "issue", Card: made.ID, Rows: []row{}, Issued: &made})
	}
}

// undoImport undoes an import of cards that nobody has used.
func (y *year) undoImport(f *importFile, run string) {
	b := y.office.people["manager"]
	if run == "" || b.change(run+"/undo", nil) == nil {
		return
	}
	p := b.wait(run, func(text string) bool { return strings.Contains(text, "Being undone") })
	if p == nil || !strings.Contains(text(p.root), fmt.Sprintf("Cards erased %d Cards kept 0", len(f.members))) {
		y.fault("undoing the import of %s ends with %.1000s", f.name, text(p.root))
	}
	for _, m := range f.members {
		y.count("import undone for a card")
		y.answers.write(done{At: y.now, Shop: y.shop.ID, Face: "import", Kind: "erase", Card: m.card, Rows: []row{}})
	}
}
