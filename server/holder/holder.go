// Package holder serves the page of a card for its holder, at the card's install
// link, and installs the card.
package holder

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

//go:embed card.html
var files embed.FS

// page returns the template of all pages.
var page = sync.OnceValue(func() *web.Templates {
	t, err := web.Parse(files)
	if err != nil {
		panic(err) // impossible: the pattern is valid
	}
	return t
})

// style returns the source expression, for the content security policy, of the style
// element that all pages have.
var style = sync.OnceValue(func() string {
	html, err := files.ReadFile("card.html")
	if err != nil {
		panic(err) // impossible: the file is embedded
	}
	return kernel.StyleSource(string(html))
})

// view is the data of the page.
type view struct {
	Title, Message string         // of an error
	Face           web.HolderCard // how the card is drawn
	Styles         []template.CSS // of cards, and of this card
	Description    string         // of the program
	Prizes         []store.LadderPrize
	Earlier        []store.EarlierCard
	QR             template.HTML
	ShortCode      string // in capitals and groups, for reading out; empty if the card has none
	Token          string
	Installed      bool
	Until          store.Time // end of the install link
}

// Pages serves the holder's pages.
type Pages struct {
	Kernel *kernel.Kernel
	Hosts  *kernel.Hosts // whose pages may send the form
}

// Mount adds the pages to a router.
func (p *Pages) Mount(r *httprouter.Router) {
	p.Kernel.Handle(r, http.MethodGet, "/i/:token", p.show)
	p.Kernel.Handle(r, http.MethodPost, "/i/:token/install", p.install)
}

// IsForm reports whether a request may be for the installation of a card, which
// checks the origin itself (see [kernel.Hosts.CheckFormOrigin]).
func IsForm(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/i/")
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	h, err := kernel.Do[store.HolderCard](r.Context(), p.Kernel, kernel.HolderCaller(), operation.ShowHolderCard, args(ps, nil))
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	svg, err := qr.SVG(h.Code)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	x := view{
		Face:        face(&h),
		Description: h.Program.Description,
		Prizes:      h.Prizes,
		Earlier:     h.EarlierCards,
		QR:          template.HTML(svg),
		ShortCode:   groupCode(h.ShortCode),
		Token:       ps.ByName("token"),
		Installed:   h.Card.InstalledAt.Valid,
		Until:       h.LinkExpiresAt,
	}
	x.Styles = []template.CSS{web.HolderCardCSS(), x.Face.Style()}
	p.html(w, http.StatusOK, x)
}

// face returns how a card is drawn.
func face(h *store.HolderCard) web.HolderCard {
	c := web.HolderCard{
		ID:      "card",
		Shop:    h.ShopName,
		Logo:    logoPath(h.LogoHash),
		Name:    h.Program.Name,
		Holder:  h.Card.HolderName.V,
		Program: web.CardColours{Brand: h.Program.BrandColorHex, Background: h.Program.BgColorHex, Text: h.Program.TextColorHex},
		Stamps:  h.Card.StampsCount,
		Total:   h.Program.TotalStamps.V,
	}
	for _, p := range h.Prizes {
		if missing := p.Threshold - h.Card.StampsCount; c.Total > 0 && missing > 0 && (c.Next == "" || missing < c.Missing) {
			c.Next, c.Missing = p.Name, missing
		}
	}
	if h.Card.CurrentValue.Valid {
		c.Balance = fmt.Sprintf("%.2f", float64(h.Card.CurrentValue.V)/100)
	}
	if h.Program.DiscountPercent.Valid {
		c.Percent = strconv.FormatFloat(h.Program.DiscountPercent.V, 'f', -1, 64)
	}
	if h.Card.ExpiresAt.Valid {
		c.Until = h.Card.ExpiresAt.V.Std().Format("2 January 2006")
	}
	return c
}

// logoPath returns the path of a logo, empty if there is none.
func logoPath(hash store.Null[string]) string {
	if !hash.Valid {
		return ""
	}
	return "/logo/" + hash.V + ".png"
}

// groupCode returns a code in capitals and groups of four, such as K7QM-2X9P.
func groupCode(code string) string {
	var groups []string
	for group := range slices.Chunk([]byte(strings.ToUpper(code)), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, "-")
}

// install answers a form, which the page sends, or JSON.
func (p *Pages) install(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	if err := p.Hosts.CheckFormOrigin(r); err != nil {
		p.refuse(w, r, err)
		return
	}
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if contentType != "application/x-www-form-urlencoded" {
		kernel.Handler[store.InstallFields, store.Installation]{Status: http.StatusOK, Limit: kernel.SmallBody, Do: p.installCard}.Handle(p.Kernel)(w, r, ps)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, kernel.SmallBody)
	if err := r.ParseForm(); err != nil {
		p.refuse(w, r, store.Invalid(store.Detail{Field: "platform", Code: "invalid_format", Message: "the form cannot be read"}))
		return
	}
	f := store.InstallFields{Platform: store.Opt[string]{V: r.PostForm.Get("platform"), Set: true}}
	if _, err := p.installCard(r, ps, f); err != nil {
		p.refuse(w, r, err)
		return
	}
	w.Header().Set("Location", "/i/"+ps.ByName("token"))
	p.Kernel.HTML(w, http.StatusSeeOther, nil)
}

// installCard marks the card of the link as installed.
func (p *Pages) installCard(r *http.Request, ps httprouter.Params, f store.InstallFields) (store.Installation, error) {
	return kernel.Do[store.Installation](r.Context(), p.Kernel, kernel.HolderCaller(), operation.InstallCard, args(ps, f))
}

// args returns the input of an operation with the link's token.
func args(ps httprouter.Params, fields any) kernel.Args {
	return kernel.Args{Params: map[string]string{"token": ps.ByName("token")}, Fields: fields}
}

// refuse answers with an error: with a page if the client accepts HTML, else with
// JSON.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.Kernel.AnswerError(w, err)
		return
	}
	e := p.Kernel.Report(w, err)
	p.html(w, e.Status, view{Title: "This card cannot be shown", Message: e.Message})
}

// html answers with the page.
func (p *Pages) html(w http.ResponseWriter, status int, x view) {
	styles := []string{style()}
	for _, css := range x.Styles {
		styles = append(styles, web.StyleSource(string(css)))
	}
	var b bytes.Buffer
	if err := page().Fragment(&b, "card", "content", x, web.PrinterFor("en")); err != nil {
		p.Kernel.AnswerError(w, err)
		return
	}
	answer := p.Kernel.HTML
	if x.Face.Logo != "" {
		answer = p.Kernel.IllustratedHTML
	}
	answer(w, status, b.Bytes(), styles...)
}
