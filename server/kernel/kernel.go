// Package kernel is what all faces of the server share. Whatever a caller can do
// is an [Operation]; [Kernel.Invoke] authorizes the caller, validates the
// fields, makes the change once for each idempotency key, and remembers the
// answer. A face only binds operations: to routes ([Route]), commands, forms or
// tools.
//
// A write over HTTP takes this way: Mount's handler calls serve, which has the
// [Guard] identify the caller and count the request; Invoke authorizes the caller
// (authorize), locks and recalls the idempotency key (writeOnce), validates the
// fields and hands the operation to store.Write (commit); the operation's function
// runs in the store's transaction, in which the answer is remembered too; serve
// renders the answer.
package kernel

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"punchcard/server/wire"
	"punchcard/store"
)

// Config is what the kernel takes from the deployment.
type Config struct {
	IdempotencyKeyMaxLength int           // characters
	IdempotencyWait         time.Duration // how long a call waits for one with the same key
	Fields                  wire.Limits   // the named bounds of fields
	Log                     *slog.Logger  // nil: nothing is logged
	// Targets tells what is wrong with a URL that requests would be sent to; it
	// may ask the network. Nil: any https URL is taken.
	Targets func(ctx context.Context, url string) *store.Detail
	// RequestSeed begins the numbering of request ids. Ids of two runs must
	// not meet, so it is random unless ids are to be deterministic.
	RequestSeed uint64
	// Observe is told of the beginning of each request, and its result of the
	// status. route is the pattern; empty where none fits. Nil: nobody is.
	Observe func(method, route string) (end func(status int))
	// AccessLog logs a line for each request.
	AccessLog bool
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
}

// Kernel invokes operations on a store, and serves the routes that bind them.
type Kernel struct {
	st       *store.Store
	conf     Config
	inFlight *inFlight
	pins     *staffPINs
	serial   atomic.Uint64 // of request ids
	routes   []string      // as mounted
}

// New returns a kernel on a store.
func New(st *store.Store, conf Config) *Kernel {
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	k := &Kernel{st: st, conf: conf, inFlight: newInFlight(conf.IdempotencyWait), pins: newStaffPINs()}
	k.serial.Store(conf.RequestSeed &^ (1 << 63))
	return k
}

// Seed makes a random start for request ids of 8 random bytes.
func Seed(b [8]byte) uint64 { return binary.BigEndian.Uint64(b[:]) >> 1 }

// Store returns the store that the kernel works on.
func (k *Kernel) Store() *store.Store { return k.st }

// Routes returns method and pattern of each route that was mounted, such as
// "GET /i/:token".
func (k *Kernel) Routes() []string { return slices.Clone(k.routes) }
