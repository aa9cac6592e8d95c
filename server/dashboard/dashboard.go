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
	"io/fs"
	"net/http"
	"net/netip"
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
	Hosts  *kernel.Hosts // whose pages may send forms
	// PublicURL and InsecureCookies decide the session's cookie; see [kernel.CookieFor].
	PublicURL       string
	InsecureCookies bool
	// Client returns the address of a request's client, or the zero Addr if it is not
	// known.
	Client func(*http.Request) netip.Addr
	// Context ends the streams of events.
	Context context.Context
	// Status returns what only the process itself knows; see [Status].
	Status func() Status
	// Mails says that links can be mailed. Otherwise no page offers it.
	Mails bool
	// Fixture says that the server is for tests, whose links no phone opens.
	Fixture bool
	// CustomHeaders says that deliveries have the custom headers of webhooks.
	CustomHeaders bool
	Receivers     func() []Receiver // examples of programs that receive webhooks
	Assistant     Assistant
}

// Receiver is an example of a program that receives webhooks.
type Receiver struct {
	Language string
	File     string
	Run      string // the command that runs it, after its environment variables
	Text     string
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
		templates: templates(),
		sessions:  kernel.NewSessions(c.Kernel.Store()),
		streams:   newStreams(c.Context, c.Kernel.Store()),
	}
}

// templates are those of all pages, which all servers of a process share.
var templates = sync.OnceValue(func() *web.Templates {
	files, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		panic(err) // impossible: the folder is embedded
	}
	t, err := web.Parse(files)
	if err != nil {
		panic(err) // impossible: the tests parse them
	}
	return t
})

// Mount returns a handler of the pages, which gives all other requests to next. The first
// page with a slash at its end, as people type it, leads to that without.
func (p *Pages) Mount(next http.Handler) http.Handler {
	return p.Kernel.MountLater(next, segments(), func(r *httprouter.Router) {
		for _, b := range bindings() {
			p.Kernel.Handle(r, b.method, b.pattern, p.serve(b))
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

// binding binds a page or a form to its pattern.
type binding struct {
	method  string
	pattern string
	public  bool // for visitors who are not signed in, too
	// shopless makes it available to people without a shop, too.
	shopless bool
	// upload leaves the form unread, until the handler calls readUpload.
	upload bool
	handle func(*visit) error
}

// bindings returns all pages and forms.
func bindings() []binding {
	var all []binding
	for _, subject := range [][]binding{
		accountPages, activityPages, assistantPages, cardExportPages, cardFormPages, cardListPages, cardPages,
		cardPrintPages, enrolmentPages, keyPages, healthPages, locationPages, logoPages, peoplePages, prizePages,
		programPages, programStatePages, settingsPages, setupPages, signInPages, reportPages, staffPages,
		statisticsPages, tillPages, todayPages, userPages, webhookPages,
	} {
		all = append(all, subject...)
	}
	return all
}

// page binds a page.
func page(pattern string, show func(*visit) error) binding {
	return binding{method: http.MethodGet, pattern: pattern, handle: show}
}

// publicly makes a page or a form available to visitors who are not signed in. They call
// operations as a visitor, also if they are signed in.
func publicly(b binding) binding {
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
