// Package holder is what a card's holder sees: the page behind the install
// link (contract section 7).
package holder

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/store"
)

//go:embed card.html
var cardHTML string

var page = template.Must(template.New("card").Parse(cardHTML))

var style = kernel.StyleSource(cardHTML) // of every page

// view is what the page shows.
type view struct {
	Title, Message string // of an error
	Shop           string
	Card           store.CardDetail
	Program        store.Program
	Ink, OnBrand   string // colours of text on the shop's ground and on its brand colour
	Stamps         []bool // filled or not; none where there are too many to draw
	Percent        int64  // of the stamps, for a bar where they are not drawn
	Next           *store.LadderPrize
	Missing        int64 // stamps to the next prize
	Prizes         []store.LadderPrize
	Earlier        []store.EarlierCard
	Balance        string
	QR             template.HTML
	Own            template.HTML // the style element of this card
	Code           []string      // what the QR code holds, in groups that are easy to type
	Token          string
	Installed      bool
	Until          store.Time // the page's end
}

// Pages serves the holder's pages.
type Pages struct{ Kernel *kernel.Kernel }

// Mount adds the pages to a router.
func (p *Pages) Mount(r *httprouter.Router) {
	p.Kernel.Handle(r, http.MethodGet, "/i/:token", p.show)
	p.Kernel.Handle(r, http.MethodPost, "/i/:token/install", p.install)
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
	x := view{Shop: h.ShopName, Card: h.Card, Program: h.Program, Prizes: h.Prizes, Earlier: h.EarlierCards, QR: template.HTML(svg), Token: ps.ByName("token"), Installed: h.Card.InstalledAt.Valid, Until: h.LinkExpiresAt}
	x.Ink, x.OnBrand = ink(h.Program.TextColorHex, h.Program.BgColorHex), on(h.Program.BrandColorHex)
	if t := h.Program.TotalStamps; t.Valid {
		x.Percent = 100 * min(h.Card.StampsCount, t.V) / t.V
		for i := int64(0); i < t.V && t.V <= drawn; i++ {
			x.Stamps = append(x.Stamps, i < h.Card.StampsCount)
		}
	}
	for i, z := range h.Prizes {
		if missing := z.Threshold - h.Card.StampsCount; missing > 0 && (x.Next == nil || missing < x.Missing) {
			x.Next, x.Missing = &h.Prizes[i], missing
		}
	}
	for group := range slices.Chunk([]byte(h.Code), 4) {
		x.Code = append(x.Code, string(group))
	}
	if h.Card.CurrentValue.Valid {
		x.Balance = amount(h.Card.CurrentValue.V)
	}
	p.html(w, http.StatusOK, x)
}

// drawn is how many stamps a card shows one by one.
const drawn = 60

// amount writes cents as a decimal amount; the shop's currency is its own.
func amount(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// install takes a form, as the page sends it, or JSON.
func (p *Pages) install(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	form, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if form != "application/x-www-form-urlencoded" {
		kernel.Handler[store.InstallFields, store.CardDetail]{Status: http.StatusOK, Limit: kernel.SmallBody, Do: p.put}.Handle(p.Kernel)(w, r, ps)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, kernel.SmallBody)
	if err := r.ParseForm(); err != nil {
		p.refuse(w, r, store.Invalid(store.Detail{Field: "platform", Code: "invalid_format", Message: "the form cannot be read"}))
		return
	}
	f := store.InstallFields{Platform: store.Opt[string]{V: r.PostForm.Get("platform"), Set: true}}
	if _, err := p.put(r, ps, f); err != nil {
		p.refuse(w, r, err)
		return
	}
	p.Kernel.SeeOther(w, r, "/i/"+ps.ByName("token"))
}

func (p *Pages) put(r *http.Request, ps httprouter.Params, f store.InstallFields) (store.CardDetail, error) {
	return kernel.Do[store.CardDetail](r.Context(), p.Kernel, kernel.HolderCaller(), operation.InstallCard, args(ps, f))
}

// args hands the link's token and fields to an operation.
func args(ps httprouter.Params, fields any) kernel.Args {
	return kernel.Args{Params: map[string]string{"token": ps.ByName("token")}, Fields: fields}
}

// refuse answers a person with a page and a program with JSON.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.Kernel.Refuse(w, err)
		return
	}
	e := kernel.AsError(err, kernel.StatusOf)
	p.html(w, e.Status, view{Title: "This card cannot be shown", Message: e.Message})
}

func (p *Pages) html(w http.ResponseWriter, status int, x view) {
	styles := []string{style}
	if x.Message == "" {
		var own strings.Builder
		if err := page.ExecuteTemplate(&own, "own", x); err != nil {
			p.Kernel.Refuse(w, err)
			return
		}
		x.Own = template.HTML(own.String())
		styles = append(styles, kernel.StyleSource(own.String()))
	}
	var b bytes.Buffer
	if err := page.Execute(&b, x); err != nil {
		p.Kernel.Refuse(w, err)
		return
	}
	p.Kernel.HTML(w, status, b.Bytes(), styles...)
}
