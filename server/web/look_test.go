package web

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"punchcard/server/servertest/require"
)

var lookAddr = flag.String("look", "", "address, such as localhost:8099, at which TestLook serves the sample pages until it is stopped")

// sample is the data of the sample pages in testdata/look, which show every component.
type sample struct {
	Frame
	Now    time.Time
	Form   *Form
	Holder string
	Facts  []Fact
	Cards  []sampleCard
	Events []Event
	Tabs   []NavItem
	Steps  []Step
	Pager  Pager
	Places []Option
	Icons  []string
	QR     template.HTML

	Bars, NoBars, Lines, Heat, Year, Split template.HTML
}

type sampleCard struct {
	Name, Email, Program string
	Status               Badge
	Stamps               int
	Balance              string
	Seen                 time.Time
}

// samplePages are the pages in testdata/look and the built-in ones.
var samplePages = []string{"today", "cards", "card", "form", "settings", "stats", "signin", "error", "confirm"}

// newSample returns the data of the sample pages. name is used wherever a shop or its
// customers choose a text.
func newSample(p *Printer, name string) *sample {
	now := time.Date(2026, 11, 22, 14, 32, 0, 0, time.UTC)
	s := &sample{
		Frame:  Frame{Title: "Today", App: sampleApp(p, name)},
		Now:    now,
		Holder: name,
		Form: &Form{
			Key: "9f2c",
			Values: url.Values{
				"name":        {name},
				"where":       {"some"},
				"scopes":      {"r"},
				"icon":        {"pizza"},
				"brand":       {"#b0241c"},
				"bg":          {"#ffffff"},
				"text":        {"#111111"},
				"description": {name},
			},
			Errors: map[string]string{"stamps": p.T("Stamps must be between 1 and 99."), "where": "Choose at least one location."},
		},
		Tabs: []NavItem{
			{Label: "All", Current: true, Badge: "12,408"},
			{Label: "Active", Path: "/a"},
			{Label: "Locked", Path: "/l"},
			{Label: name, Path: "/x"},
		},
		Steps: []Step{
			{Label: "Shop", Done: true},
			{Label: "Account", Done: true},
			{Label: "Location", Current: true},
			{Label: "Program"},
			{Label: "Prizes"},
		},
		Pager: Pager{First: "/cards", Next: "/cards?cursor=x", Shown: 50},
		Places: []Option{
			{Value: "all", Label: "All locations", Hint: "New ones too."},
			{Value: "some", Label: "Only these locations", Hint: name},
		},
		Icons: slices.Sorted(maps.Keys(icons)),
		QR: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 29 29" role="img" aria-label="QR code"><path fill="#fff" d="M0 ` +
			`0h29v29H0z"/><path d="M4 4h7v7H4zM18 4h7v7h-7zM4 18h7v7H4zM13 13h3v3h-3zM18 18h3v3h-3zM22 22h3v3h-3z"/></svg>`,
	}
	s.Facts = []Fact{
		{Label: "Holder", Value: name, Hint: "giulia@example.com"},
		{Label: "Status", Value: Badge{"Active", "good"}},
		{Label: "Stamps", Value: "7 of 10"},
		{Label: "Last seen", Value: p.DateTime(now)},
	}
	states := []Badge{{"Active", "good"}, {"Locked", "warn"}, {"Archived", ""}, {"Expired", "bad"}}
	for i, holder := range []string{
		"Giulia Bianchi", name, "Jean-François Lefèvre-Dumoulin", "محمد بن عبد الله", "Zoë 🍕",
		strings.Repeat("Wolfeschlegelstein", 6),
	} {
		s.Cards = append(
			s.Cards,
			sampleCard{
				holder,
				fmt.Sprintf("holder%d@example.com", i),
				[]string{"Coffee card", "Gym pass"}[i%2],
				states[i%4],
				3 * i,
				p.Money(int64(i*1250), "EUR"),
				now.Add(-time.Duration(i*i*700) * time.Minute),
			},
		)
		s.Events = append(
			s.Events,
			Event{
				Time:  now.Add(-time.Duration(i*7) * time.Minute),
				Title: []string{"Stamped", "Redeemed a coffee", "Card issued"}[i%3] + " – " + holder,
				Who:   "Till 2",
			},
		)
	}
	s.charts(p, name)
	return s
}

// sampleApp returns the navigation of the sample pages. name is that of another shop.
func sampleApp(p *Printer, name string) *App {
	app := &App{
		Shop:    "Caffè Roma",
		Person:  "Ada Conti",
		Email:   "ada@example.com",
		Role:    p.T("Owner"),
		Home:    "/",
		SignOut: "/sign-out",
		Shops:   []NavItem{{Label: name, Path: "/switch"}},
	}
	for _, item := range []string{
		"Today today", "Cards card", "Programs program", "Statistics chart", "Locations location Shop", "Tills till",
		"Keys key Developers", "Webhooks webhook", "Activity activity Administration", "Health health", "Settings settings",
	} {
		words := strings.Fields(item + "  ")
		n := NavItem{Label: words[0], Icon: words[1], Path: "/" + words[1]}
		if len(words) > 2 {
			n.Group = words[2]
		}
		app.Nav = append(app.Nav, n)
	}
	app.Nav[7].Badge = "2"
	app.Account = []NavItem{{Label: "Account", Path: "/account", Icon: "user"}, {Label: "Second factor", Path: "/totp", Icon: "user"}}
	return app
}

