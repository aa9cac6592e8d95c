// Package holder serves the page of a card for its holder, at the card's install
// link, and installs the card.
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

// style is the source expression, for the content security policy, of the style
// element that all pages have.
var style = kernel.StyleSource(cardHTML)

// view is the data of the page.
type view struct {
	Title, Message string // of an error
	Shop           string
	Card           store.CardDetail
	Program        store.Program
	Ink, OnBrand   string // text colours on the background and on the brand colour
	Stamps         []bool // whether each is filled; nil if there are more than maxDrawn
	Percent        int64  // of the stamps, for the bar that is shown if Stamps is nil
	Next           *store.LadderPrize
	Missing        int64 // stamps missing for the next prize
	Prizes         []store.LadderPrize
	Earlier        []store.EarlierCard
	Balance        string // in whole units of the currency, which is not named
	QR             template.HTML
	CardStyle      template.HTML // the style element of this card
	Code           []string      // text of the QR code, in groups for typing
	Token          string
	Installed      bool
	Until          store.Time // end of the install link
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
	x := view{
		Shop:      h.ShopName,
		Card:      h.Card,
		Program:   h.Program,
		Ink:       readableColour(h.Program.TextColorHex, h.Program.BgColorHex),
		OnBrand:   blackOrWhite(h.Program.BrandColorHex),
		Prizes:    h.Prizes,
		Earlier:   h.EarlierCards,
		QR:        template.HTML(svg),
		Token:     ps.ByName("token"),
		Installed: h.Card.InstalledAt.Valid,
		Until:     h.LinkExpiresAt,
	}
	if t := h.Program.TotalStamps; t.Valid {
		x.Percent = 100 * min(h.Card.StampsCount, t.V) / t.V
		for i := int64(0); i < t.V && t.V <= maxDrawn; i++ {
			x.Stamps = append(x.Stamps, i < h.Card.StampsCount)
		}
	}
	for i, p := range h.Prizes {
		if missing := p.Threshold - h.Card.StampsCount; missing > 0 && (x.Next == nil || missing < x.Missing) {
			x.Next, x.Missing = &h.Prizes[i], missing
		}
	}
	for group := range slices.Chunk([]byte(h.Code), 4) {
		x.Code = append(x.Code, string(group))
	}
	if h.Card.CurrentValue.Valid {
		x.Balance = fmt.Sprintf("%.2f", float64(h.Card.CurrentValue.V)/100)
	}
	p.html(w, http.StatusOK, x)
}

// maxDrawn is the maximum number of stamps that are drawn one by one.
const maxDrawn = 60

// install answers a form, which the page sends, or JSON.
func (p *Pages) install(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if contentType != "application/x-www-form-urlencoded" {
		kernel.Handler[store.InstallFields, store.CardDetail]{Status: http.StatusOK, Limit: kernel.SmallBody, Do: p.installCard}.Handle(p.Kernel)(w, r, ps)
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
func (p *Pages) installCard(r *http.Request, ps httprouter.Params, f store.InstallFields) (store.CardDetail, error) {
	return kernel.Do[store.CardDetail](r.Context(), p.Kernel, kernel.HolderCaller(), operation.InstallCard, args(ps, f))
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
	styles := []string{style}
	if x.Message == "" {
		var s strings.Builder
		if err := page.ExecuteTemplate(&s, "cardStyle", x); err != nil {
			p.Kernel.AnswerError(w, err)
			return
		}
		x.CardStyle = template.HTML(s.String())
		styles = append(styles, kernel.StyleSource(s.String()))
	}
	var b bytes.Buffer
	if err := page.Execute(&b, x); err != nil {
		p.Kernel.AnswerError(w, err)
		return
	}
	p.Kernel.HTML(w, status, b.Bytes(), styles...)
}
