// Package holder serves the pages of cards for their holders: the durable page of a card,
// the install link that leads to it, the form for a new card, and that for lost ones.
package holder

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"
	"golang.org/x/time/rate"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wallet"
	"punchcard/server/web"
	"punchcard/store"
)

// Config configures the pages.
type Config struct {
	Kernel  *kernel.Kernel
	Hosts   *kernel.Hosts   // whose pages may send the form
	Context context.Context // ends all streams
	Streams int             // at once
	Passes  *wallet.Passes
	Pushes  *wallet.Sender // nil: nothing is sent
}

// Pages serves the holder's pages.
type Pages struct {
	Config
	streams  *streams
	passLogs *rate.Limiter // of all phones
}

// New returns the pages.
func New(c Config) *Pages {
	p := &Pages{Config: c, streams: newStreams(c.Context, c.Streams), passLogs: rate.NewLimiter(rate.Every(time.Second), 60)}
	c.Kernel.Store().OnCards(p.streams.changed)
	return p
}

// Mount adds the pages to a router.
func (p *Pages) Mount(r *httprouter.Router) {
	handle := func(method, pattern string, h func(*visit) error) {
		p.Kernel.Handle(r, method, pattern, p.serve(h))
	}
	handle(http.MethodGet, "/i/:token", showLink)
	handle(http.MethodPost, "/i/:token/install", install)
	handle(http.MethodGet, "/c/:token", showCard)
	handle(http.MethodPost, "/c/:token/install", install)
	handle(http.MethodPost, "/c/:token/ask", ask)
	handle(http.MethodGet, "/c/:token/events", stream)
	handle(http.MethodGet, "/c/:token/push", pushKey)
	handle(http.MethodPost, "/c/:token/push", subscribe)
	handle(http.MethodDelete, "/c/:token/push", unsubscribe)
	handle(http.MethodGet, "/c/:token/card.pkpass", downloadPass)
	handle(http.MethodGet, "/c/:token/google", addToGoogle)
	handle(http.MethodGet, "/c/:token/manifest.webmanifest", showManifest)
	handle(http.MethodGet, "/c/:token/icon/:name", showIcon)
	handle(http.MethodGet, "/sw.js", showWorker)
	handle(http.MethodGet, "/join/:slug", showJoin)
	handle(http.MethodPost, "/join/:slug", join)
	handle(http.MethodGet, "/lost", showLost)
	handle(http.MethodPost, "/lost", findCards)
	vendor := func(method, pattern string, h func(*visit) error) {
		handle(method, pattern, func(v *visit) error {
			if err := h(v); err != nil && kernel.RedirectMoved(v.w, v.r, err) != nil {
				v.Kernel.AnswerError(v.w, err)
			}
			return nil
		})
	}
	phone := func(method, pattern string, h func(*visit) error) { vendor(method, "/wallet/apple/v1"+pattern, h) }
	phone(http.MethodPost, "/devices/:device/registrations/:type/:serial", register)
	phone(http.MethodDelete, "/devices/:device/registrations/:type/:serial", unregister)
	phone(http.MethodGet, "/devices/:device/registrations/:type", changedPasses)
	phone(http.MethodGet, "/passes/:type/:serial", readPass)
	phone(http.MethodPost, "/log", logPasses)
	vendor(http.MethodPost, "/wallet/google/callback", googleCallback)
}

// IsForm reports whether a request may be for a form of a holder's page, which checks the
// origin itself (see [kernel.Hosts.CheckFormOrigin]).
func IsForm(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return (r.Method == http.MethodPost || r.Method == http.MethodDelete) &&
		slices.Contains([]string{"i", "c", "join", "lost", "wallet"}, first)
}

// visit is a request for a page, or of its form.
type visit struct {
	*Pages
	*web.Printer
	w      http.ResponseWriter
	r      *http.Request
	params kernel.Params // what the path names, and the language of the page
}

