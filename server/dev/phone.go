package dev

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wallet/wallettest"
	"punchcard/server/web"
	"punchcard/store"
)

// Bounds of the phones. A pass has some 100 kB.
const (
	maxPhones = 50
	maxPasses = 10 // of one phone
)

// platformGoogle is the platform of a phone with Google Wallet.
const platformGoogle = "google"

// Phones are phones with wallets in the server itself, and the stand-ins of the service that wakes them and of Google Wallet. They
// know the server by its URLs alone, as real ones do. A stand-in starts when it is first needed, since the start of a fixture must be
// fast.
type Phones struct {
	ctx    context.Context // of their requests; ends when the fixture stops or is reset
	origin string
	rand   io.Reader // source of ids
	client *http.Client
	apns   func() *wallettest.APNs
	google func() *wallettest.Google

	mu      sync.Mutex
	list    []*phone
	closers []func() // end the services that run
}

// phone is one of the phones.
type phone struct {
	wallet       // whose labels of passes are the ids of cards
	id, platform string
}

// wallet is a *wallettest.Phone or a *wallettest.GooglePhone.
type wallet interface {
	Add(ctx context.Context, url, label string) (wallettest.HeldPass, error)
	State() wallettest.PhoneState
}

// NewPhones returns an empty set of phones for the server at an origin. Their requests end with ctx.
func NewPhones(ctx context.Context, origin string, rand io.Reader) *Phones {
	ps := &Phones{ctx: ctx, origin: origin, rand: rand}
	ps.client = &http.Client{Transport: &ownServer{origin: func() string { return origin }}, Timeout: 30 * time.Second}
	ps.apns = sync.OnceValue(func() *wallettest.APNs {
		a := wallettest.NewAPNs()
		a.Wake = ps.wake
		ps.whenClosed(a.Close)
		return a
	})
	ps.google = sync.OnceValue(func() *wallettest.Google {
		g := wallettest.NewDemoGoogle(ps.client)
		g.Context = ctx
		ps.whenClosed(g.Close)
		return g
	})
	return ps
}

func (ps *Phones) whenClosed(do func()) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.closers = append(ps.closers, do)
}

// ownServer sends all requests to one server, whatever URL they have.
type ownServer struct {
	origin func() string
	http.Transport
}

func (t *ownServer) RoundTrip(r *http.Request) (*http.Response, error) {
	own, err := url.Parse(t.origin())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, own.Scheme, own.Host
	return t.Transport.RoundTrip(r)
}

// Close ends the stand-ins and the connections of the phones. The context of their requests must have ended.
func (ps *Phones) Close() {
	ps.mu.Lock()
	all := ps.closers
	ps.closers = nil
	ps.mu.Unlock()
	for _, end := range all {
		end()
	}
	ps.client.CloseIdleConnections()
}

// ApplePush returns the URL and the authorities of the service that wakes the phones.
func (ps *Phones) ApplePush() (url string, roots *x509.CertPool) {
	a := ps.apns()
	return a.URL, a.Roots
}

// GoogleTransport returns what sends each request to the stand-in of Google Wallet, which the first one starts.
func (ps *Phones) GoogleTransport() http.RoundTripper {
	return &ownServer{origin: func() string { return ps.google().URL }}
}

// wake makes the phone with a push token read what has changed, and returns when it has: the fixture waits for that when it settles.
func (ps *Phones) wake(token string) bool {
	ps.mu.Lock()
	var woken *wallettest.Phone
	for _, p := range ps.list {
		if apple, ok := p.wallet.(*wallettest.Phone); ok && apple.PushToken == token {
			woken = apple
		}
	}
	ps.mu.Unlock()
	if woken == nil {
		return false
	}
	woken.Wake(ps.ctx) // GET /dev/wallet/phones shows what it complains of
	return true
}

// find returns the phone with an id.
func (ps *Phones) find(id string) (*phone, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	i := slices.IndexFunc(ps.list, func(p *phone) bool { return p.id == id })
	if i < 0 {
		return nil, kernel.Refuse(store.NotFound, "No such phone.")
	}
	return ps.list[i], nil
}

