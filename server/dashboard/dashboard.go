// Package dashboard serves the pages on which people sign in and run their shops. The
// server renders them, and they work without JavaScript. Each form is bound to an
// operation, which has every rule; a page only shows what the operations answer.
//
// dashboard.go says how pages and forms are bound, visit.go what a handler gets,
// form.go how a form becomes the input of an operation, account.go is about signing in,
// and the other files have the pages of one subject each, whose templates are in pages.
package dashboard

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/web"
)

//go:embed pages/*.html
var pageFiles embed.FS

// Config has what the pages need of the server.
type Config struct {
	Kernel *kernel.Kernel
	// Hosts are those whose pages may send forms. Their URLs and InsecureCookies decide the session's
	// cookie; see [kernel.CookieFor].
	Hosts           *kernel.Hosts
	InsecureCookies bool
	// Context ends the streams of events.
	Context context.Context
	Streams int // at once; further pages are read again from time to time
	// Status returns what only the process itself knows; see [Status].
	Status func() Status
	// Mails says that links can be mailed. Otherwise no page offers it.
	Mails bool
	// Fixture says that the server is for tests, whose links no phone opens.
	Fixture bool
	// CustomHeaders says that deliveries have the custom headers of webhooks.
	CustomHeaders bool
	// Clients returns how each client of assistants is set up with the server's origin and a key.
	Clients func(origin, key string) []Client
}

// Pages serves the dashboard.
type Pages struct {
	Config
	templates *web.Templates
	sessions  *kernel.Sessions
	streams   *streams
}

// New returns the pages.
func New(c Config) *Pages {
	return &Pages{
		Config:    c,
		templates: pageTemplates(),
		sessions:  kernel.NewSessions(c.Kernel.Store()),
		streams:   newStreams(c.Context, c.Kernel.Store(), c.Streams),
	}
}

// pageTemplates returns the templates of all pages.
var pageTemplates = web.Pages(pageFiles)

// Mount returns a handler of the pages, which gives all other requests to next. The first
// page with a slash at its end, as people type it, leads to that without.
func (p *Pages) Mount(next http.Handler) http.Handler {
	return p.Kernel.MountLater(next, segments(), func(r *httprouter.Router) {
		for _, b := range bindings() {
			if b.get != nil {
				p.Kernel.Handle(r, http.MethodGet, b.pattern, p.serve(b, b.get))
			}
			if b.post != nil {
				p.Kernel.Handle(r, http.MethodPost, b.pattern, p.serve(b, b.post))
			}
		}
		p.Kernel.Handle(r, http.MethodGet, "/dashboard/", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
			web.SetHeaders(w.Header())
			w.Header().Set("Location", "/dashboard")
			w.WriteHeader(http.StatusSeeOther)
		})
	})
}

// segments are the first segments of the paths of all pages and forms.
var segments = sync.OnceValue(func() (list []string) {
	for _, b := range bindings() {
		first, _, _ := strings.Cut(b.pattern[1:], "/")
		list = append(list, first)
	}
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
})

// binding binds a page, a form or both to their pattern.
type binding struct {
	pattern string
	get     func(*visit) error // shows the page; nil: there is none
	post    func(*visit) error // carries the form out; nil: there is none
	public  bool               // for visitors who are not signed in, too
	// shopless makes it available to people without a shop, too.
	shopless bool
	// upload leaves the form unread, until the action reads its file.
	upload bool
}

// bindings returns all pages and forms.
func bindings() []binding {
	var all []binding
	for _, subject := range [][]binding{
		accountPages, activityPages, assistantPages, cardExportPages, cardFormPages, contactPages, cardListPages, cardPages,
		cardPrintPages, customerPages, enrolmentPages, exportPages, importPages, keyPages, healthPages, locationPages,
		logoPages, mergePages, moneyPages, peoplePages, prizePages, runPages,
		programPages, programStatePages, settingsPages, setupPages, signInPages, reportPages, staffPages,
		statisticsPages, tillPages, todayPages, userPages, walletPages, webhookPages,
	} {
		all = append(all, subject...)
	}
	return all
}

// page binds a page.
func page(pattern string, show func(*visit) error) binding {
	return binding{pattern: pattern, get: show}
}

// about returns a page about what find returns.
func about[T any](find func(*visit) (T, error), show func(*visit, T) error) func(*visit) error {
	return func(v *visit) error {
		found, err := find(v)
		if err != nil {
			return err
		}
		return show(v, found)
	}
}

// shows returns a page of what an operation answers about the resource of the path.
func shows[O any](op *kernel.Operation, show func(*visit, O) error) func(*visit) error {
	return about(reader[O](op), show)
}

// post binds a form to its operation.
func post(pattern string, a action) binding {
	if a.done != "" {
		says(a.says(), a.done)
	}
	return binding{pattern: pattern, post: a.run, upload: a.upload != ""}
}

// openForm binds a form and its page, which also those get who may not invoke the operation. It is
// shown again with what is wrong.
func openForm(pattern string, show func(*visit) error, a action) binding {
	a.again = show
	b := post(pattern, a)
	b.get = show
	return b
}

// form binds a form and its page, which only those get who may invoke the operation.
func form(pattern string, show func(*visit) error, a action) binding {
	b := openForm(pattern, show, a)
	b.get = func(v *visit) error {
		if err := v.require(a.op); err != nil {
			return err
		}
		return show(v)
	}
	return b
}

// edit binds a form about what find returns, as form does.
func edit[T any](pattern string, find func(*visit) (T, error), show func(*visit, T) error, a action) binding {
	return form(pattern, about(find, show), a)
}

// confirm binds a change of what find returns, and the page that asks before it. Unless the action
// says that the page asks again, what is wrong is a page of its own.
func confirm[T any](pattern string, find func(*visit) (T, error), ask func(*visit, T) web.ConfirmPage, a action) binding {
	b := edit(pattern, find, func(v *visit, found T) error {
		c := ask(v, found)
		if c.Cancel == "" {
			c.Cancel = a.path(v)
		}
		return v.confirm(c)
	}, a)
	if !a.asksAgain {
		b.post = a.run
	}
	return b
}

// nothing is what a question is about that needs to know nothing.
func nothing(*visit) (none kernel.None, err error) { return none, nil }

// publicForm binds a form and its page for visitors who are not signed in. They call operations as
// a visitor, also if they are signed in.
func publicForm(pattern string, show func(*visit) error, a action) binding {
	b := openForm(pattern, show, a)
	b.public = true
	return b
}

// anywhere makes pages and forms available to people who belong to no shop.
func anywhere(list ...binding) []binding {
	for i := range list {
		list[i].shopless = true
	}
	return list
}