// serve returns the handler of a page or a form.
func (p *Pages) serve(handle func(*visit) error) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
		p.Kernel.RequestID(w)
		v := &visit{Pages: p, w: w, r: r, params: kernel.ParamsOf(params), Printer: web.PrinterOf(r)}
		v.params["language"] = v.Lang()
		kernel.SecurityHeaders(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if err := handle(v); err != nil {
				v.refuse(err)
			}
		})).ServeHTTP(w, r)
	}
}

func (v *visit) token() string { return v.params["token"] }

// caller returns who makes the request: whoever has the link of a card or wants one.
func (v *visit) caller() kernel.Caller {
	c := kernel.HolderCaller()
	c.Address = v.Kernel.ClientAddress(v.r)
	return c
}

// speak has the page in the language of the query, else the best one for the browser, else that of
// a shop, and in the time zone of the shop.
func (v *visit) speak(shop store.Shop) {
	if web.ChosenLanguage(v.r) == "" && web.Match(v.r.Header.Get("Accept-Language")) == "" {
		v.Printer = web.PrinterFor(shop.Language)
	}
	v.Printer = v.In(store.Zone(shop.Timezone))
}

// withLanguage returns a path with the language that the query names.
func (v *visit) withLanguage(path string) string {
	if lang := web.ChosenLanguage(v.r); lang != "" {
		path += "?" + url.Values{"lang": {lang}}.Encode()
	}
	return path
}

// do runs an operation on what the path names, with fields.
func do[O any](v *visit, op *kernel.Operation, fields any) (O, error) {
	return run[O](v, op, kernel.Args{Params: v.params, Fields: fields})
}

// run runs an operation.
func run[O any](v *visit, op *kernel.Operation, in kernel.Input) (O, error) {
	return kernel.Do[O](v.r.Context(), v.Kernel, v.caller(), op, in)
}

// showLink answers an install link with the card and the form. A used link leads to the
// card's page.
func showLink(v *visit) error {
	h, err := do[store.HolderCard](v, operation.ShowHolderCard, nil)
	if err != nil {
		return err
	}
	if h.Card.InstalledAt.Valid {
		return v.redirect(v.withLanguage(pagePath(h.PageToken)))
	}
	return v.render(&h, "/i/"+v.token())
}

// showCard answers with the page of a card.
func showCard(v *visit) error {
	h, err := do[store.HolderCard](v, operation.ShowCardPage, nil)
	if err != nil {
		return err
	}
	return v.render(&h, pagePath(h.PageToken))
}

// pagePath returns the path of a card's page.
func pagePath(token string) string { return "/c/" + token }

// install answers a form, which the page sends, or JSON.
func install(v *visit) error {
	if err := v.Hosts.CheckFormOrigin(v.r); err != nil {
		return err
	}
	contentType, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if contentType != "application/x-www-form-urlencoded" {
		return answerJSON[store.InstallFields, store.Installation](v, http.StatusOK, operation.InstallCard)
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, kernel.SmallBody)
	if err := v.r.ParseForm(); err != nil {
		return store.InvalidField("platform", "invalid_format", "the form cannot be read")
	}
	f := store.InstallFields{Platform: store.Opt[string]{V: v.r.PostForm.Get("platform"), Set: true}}
	out, err := do[store.Installation](v, operation.InstallCard, f)
	if err != nil {
		return err
	}
	return v.redirect(v.withLanguage(pagePath(path.Base(out.CardURL))))
}

// answerJSON runs an operation on the JSON of the request and answers with its result. The error is nil.
func answerJSON[F, O any](v *visit, status int, op *kernel.Operation) error {
	handler := kernel.HandlerOf(status, kernel.SmallBody, func(_ *http.Request, _ httprouter.Params, f F) (O, error) {
		return do[O](v, op, f)
	})
	handler.Handle(v.Kernel)(v.w, v.r, nil)
	return nil
}

// redirect leads to a path. The error is nil.
func (v *visit) redirect(path string) error {
	v.w.Header().Set("Location", path)
	v.answer(http.StatusSeeOther, nil)
	return nil
}