// forCard returns the phone that gets a further card, or a new one if none is named.
func (ps *Phones) forCard(id store.Opt[string], platform string) (*phone, error) {
	if id.Set {
		p, err := ps.find(id.V)
		switch {
		case err != nil:
			return nil, err
		case p.platform != platform:
			return nil, invalid("platform", "must be that of the phone: "+p.platform)
		case len(p.State().Passes) >= maxPasses:
			return nil, tooMany(maxPasses, "passes on the phone")
		}
		return p, nil
	}
	var google *wallettest.Google
	if platform == platformGoogle {
		google = ps.google() // before mu, which its start needs
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.list) >= maxPhones {
		return nil, tooMany(maxPhones, "phones")
	}
	var key [16]byte
	if _, err := io.ReadFull(ps.rand, key[:]); err != nil {
		return nil, err
	}
	device := hex.EncodeToString(key[:])
	p := &phone{id: "phn_" + device, platform: platform}
	if google != nil {
		p.wallet = &wallettest.GooglePhone{Google: google, Client: ps.client}
	} else {
		p.wallet = &wallettest.Phone{Device: device, PushToken: device + device, Reader: wallettest.Demo().Reader(), Client: ps.client}
	}
	ps.list = append(ps.list, p)
	return p, nil
}

// tooMany refuses a thing beside n others, which are all there may be.
func tooMany(n int, of string) error {
	return kernel.Refuse(store.Unprocessable, fmt.Sprintf("There are %d %s already, which is all there may be.", n, of))
}

// dropEmpty removes a phone that got no card.
func (ps *Phones) dropEmpty(p *phone) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(p.State().Passes) == 0 {
		ps.list = slices.DeleteFunc(ps.list, func(q *phone) bool { return q == p })
	}
}

// phoneBody is the body of POST /dev/wallet/phones.
type phoneBody struct {
	CardID   store.Opt[string] `json:"card_id" req:"true" min:"1" max:"255"`
	Platform store.Opt[string] `json:"platform" req:"true" enum:"apple,google"`
	PhoneID  store.Opt[string] `json:"phone_id" min:"1" max:"255" doc:"A phone that gets the card beside those that it has; by default a new one."`
}

type phoneDetail struct {
	ID       string             `json:"id"`
	Platform string             `json:"platform" enum:"apple,google"`
	Arrived  int64              `json:"arrived" doc:"How many times a pass has arrived, the first times included."`
	Notices  []string           `json:"notices" doc:"What the phone has told its owner in English, the last 100."`
	Problem  store.Null[string] `json:"problem" doc:"What the phone complained of last; null: nothing."`
	Passes   []phonePass        `json:"passes"`
}

type phonePass struct {
	CardID       string                 `json:"card_id"`
	SerialNumber string                 `json:"serial_number"`
	Voided       bool                   `json:"voided"`
	PictureURL   string                 `json:"picture_url" format:"url" doc:"Of a PNG of the front, drawn from what the phone has; ?lang= is its language."`
	Fields       []wallettest.PassField `json:"fields" doc:"In English, from the top of the front to the back."`
}

// answer returns what the control API says of a phone, and a channel that is closed when that changes.
func (ps *Phones) answer(p *phone) (a phoneDetail, changed <-chan struct{}) {
	s := p.State()
	a = phoneDetail{ID: p.id, Platform: p.platform, Arrived: s.Arrived, Notices: s.Notices}
	if s.Problem != "" {
		a.Problem = store.Some(s.Problem)
	}
	for _, h := range s.Passes {
		a.Passes = append(a.Passes, phonePass{
			CardID:       h.Label,
			SerialNumber: h.Serial,
			Voided:       h.Voided,
			PictureURL:   ps.origin + Prefix + "/wallet/phones/" + p.id + "/passes/" + h.Serial + "/picture",
			Fields:       h.Fields("en"),
		})
	}
	return a, s.Changed
}

