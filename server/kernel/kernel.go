// Package kernel is what all faces of the server share. Whatever a caller can do
// is an [Operation]; [Kernel.Invoke] authorizes the caller, validates the
// fields, makes the change once for each idempotency key, and remembers the
// answer. A face only binds operations: to routes ([Route]), commands or forms.
//
// A write over HTTP goes this way: Mount's handler calls serve, which has the [Guard] identify
// the caller and count the request; Invoke authorizes the caller (authorize), locks and
// recalls the idempotency key (writeOnce), validates the fields and hands the operation to
// store.Write (commit); the operation's function runs in the store's transaction, in which the
// answer is remembered too; serve renders the answer.
package kernel

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/store/password"
)

// Config holds the settings of a Kernel.
type Config struct {
	IdempotencyKeyMaxLength int           // maximum, in characters
	IdempotencyWait         time.Duration // how long a call waits for another with the same key
	Fields                  wire.Limits   // the bounds of fields that are settings
	Log                     *slog.Logger  // nil: nothing is logged
	// CheckTarget returns what is wrong with a URL to which requests are to be
	// sent, or nil; its Field is url. It may use the network. Nil allows all https
	// URLs.
	CheckTarget func(ctx context.Context, url string) *store.Detail
	// RequestSeed is the number of the first request id. It must be random so that
	// ids of two runs differ, unless ids are to be deterministic.
	RequestSeed uint64
	// Observe is called at the start of each request, and the function that it
	// returns at the end. route is the pattern, or empty if no route matches.
	// Observe may be nil.
	Observe func(method, route string) (end func(status int))
	// Passwords hashes the passwords of people. Nil: password.Shared.
	Passwords *password.Hasher
	// TestMail sends a message at once. Nil: there is no mail server.
	TestMail func(context.Context, store.Mail) error
	// Backups are those of the store. Nil: the server makes none.
	Backups Backups
	// AccessLog logs a line for each request.
	AccessLog bool
	// ErrorPage answers a request that no route handles with a page, or returns false:
	// the answer is then JSON. It may be nil.
	ErrorPage func(w http.ResponseWriter, r *http.Request, e *Error) bool
	// PassIssuer is the authority that issues certificates for Apple Wallet. Nil: that of Apple.
	PassIssuer *x509.Certificate
	// Google calls Google Wallet. Nil: the server sends nothing.
	Google GoogleWallet
	// Fixture says that no phone of a customer opens the server's URLs, so that they may be of this machine.
	Fixture bool
	// TrustedProxies are the networks whose X-Forwarded-For is used.
	TrustedProxies []netip.Prefix
}

// GoogleWallet calls Google Wallet.
type GoogleWallet interface {
	// Check makes the class of a program with what a shop wants to set up.
	Check(ctx context.Context, w store.GoogleWallet, sample *store.Pass) error
	// Verify returns what a callback says, if Google has signed it.
	Verify(ctx context.Context, body []byte) (store.GoogleEvent, error)
}

// Kernel invokes operations on a store, and serves the routes that bind them.
type Kernel struct {
	st       *store.Store
	conf     Config
	keyLocks *keyLocks
	pins     *staffPINs
	staff    *staffSessions
	codes    *shortCodes
	searches searches
	uses     uses
	requests atomic.Uint64 // number of the last request id

	routeMu sync.Mutex
	routes  []string // method and pattern
	later   []func() // each adds the routes of a MountLater

	untrustedProxy atomic.Bool // see UntrustedProxy
}

// New returns a kernel that works on a store.
func New(st *store.Store, conf Config) *Kernel {
	conf.Log = cmp.Or(conf.Log, slog.New(slog.DiscardHandler))
	conf.Passwords = cmp.Or(conf.Passwords, password.Shared)
	if conf.CheckTarget == nil {
		conf.CheckTarget = requireHTTPS
	}
	k := &Kernel{
		st:       st,
		conf:     conf,
		keyLocks: newKeyLocks(conf.IdempotencyWait),
		pins:     newStaffPINs(),
		staff:    &staffSessions{all: map[[32]byte]*staffSession{}},
		codes:    &shortCodes{devices: attemptsByDevice{}},
	}
	k.requests.Store(conf.RequestSeed &^ (1 << 63))
	return k
}

// requireHTTPS requires an https URL, since other URLs would send secrets
// unencrypted.
func requireHTTPS(_ context.Context, target string) *store.Detail {
	if u, err := url.Parse(target); err != nil || u.Scheme != "https" {
		return &store.Detail{Field: "url", Code: wire.CodeInvalidValue, Message: "must be an https URL"}
	}
	return nil
}

// Store returns the store that the kernel works on.
func (k *Kernel) Store() *store.Store { return k.st }

// TakeUses returns the times of the last requests of keys and devices since it was
// called before. A request over the rate limit counts too.
func (k *Kernel) TakeUses() map[store.Actor]store.Time { return k.uses.take() }

// NoteUse notes a request of a caller on a face that has no [Route].
func (k *Kernel) NoteUse(c *Caller, now store.Time) { k.uses.note(c, now) }

// Log returns the log of the server.
func (k *Kernel) Log() *slog.Logger { return k.conf.Log }

// Fields returns the bounds of fields that are settings.
func (k *Kernel) Fields() wire.Limits { return k.conf.Fields }

// addRoute adds to what Routes returns.
func (k *Kernel) addRoute(method, pattern string) {
	k.routeMu.Lock()
	defer k.routeMu.Unlock()
	k.routes = append(k.routes, method+" "+pattern)
}

// Routes returns the method and pattern of all routes, such as "GET /i/:token".
func (k *Kernel) Routes() []string {
	for _, add := range k.later {
		add()
	}
	k.routeMu.Lock()
	defer k.routeMu.Unlock()
	return slices.Clone(k.routes)
}
