package dashboard

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/static"
	"punchcard/server/web"
	"punchcard/store"
)

// visit is a request for a page, or of a form, with the person who makes it.
type visit struct {
	*Pages
	*web.Printer
	w        http.ResponseWriter
	r        *http.Request
	params   kernel.Params // the ids in the path
	caller   kernel.Caller
	person   *store.SessionIdentity // nil: nobody is signed in
	form     url.Values             // of a POST
	shown    *web.Form              // the form of the page
	file     []byte                 // of an upload
	fileName string
	// formStatus is the status of the refusal of a form that is shown again.
	formStatus int
	// compress sends the page compressed. It is for large pages without secrets.
	compress bool
}

// serve returns the handler of a page or a form, which handle answers. If the store's epoch changes while it
// runs, the person is identified again and the handler repeated, so that no page shows
// what its reader may no longer see.
func (p *Pages) serve(b binding, handle func(*visit) error) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
		p.Kernel.RequestID(w)
		v := &visit{Pages: p, w: w, r: r, params: kernel.ParamsOf(params), Printer: web.PrinterOf(r)}
		err := v.readForm(b)
		if err == nil {
			err = v.run(b, handle)
		}
		if err != nil {
			v.refuse(err)
		}
	}
}

// run identifies the person and calls the handler.
func (v *visit) run(b binding, handle func(*visit) error) error {
	return v.identified(b, func() error {
		if v.withoutShop() && !b.shopless {
			// No operation confirms the identity, which may be from before the person got a shop.
			if err := v.Kernel.Confirm(&v.caller); err != nil {
				return err
			}
			return showNoShop(v)
		}
		return handle(v)
	})
}

// identified identifies the person and calls f, and does both again, with a new form of the page, if the
// store's epoch changes meanwhile.
func (v *visit) identified(b binding, f func() error) error {
	for {
		v.shown = v.newForm(nil)
		err := v.identify(b)
		if err == nil {
			err = f()
		}
		if !errors.Is(err, store.ErrEpoch) || v.r.Context().Err() != nil {
			return err
		}
		v.sessions.Forget()
	}
}

// identify sets the caller: the person whose session the cookie names, or a visitor on
// public pages.
func (v *visit) identify(b binding) error {
	name, _, ok := v.cookie()
	if b.public {
		v.caller = kernel.VisitorCaller(v.Kernel.ClientAddress(v.r))
		v.caller.Agent = v.r.UserAgent()
		v.caller.BrowserCookie = v.browserCookie()
		return nil
	}
	c, err := v.r.Cookie(name)
	if !ok || err != nil {
		return kernel.Unauthenticated("Sign in first.")
	}
	if v.caller, err = v.sessions.Identify(c.Value, v.Kernel.ClientAddress(v.r), v.r.UserAgent()); err != nil {
		return err
	}
	v.caller.BrowserCookie = v.browserCookie()
	v.person = v.caller.Session
	v.Printer = web.PrinterFor(v.person.Language).In(v.zone())
	return nil
}

// shop returns the shop that is looked at, or the zero value if there is none.
func (v *visit) shop() store.ShopRole {
	for _, sr := range v.person.Shops {
		if sr.Shop == v.person.Shop {
			return sr
		}
	}
	return store.ShopRole{}
}