// addToPhone answers POST /dev/wallet/phones.
func (c *Control) addToPhone(r *http.Request, _ httprouter.Params, b phoneBody) (a phoneDetail, err error) {
	shop, err := c.Store.Owner(store.KindCard, b.CardID.V)
	if err != nil {
		return a, err
	}
	card, err := store.Read(c.Store, func(v *store.View) (store.HolderCard, error) { return v.PageOfCard(shop, b.CardID.V) })
	if err != nil {
		return a, err
	}
	has, link := card.HasPass, "/card.pkpass"
	message := "The shop of the card has not set up Apple Wallet, or its certificate has ended."
	if b.Platform.V == platformGoogle {
		has, link, message = card.HasGoogle, "/google", "The shop of the card has not set up Google Wallet."
	}
	if !has {
		return a, kernel.Refuse(store.Unprocessable, message)
	}
	p, err := c.Phones.forCard(b.PhoneID, b.Platform.V)
	if err != nil {
		return a, err
	}
	if _, err := p.Add(r.Context(), c.Ready.Origin+"/c/"+card.PageToken+link, b.CardID.V); err != nil {
		c.Phones.dropEmpty(p)
		if c.Context.Err() != nil {
			return a, errReset
		}
		return a, kernel.Refuse(store.Unprocessable, "The phone does not take the card: "+err.Error()+".")
	}
	a, _ = c.Phones.answer(p)
	return a, nil
}

type phonesAnswer struct {
	Data []phoneDetail `json:"data"`
}

// listPhones answers GET /dev/wallet/phones.
func (c *Control) listPhones(*http.Request, httprouter.Params, struct{}) (a phonesAnswer, err error) {
	c.Phones.mu.Lock()
	all := slices.Clone(c.Phones.list)
	c.Phones.mu.Unlock()
	for _, p := range all {
		one, _ := c.Phones.answer(p)
		a.Data = append(a.Data, one)
	}
	return a, nil
}

type phoneQuery struct {
	Arrived   store.Opt[int64] `json:"arrived" min:"0" max:"1000000" doc:"Answer as soon as passes have arrived so many times."`
	TimeoutMS store.Opt[int64] `json:"timeout_ms" min:"0" max:"60000" doc:"How long to wait; default 10000."`
}

// getPhone answers GET /dev/wallet/phones/{id}?arrived=&timeout_ms= .
func (c *Control) getPhone(r *http.Request, params httprouter.Params, q phoneQuery) (a phoneDetail, err error) {
	p, err := c.Phones.find(params.ByName("id"))
	if err != nil {
		return a, err
	}
	timeout := time.After(time.Duration(q.TimeoutMS.Or(defaultReceiverWait)) * time.Millisecond)
	for {
		a, changed := c.Phones.answer(p)
		if a.Arrived >= q.Arrived.V {
			return a, nil
		}
		select {
		case <-changed:
		case <-timeout:
			return a, nil
		case <-r.Context().Done():
			return a, nil
		}
	}
}

// passPicture answers with the picture of a pass on a phone.
func (c *Control) passPicture(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
	picture, err := c.drawPass(params.ByName("id"), params.ByName("serial"), r.URL.Query().Get("lang"))
	if err != nil {
		c.Kernel.AnswerError(w, err)
		return
	}
	c.Kernel.RequestID(w)
	web.SetHeaders(w.Header())
	w.Header().Set("Content-Type", "image/png")
	web.Write(w, http.StatusOK, picture)
}

// drawPass draws a pass on a phone in a language; "": English.
func (c *Control) drawPass(id, serial, language string) ([]byte, error) {
	p, err := c.Phones.find(id)
	if err != nil {
		return nil, err
	}
	for _, h := range p.State().Passes {
		if h.Serial == serial {
			return h.Picture(language)
		}
	}
	return nil, kernel.Refuse(store.NotFound, "No such pass.")
}