// charts draws the sample charts.
func (s *sample) charts(p *Printer, name string) {
	var points []Point
	var now, before []int64
	var labels []string
	for i := range 30 {
		day := time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)
		v := int64(80 + 45*math.Sin(float64(i)/1.7) + float64(i*i%17)*4)
		labels = append(labels, p.DayMonth(day))
		points = append(points, Point{p.DayMonth(day), p.LongDate(day), v})
		before = append(before, 70+v*7/10-int64(i%5)*9)
		if i < 22 {
			now = append(now, v)
		}
	}
	var heat [7][24]int64
	for d := range heat {
		for h := 7; h < 22; h++ {
			heat[d][h] = int64(20*math.Exp(-math.Pow(float64(h-9)/2, 2))+12*math.Exp(-math.Pow(float64(h-17)/2, 2))) * int64(d%3+1)
		}
	}
	year := make([]int64, 365)
	for i := range year {
		year[i] = max(0, int64(40+30*math.Sin(float64(i)/58)+float64(i*7%23)-8*float64(i%7)))
	}
	s.Bars = BarChart(p, Chart{ID: "bars", Title: "Stamps by day", Key: "Day", Value: "Stamps"}, points)
	s.NoBars = BarChart(
		p,
		Chart{ID: "none", Title: "Redemptions by day", Key: "Day"},
		[]Point{{Label: "1 Nov"}, {Label: "2 Nov"}, {Label: "3 Nov"}},
	)
	s.Lines = LineChart(
		p,
		Chart{
			ID:     "lines",
			Title:  "Balances",
			Key:    "Day",
			Format: func(v int64) string { return p.Money(100*v, "EUR") },
			Axis:   func(v int64) string { return p.ShortMoney(100*v, "EUR") },
		},
		labels,
		nil,
		Series{"November", now},
		Series{"October", before},
	)
	s.Heat = Heatmap(p, Chart{ID: "heat", Title: "Stamps by weekday and hour"}, heat)
	s.Year = YearHeatmap(p, Chart{ID: "year", Title: "Stamps of a year"}, time.Date(2025, 11, 23, 0, 0, 0, 0, time.UTC), year)
	s.Split = SplitBar(
		p,
		Chart{ID: "split", Title: "Cards by platform", Key: "Platform", Value: "Cards"},
		[]Part{{"Apple", 5120}, {"Google", 3340}, {name, 812}, {"Not installed", 1204}},
	)
}

// sampleData returns the data of a sample page.
func sampleData(p *Printer, page, name string) any {
	s := newSample(p, name)
	s.Title = strings.ToUpper(page[:1]) + page[1:]
	for i := range s.App.Nav {
		s.App.Nav[i].Current = strings.ToLower(s.App.Nav[i].Label) == page || page == "stats" && i == 3 || page == "card" && i == 1 ||
			page == "form" && i == 2
	}
	switch page {
	case "settings":
		s.Flash, s.Form.Errors = "The settings are saved.", nil
		s.Style = ".icons{display:grid;grid-template-columns:repeat(auto-fill,minmax(7rem,1fr));gap:.5rem}"
	case "signin":
		s.App, s.Title, s.Form = nil, "Sign in", &Form{Problem: "Email or password is wrong."}
	case "error":
		return &ErrorPage{
			Frame:     Frame{Title: "This page is not there", App: s.App},
			Status:    404,
			Message:   "The card may have been erased, or the address is mistyped.",
			Back:      Action{Label: "Cards", Path: "/cards", Icon: "back"},
			RequestID: "req_8fJq2kLx0aPz",
		}
	case "confirm":
		return &ConfirmPage{
			Frame:        Frame{Title: "Delete " + name + "?", App: s.App, Width: "narrow", Form: &Form{Key: "k"}},
			Path:         "/delete",
			Text:         "The program and its prizes are deleted. This cannot be undone.",
			Consequences: []string{"412 cards stop working.", "3 prizes that are ready are lost."},
			Type:         name,
			Button:       "Delete program",
			Danger:       true,
			Cancel:       "/programs",
		}
	}
	return s
}

// TestLook renders the sample pages in all languages. With -look it serves them, to
// look at: /cards?lang=de&name=Giulia.
func TestLook(t *testing.T) {
	templates := parseSamples(t)
	for _, lang := range Locales {
		for _, page := range samplePages {
			p := PrinterFor(lang)
			if text := render(t, templates, page, sampleData(p, page, "Giulia"), p); len(text) > 100_000 {
				t.Errorf("%s in %s has %d bytes", page, lang, len(text))
			}
		}
	}
	if *lookAddr == "" {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/assets/", AssetHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		page := strings.TrimPrefix(r.URL.Path, "/")
		if !slices.Contains(samplePages, page) {
			page = "today"
		}
		p, name := PrinterFor(r.FormValue("lang")), cmp.Or(r.FormValue("name"), "Giulia")
		data := sampleData(p, page, name)
		var style string
		if s, ok := data.(*sample); ok {
			style = string(s.Style)
		}
		SetHeaders(w.Header(), style)
		if err := templates.Render(w, page, data, p); err != nil {
			t.Error(err)
		}
	})
	t.Logf("serving http://%s/", *lookAddr)
	t.Fatal(http.ListenAndServe(*lookAddr, mux))
}

// render returns a page.
func render(t *testing.T, templates *Templates, page string, data any, p *Printer) string {
	t.Helper()
	var b bytes.Buffer
	if err := templates.Render(&b, page, data, p); err != nil {
		t.Fatalf("%s in %s: %v", page, p.Lang(), err)
	}
	return b.String()
}

// parseSamples returns the sample pages.
func parseSamples(t testing.TB) *Templates {
	return require.Must(Parse(os.DirFS("testdata/look")))
}

// mapFS is a file system of pages, by name.
type mapFS map[string]string

func (m mapFS) Open(name string) (fs.File, error) {
	files := fstest.MapFS{}
	for file, text := range m {
		files[file] = &fstest.MapFile{Data: []byte(text)}
	}
	return files.Open(name)
}
