// Package dev contains what a fixture has and a real server has not: the control API
// below /dev, faults, the journal of requests and deliveries, receivers for webhooks,
// and a mailbox. See README.md in this folder. Package app puts the parts together.
package dev

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/mail/mailtext"
	"punchcard/server/openapi"
	"punchcard/server/operation"
	"punchcard/store"
)

// Mailbox keeps the mail that a fixture would send, in memory.
type Mailbox struct {
	mu         sync.Mutex
	mail       []store.Mail
	delivering sync.Mutex // held by Deliver
}

// Put adds a message.
func (m *Mailbox) Put(msg store.Mail) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mail = append(m.mail, msg)
}

// Control is the control API below /dev. It has no key: it exists only under
// "punchcard dev", on loopback.
type Control struct {
	Store  *store.Store
	Kernel *kernel.Kernel
	Clock  Clock
	Mail   *Mailbox
	Ready  *seed.Ready
	// Hosts decide the form of the cookies of sessions and tills.
	Hosts *kernel.Hosts
	// Reset gives the fixture the state of its start.
	Reset func() error
	// History does the same with a demo shop that had so many days of business until now. It is
	// nil if the fixture began with a seed.
	History func(days int) error
	// Samples returns the ids for the examples of the document.
	Samples func() openapi.Samples
	// Settle does what is due and returns the counts since the fixture's start.
	Settle func() (Settled, error)
	// Wipe overwrites what is left of erased rows in the file.
	Wipe func() error
	// Due returns when the next thing becomes due; ok is false if there is none.
	Due func() (at time.Time, ok bool, err error)
	// SetKeyLimit sets the requests per minute of a key, 0 for any number.
	SetKeyLimit func(key int64, perMinute int)
	// Context ends when the fixture stops or is reset.
	Context context.Context

	mu        sync.Mutex
	settled   Settled    // counts since the start as of the last settle; guarded by mu
	advancing sync.Mutex // makes simultaneous advances of the clock add up

	Journal   *Journal
	Faults    *Faults
	Receivers *Receivers
	Phones    *Phones
}

// Mount adds the control API to a router.
func (c *Control) Mount(r *httprouter.Router) {
	k := c.Kernel
	add := func(method, path string, h httprouter.Handle) { kernel.Register(r, method, path, k.Observed(path, h)) }
	for _, rt := range c.routes() {
		add(rt.Method, Prefix+rt.Path, rt.handle(k))
	}
	add(http.MethodGet, "/", c.start)
	add(http.MethodPost, "/dev/demo-card", c.demoCard)
	add(http.MethodPost, "/dev/demo-till", c.demoTill)
	add(http.MethodPost, "/dev/receiver/:id", c.Receivers.receive)
	add(http.MethodGet, "/dev/wallet/phones/:id/passes/:serial/picture", c.passPicture)
	add(http.MethodGet, "/dev/seed.schema.json", k.Static("application/schema+json", seed.Schema))
	add(http.MethodGet, "/dev/openapi.json", k.Static("application/json", func() []byte {
		return openapi.New(About, Routes(), k.Fields(), c.Ready.Origin+Prefix, c.Samples()).JSON()
	}))
}

// reset answers POST /dev/reset.
func (c *Control) reset(*http.Request, httprouter.Params, struct{}) (*seed.Ready, error) {
	return c.Ready, c.Reset()
}

// operator returns the caller of the control API.
func operator(shop int64) kernel.Caller { return kernel.OperatorCaller("dev", shop) }

// resolveShop returns the key of the shop that a request names, by default that
// of the demo shop.
func (c *Control) resolveShop(id store.Opt[string]) (int64, error) {
	if !id.Set {
		return c.Ready.Shop(), nil
	}
	return c.Store.ResolveShop(id.V)
}

type shopAnswer struct {
	ShopID     string `json:"shop_id"`
	APIKey     string `json:"api_key"`
	TillToken  string `json:"till_token"`
	LocationID string `json:"location_id"`
}

// createShop is the operation that creates a shop with one location, a key of
// every scope and a till.
var createShop = kernel.NewOperation(kernel.Operation{
	ID:      "createTestShop",
	Callers: kernel.Callers{Person: kernel.Operator},
	Write: kernel.Write(func(tx *store.Tx, _ *kernel.Call, f store.ShopFields) (a shopAnswer, err error) {
		key, shop, err := tx.CreateShop(seed.ShopFields(f))
		if err != nil {
			return a, err
		}
		loc, err := tx.CreateLocation(key, seed.LocationFields(store.LocationFields{}), store.StaffPIN{})
		if err != nil {
			return a, err
		}
		_, secret, err := tx.CreateKey(key, store.KeyFields{Name: store.Given("Key of every scope")})
		if err != nil {
			return a, err
		}
		_, token, err := tx.CreateDevice(key, store.NewDevice{LocationID: loc.ID, Name: "Till", AcceptsCardIDs: true})
		return shopAnswer{shop.ID, secret, token, loc.ID}, err
	}),
})

type keyBody struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	store.KeyFields
}

// keyLimitBody is the body of PATCH /dev/keys/{id}.
type keyLimitBody struct {
	RateLimit store.Opt[int64] `json:"rate_limit_per_minute" req:"true" min:"0" max:"1000000" doc:"0: no limit."`
}

// keyLimitAnswer is the answer of PATCH /dev/keys/{id}.
type keyLimitAnswer struct {
	ID        string `json:"id"`
	RateLimit int64  `json:"rate_limit_per_minute" doc:"0: no limit."`
}

// setKeyLimit answers PATCH /dev/keys/{id}: it gives a key a rate limit of its own, from its
// next request on, and a full bucket. Limits are kept in memory, as buckets are.
func (c *Control) setKeyLimit(_ *http.Request, p httprouter.Params, b keyLimitBody) (a keyLimitAnswer, err error) {
	id := p.ByName("id")
	if _, err := c.Store.Owner(store.KindKey, id); err != nil {
		return a, err
	}
	key, _ := c.Store.Key(store.KindKey, id) // it is the id of a key: Owner has found it
	c.SetKeyLimit(key, int(b.RateLimit.V))
	return keyLimitAnswer{id, b.RateLimit.V}, nil
}

type locationBody struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	store.LocationFields
}

type staffBody struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	operation.StaffFields
}

// deviceFields returns the fields of a new device of the fixture: those of f, and
// that it accepts card ids, so that tests need not read the codes of cards.
func deviceFields(f operation.DeviceFields) operation.DeviceFields {
	f.AcceptCardIDs = store.Given(f.AcceptCardIDs.Or(true))
	return f
}

type auditQuery struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	store.PageQuery
}

type emailsAnswer struct {
	Data []email `json:"data"`
}

type email struct {
	To      string     `json:"to"`
	Subject string     `json:"subject"`
	Text    string     `json:"text"`
	CardID  string     `json:"card_id"`
	At      store.Time `json:"at"`
}

// emails answers GET /dev/emails. Messages about cards that were erased are dropped
// first.
func (c *Control) emails(*http.Request, httprouter.Params, struct{}) (a emailsAnswer, err error) {
	if err := c.Mail.Deliver(c.Store); err != nil {
		return a, err
	}
	erased, err := erasedCards(c.Store)
	if err != nil {
		return a, err
	}
	c.Mail.mu.Lock()
	defer c.Mail.mu.Unlock()
	c.Mail.dropErased(c.Store, erased)
	for _, m := range c.Mail.mail {
		a.Data = append(a.Data, email{m.To, mailtext.Subject(m), mailtext.Text(m), m.CardID, m.At})
	}
	return a, nil
}
