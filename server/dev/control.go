// Package dev is the control API of the fixture, which only "punchcard dev" has.
package dev

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/api"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
)

// Mailbox keeps the mail that a fixture would send.
type Mailbox struct {
	mu   sync.Mutex
	mail []store.Mail
}

// Put takes a message.
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
	Clock  Mover
	Mail   *Mailbox
	Ready  *seed.Ready
	Settle func() (Settled, error)                   // does what time made due, and counts since the start
	Due    func() (at time.Time, ok bool, err error) // when something else will be
	// Context ends with the fixture, or when it is reset.
	Context context.Context

	mu     sync.Mutex
	told   Settled    // what the last answer to settle was about
	moving sync.Mutex // of the clock: one after the other, so that each counts

	Journal   *Journal
	Faults    *Faults
	Receivers *Receivers
}

// operator is who acts through the control API.
var operator = store.Actor{Type: "user", Name: "dev"}

// Mount adds the control API to a router.
func (c *Control) Mount(r *httprouter.Router) {
	k := c.Kernel
	r.GET("/dev/clock", kernel.Plain(k, http.StatusOK, func(*http.Request, httprouter.Params, struct{}) (clockAnswer, error) { return c.clock(), nil }))
	r.POST("/dev/clock", kernel.Plain(k, http.StatusOK, c.moveClock))
	r.GET("/dev/seed.schema.json", k.Static("application/schema+json", seed.Schema))
	r.POST("/dev/settle", kernel.Plain(k, http.StatusOK, c.settle))
	r.POST("/dev/shops", kernel.Plain(k, http.StatusCreated, c.createShop))
	r.PATCH("/dev/shops/:id", kernel.PlainPatch(k, http.StatusOK, c.updateShop))
	r.POST("/dev/keys", kernel.Plain(k, http.StatusCreated, c.createKey))
	r.POST("/dev/keys/:id/rotate", kernel.Plain(k, http.StatusCreated, c.rotateKey))
	r.POST("/dev/keys/:id/revoke", kernel.Plain(k, http.StatusOK, c.revokeKey))
	r.POST("/dev/locations", kernel.Plain(k, http.StatusCreated, c.createLocation))
	r.POST("/dev/devices", kernel.Plain(k, http.StatusCreated, c.createDevice))
	r.PATCH("/dev/programs/:id", kernel.PlainPatch(k, http.StatusOK, c.updateProgram))
	r.DELETE("/dev/programs/:id", kernel.Plain(k, http.StatusNoContent, c.deleteProgram))
	r.POST("/dev/programs/:id/enroll", kernel.Plain(k, http.StatusCreated, c.enroll))
	r.POST("/dev/cards/:id/lock", kernel.Plain(k, http.StatusOK, c.lockCard(true)))
	r.POST("/dev/cards/:id/unlock", kernel.Plain(k, http.StatusOK, c.lockCard(false)))
	r.POST("/dev/cards/:id/archive", kernel.Plain(k, http.StatusOK, c.archiveCard))
	r.POST("/dev/cards/:id/reissue", kernel.Plain(k, http.StatusOK, c.reissueCard))
	r.POST("/dev/cards/:id/delete", kernel.Plain(k, http.StatusNoContent, c.eraseCard))
	r.GET("/dev/audit", kernel.Plain(k, http.StatusOK, c.audit))
	r.GET("/dev/emails", kernel.Plain(k, http.StatusOK, c.emails))
	r.GET("/dev/requests", kernel.Plain(k, http.StatusOK, c.Journal.list))
	r.DELETE("/dev/requests", kernel.Plain(k, http.StatusNoContent, c.Journal.clear))
	r.POST("/dev/faults", kernel.Plain(k, http.StatusCreated, c.Faults.add))
	r.GET("/dev/faults", kernel.Plain(k, http.StatusOK, c.Faults.remaining))
	r.DELETE("/dev/faults", kernel.Plain(k, http.StatusNoContent, c.Faults.clear))
	r.POST("/dev/receiver", kernel.Plain(k, http.StatusCreated, c.Receivers.create))
	r.GET("/dev/receiver/:id", patiently(kernel.Plain(k, http.StatusOK, c.Receivers.show)))
	r.PUT("/dev/receiver/:id", kernel.Plain(k, http.StatusOK, c.Receivers.update))
	r.DELETE("/dev/receiver/:id/requests", kernel.Plain(k, http.StatusNoContent, c.Receivers.empty))
	r.POST("/dev/receiver/:id", c.Receivers.receive)
}

// write makes one change as the operator.
func (c *Control) write(r *http.Request, do func(*store.Tx) error) error {
	return c.Store.Write(r.Context(), store.Write{Actor: operator, Do: do})
}

