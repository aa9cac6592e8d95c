// Package mcp binds operations to the Model Context Protocol, by which AI assistants use a
// shop with a key of their own: tools, resources and a prompt at POST /mcp.
//
// A request takes this way: Face.serve checks it in the order of guard.go, parses the message
// strictly, so that it has one meaning, and hands it to the SDK. The SDK calls a tool's
// function, which invokes operations. Every text of an answer goes through clean.go. README.md
// is for those who set an assistant up.
package mcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/julienschmidt/httprouter"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// Config holds the settings of a Face.
type Config struct {
	Kernel    *kernel.Kernel
	PerMinute int // counted calls of a key per minute; 0: no limit
	PerDay    int // counted calls of a key on a day in UTC; 0: no limit
	Version   string
}

// Face is the endpoint.
type Face struct {
	Config
	st     *store.Store
	keys   *kernel.Keys
	calls  *kernel.Limiter // of counted methods
	others *kernel.Limiter // of all others
	days   budget

	once    sync.Once
	handler *sdk.StreamableHTTPHandler
	mu      sync.Mutex
	servers map[string]*sdk.Server // by scopes
}

// othersPerMinute is how many requests that are not counted a key may make per minute.
const othersPerMinute = 300

// New returns the endpoint.
func New(c Config) *Face {
	f := &Face{
		Config:  c,
		st:      c.Kernel.Store(),
		keys:    kernel.NewKeys(c.Kernel.Store(), keys),
		calls:   kernel.NewLimiter(c.PerMinute),
		others:  kernel.NewLimiter(0),
		servers: map[string]*sdk.Server{},
	}
	if c.PerMinute > 0 {
		f.others = kernel.NewLimiter(max(othersPerMinute, c.PerMinute))
	}
	f.days = budget{st: f.st, max: c.PerDay, days: map[store.KeyDay]*count{}}
	return f
}

// SetLimit gives a key a limit of its own for counted calls, 0 for none.
func (f *Face) SetLimit(key int64, perMinute int) { f.calls.Set(key, perMinute) }

// Mount adds the endpoint to a router.
func (f *Face) Mount(r *httprouter.Router) {
	f.Kernel.Handle(r, http.MethodPost, Path, func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) { f.serve(w, r) })
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodOptions, http.MethodPut, http.MethodPatch} {
		kernel.Register(r, method, Path, func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { f.refuseMethod(w) })
	}
}

// sdkHandler returns the SDK's handler, which is made with the first request so that a
// server without one needs no memory for it.
func (f *Face) sdkHandler() http.Handler {
	f.once.Do(func() {
		f.handler = sdk.NewStreamableHTTPHandler(
			func(r *http.Request) *sdk.Server { return f.serverFor(sessionOf(r.Context()).caller.Key.Scopes) },
			&sdk.StreamableHTTPOptions{
				Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: 2 * kernel.MaxBody,
				PropagateRequestCancellation: true,
			},
		)
	})
	return f.handler
}

// session is one authenticated request.
type session struct {
	*Face
	w      http.ResponseWriter // only for the request id
	r      *http.Request
	caller kernel.Caller
	client string // what the client says it is, cleaned
	left   map[string]int
}

type sessionKey struct{}

func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf returns the session that a context carries.
func sessionOf(ctx context.Context) *session { s, _ := ctx.Value(sessionKey{}).(*session); return s }