// zone returns the time zone of the shop.
func (v *visit) zone() *time.Location {
	zone, err := time.LoadLocation(v.shop().Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// cookie returns the name of the session's cookie and whether it is Secure. ok is false
// where no cookie would be safe.
func (v *visit) cookie() (name string, secure, ok bool) {
	return kernel.CookieFor(v.Hosts.URLOf(v.r), v.InsecureCookies, kernel.IsLoopback(v.r))
}

// browserCookie returns the cookie by which the browser is known, empty if it is not.
func (v *visit) browserCookie() string {
	name, _, ok := v.cookie()
	c, err := v.r.Cookie(name + kernel.BrowserSuffix)
	if !ok || err != nil {
		return ""
	}
	return c.Value
}

// id returns the id in the path.
func (v *visit) id() string { return v.params["id"] }

// find returns the item of a list whose id is that of the path, or a refusal with the given message. err
// is what reading the list has returned.
func find[T any](v *visit, all []T, err error, id func(T) string, missing string) (item T, _ error) {
	if err != nil {
		return item, err
	}
	i := slices.IndexFunc(all, func(t T) bool { return id(t) == v.id() })
	if i < 0 {
		return item, kernel.Refuse(store.NotFound, missing)
	}
	return all[i], nil
}

// allows reports whether the person has a role or one above it.
func (v *visit) allows(role kernel.Role) bool { return v.caller.Role >= role }

// now returns the server's time.
func (v *visit) now() store.Time { return v.Kernel.Store().Now() }

// local returns the server's time in the time zone of the shop.
func (v *visit) local() time.Time { return v.now().Std().In(v.zone()) }

// today returns the day of the shop's calendar.
func (v *visit) today() string { return v.local().Format(time.DateOnly) }

// dateTime returns a time, or that it never was.
func (v *visit) dateTime(t store.Null[store.Time]) string {
	if !t.Valid {
		return v.T("Never")
	}
	return v.DateTime(t.V.Std())
}

// with returns the input of an operation on the resource of the path with fields.
func (v *visit) with(fields any) kernel.Args {
	return kernel.Args{Params: v.params, Fields: fields}
}

// query returns such an input with the fields of a query.
func (v *visit) query(fields url.Values) kernel.Query {
	return kernel.Query{Params: v.params, Fields: fields}
}

// withID returns the input of an operation on a resource.
func withID(id string) kernel.Args { return kernel.Args{Params: map[string]string{"id": id}} }

// read runs an operation for a page: with the given input, or on the resource of the path.
func read[O any](v *visit, op *kernel.Operation, in ...kernel.Input) (O, error) {
	in = append(in, v.query(nil))
	return kernel.Do[O](v.r.Context(), v.Kernel, v.caller, op, in[0])
}

// readAll reads all pages of a list.
func readAll[T any](v *visit, op *kernel.Operation) (all []T, err error) {
	fields := url.Values{"limit": {"100"}}
	for {
		page, err := read[store.Page[T]](v, op, v.query(fields))
		if err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.NextCursor.Valid {
			return all, nil
		}
		fields.Set("cursor", page.NextCursor.V)
	}
}

// reader returns what reads the answer of an operation on the resource of the path.
func reader[O any](op *kernel.Operation) func(*visit) (O, error) {
	return func(v *visit) (O, error) { return read[O](v, op) }
}

// list reads a page of a list with the fields of a query. What is wrong with them is said in the
// form of the filter, if there is one.
func list[T any](v *visit, op *kernel.Operation, fields url.Values, filter *web.Form) ([]T, web.Pager, error) {
	page, err := read[store.Page[T]](v, op, v.query(fields))
	if err != nil && !v.faultyFilter(filter, err) {
		return nil, web.Pager{}, err
	}
	return page.Data, v.pager(len(page.Data), page.NextCursor), nil
}

// render answers with a page. Its status is that of the refusal if a form is shown again.
func (v *visit) render(name string, data any) error {
	return v.renderAs(cmp.Or(v.formStatus, http.StatusOK), name, data)
}

// renderAs answers with a page and a status.
func (v *visit) renderAs(status int, name string, data any) error {
	if v.formStatus != 0 { // the summary of errors shows labels, which are set by the fields below it: render them first
		if err := v.templates.Render(io.Discard, name, data, v.Printer); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := v.templates.Render(&b, name, data, v.Printer); err != nil {
		return err
	}
	var styles []string
	if framed, ok := data.(interface{ Styles() []string }); ok {
		styles = framed.Styles()
	}
	v.answer(status, b.Bytes(), styles...)
	return nil
}

// redirect answers a form with the path of the page to go to. done is the word for what
// was done, which that page says. The error is nil.
func (v *visit) redirect(path, done string) error {
	if done != "" {
		path += "?done=" + url.QueryEscape(done)
	}
	v.w.Header().Set("Location", path)
	v.answer(http.StatusSeeOther, nil)
	return nil
}

// answer writes a page, which may have forms, with the headers of pages. styles are the texts of its style
// elements.
func (v *visit) answer(status int, body []byte, styles ...string) {
	if v.compress {
		body = v.compressed(body)
	}
	web.SetHeaders(v.w.Header(), styles...)
	web.AllowForms(v.w.Header())
	web.Write(v.w, status, body)
}

// compressed compresses a page for browsers that accept that.
func (v *visit) compressed(body []byte) []byte {
	v.w.Header().Set("Vary", "Accept-Encoding")
	if !static.AcceptsGzip(v.r.Header) {
		return body
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	z.Write(body)
	z.Close()
	v.w.Header().Set("Content-Encoding", "gzip")
	return b.Bytes()
}