// shopOf is the shop that a request names, or the demo shop.
func (c *Control) shopOf(id store.Opt[string]) (int64, error) {
	if !id.Set {
		return c.Ready.Shop(), nil
	}
	return c.Store.ResolveShop(id.V)
}

func set[T any](v T) store.Opt[T] { return store.Opt[T]{V: v, Set: true} }

type shopAnswer struct {
	ShopID     string `json:"shop_id"`
	APIKey     string `json:"api_key"`
	TillToken  string `json:"till_token"`
	LocationID string `json:"location_id"`
}

// createShop makes another shop with one location, a key of every scope and a
// till.
func (c *Control) createShop(r *http.Request, _ httprouter.Params, b store.ShopFields) (a shopAnswer, err error) {
	err = c.write(r, func(tx *store.Tx) error {
		key, shop, err := tx.CreateShop(b)
		if err != nil {
			return err
		}
		loc, err := tx.CreateLocation(key, store.LocationFields{LocationPatch: store.LocationPatch{Name: set("Main street")}})
		if err != nil {
			return err
		}
		_, secret, err := tx.CreateKey(key, store.KeyFields{Name: set("Key of every scope")})
		if err != nil {
			return err
		}
		_, token, err := tx.CreateDevice(key, loc.ID, "Till", "")
		a = shopAnswer{shop.ID, secret, token, loc.ID}
		return err
	})
	return a, err
}

func (c *Control) updateShop(r *http.Request, p httprouter.Params, b store.ShopFields) (s store.Shop, err error) {
	key, err := c.Store.ResolveShop(p.ByName("id"))
	if err != nil {
		return s, err
	}
	err = c.write(r, func(tx *store.Tx) error {
		s, err = tx.UpdateShop(key, b)
		return err
	})
	return s, err
}

type keyBody struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	store.KeyFields
}

type keyAnswer struct {
	store.Key
	Secret string `json:"key"`
}

func (c *Control) createKey(r *http.Request, _ httprouter.Params, b keyBody) (a keyAnswer, err error) {
	shop, err := c.shopOf(b.ShopID)
	if err != nil {
		return a, err
	}
	err = c.write(r, func(tx *store.Tx) error {
		a.Key, a.Secret, err = tx.CreateKey(shop, b.KeyFields)
		return err
	})
	return a, err
}

type rotateBody struct {
	GraceHours store.Opt[float64] `json:"grace_hours" min:"0" max:"8760"`
}

func (c *Control) rotateKey(r *http.Request, p httprouter.Params, b rotateBody) (a keyAnswer, err error) {
	shop, err := c.Store.Owner(store.KindKey, p.ByName("id"))
	if err != nil {
		return a, err
	}
	overlap := store.Null[time.Duration]{V: time.Duration(b.GraceHours.V * float64(time.Hour)), Valid: b.GraceHours.Set}
	err = c.write(r, func(tx *store.Tx) error {
		a.Key, a.Secret, err = tx.RotateKey(shop, p.ByName("id"), overlap)
		return err
	})
	return a, err
}

func (c *Control) revokeKey(r *http.Request, p httprouter.Params, _ struct{}) (k store.Key, err error) {
	shop, err := c.Store.Owner(store.KindKey, p.ByName("id"))
	if err != nil {
		return k, err
	}
	err = c.write(r, func(tx *store.Tx) error {
		k, err = tx.RevokeKey(shop, p.ByName("id"))
		return err
	})
	return k, err
}

type locationBody struct {
	ShopID   store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	StaffPIN store.Opt[string] `json:"staff_pin" max:"8"`
	store.LocationPatch
}

func (c *Control) createLocation(r *http.Request, _ httprouter.Params, b locationBody) (l store.Location, err error) {
	shop, err := c.shopOf(b.ShopID)
	if err != nil {
		return l, err
	}
	err = c.write(r, func(tx *store.Tx) error {
		l, err = tx.CreateLocation(shop, store.LocationFields{LocationPatch: b.LocationPatch, StaffPIN: b.StaffPIN})
		return err
	})
	return l, err
}

type deviceBody struct {
	LocationID store.Opt[string] `json:"location_id" req:"true" max:"255"`
	Name       store.Opt[string] `json:"name" min:"1" max:"200"`
}

type deviceAnswer struct {
	store.Device
	Token string `json:"token"`
}

func (c *Control) createDevice(r *http.Request, _ httprouter.Params, b deviceBody) (a deviceAnswer, err error) {
	shop, err := c.Store.Owner(store.KindLocation, b.LocationID.V)
	if err != nil {
		return a, err
	}
	err = c.write(r, func(tx *store.Tx) error {
		a.Device, a.Token, err = tx.CreateDevice(shop, b.LocationID.V, b.Name.Or("Till"), "")
		return err
	})
	return a, err
}

type programBody struct {
	MinSpendCents store.Opt[int64] `json:"min_spend_cents" min:"1" max:"100000000" patch:"nullable"`
}

// onProgram makes a change to a program of whatever shop owns it.
func (c *Control) onProgram(r *http.Request, p httprouter.Params, do func(tx *store.Tx, shop int64, id string) error) error {
	shop, err := c.Store.Owner(store.KindProgram, p.ByName("id"))
	if err != nil {
		return err
	}
	return c.write(r, func(tx *store.Tx) error { return do(tx, shop, p.ByName("id")) })
}

func (c *Control) updateProgram(r *http.Request, p httprouter.Params, b programBody) (d store.ProgramDetail, err error) {
	err = c.onProgram(r, p, func(tx *store.Tx, shop int64, id string) error {
		d, err = tx.SetMinSpend(shop, id, b.MinSpendCents)
		return err
	})
	return d, err
}

func (c *Control) deleteProgram(r *http.Request, p httprouter.Params, _ struct{}) (kernel.None, error) {
	return kernel.None{}, c.onProgram(r, p, func(tx *store.Tx, shop int64, id string) error { return tx.DeleteProgram(shop, id) })
}

// enroll makes a card as a person does who signs up on the web.
func (c *Control) enroll(r *http.Request, p httprouter.Params, b store.CardFields) (out api.IssuedCard, err error) {
	err = c.onProgram(r, p, func(tx *store.Tx, shop int64, id string) error {
		out.IssuedCard, err = tx.IssueCard(store.Access{Shop: shop}, id, b, store.SourceWebEnrollment)
		return err
	})
	return withPicture(out, err)
}

// onCard makes an operator's change to a card of whatever shop owns it.
func (c *Control) onCard(r *http.Request, p httprouter.Params, do func(tx *store.Tx, shop int64, id string) error) error {
	shop, err := c.Store.Owner(store.KindCard, p.ByName("id"))
	if err != nil {
		return err
	}
	return c.write(r, func(tx *store.Tx) error { return do(tx, shop, p.ByName("id")) })
}

func (c *Control) lockCard(lock bool) func(*http.Request, httprouter.Params, struct{}) (store.CardDetail, error) {
	return func(r *http.Request, p httprouter.Params, _ struct{}) (d store.CardDetail, err error) {
		err = c.onCard(r, p, func(tx *store.Tx, shop int64, id string) error {
			d, err = tx.SetCardLocked(shop, id, lock)
			return err
		})
		return d, err
	}
}

func (c *Control) archiveCard(r *http.Request, p httprouter.Params, _ struct{}) (d store.CardDetail, err error) {
	err = c.onCard(r, p, func(tx *store.Tx, shop int64, id string) error {
		d, err = tx.ArchiveCard(shop, id)
		return err
	})
	return d, err
}

func (c *Control) reissueCard(r *http.Request, p httprouter.Params, b store.ReissueFields) (out api.IssuedCard, err error) {
	err = c.onCard(r, p, func(tx *store.Tx, shop int64, id string) error {
		out.IssuedCard, err = tx.ReissueCard(store.Access{Shop: shop}, id, b)
		return err
	})
	return withPicture(out, err)
}

func withPicture(out api.IssuedCard, err error) (api.IssuedCard, error) {
	if err == nil {
		out.InstallQRSVG, err = qr.SVG(out.InstallURL)
	}
	return out, err
}

func (c *Control) eraseCard(r *http.Request, p httprouter.Params, _ struct{}) (kernel.None, error) {
	return kernel.None{}, c.onCard(r, p, func(tx *store.Tx, shop int64, id string) error { return tx.EraseCard(shop, id) })
}

type auditQuery struct {
	ShopID store.Opt[string] `json:"shop_id" min:"1" max:"255"`
	store.PageQuery
}

func (c *Control) audit(r *http.Request, _ httprouter.Params, _ struct{}) (page store.Page[store.AuditRow], err error) {
	var q auditQuery
	if details := wire.DecodeQuery(r.URL.Query(), &q, nil); details != nil {
		return page, store.Invalid(details...)
	}
	shop, err := c.shopOf(q.ShopID)
	if err != nil {
		return page, err
	}
	err = c.Store.View(0, func(v *store.View) error {
		page, err = v.AuditLog(shop, q.PageQuery)
		return err
	})
	return page, err
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

func (c *Control) emails(*http.Request, httprouter.Params, struct{}) (a emailsAnswer, err error) {
	c.Mail.mu.Lock()
	defer c.Mail.mu.Unlock()
	for _, m := range c.Mail.mail {
		a.Data = append(a.Data, email{m.To, m.Subject, m.Text, m.CardID, m.At})
	}
	return a, nil
}
