package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"punchcard/server/wallet/google"
	"punchcard/store"
)

// Google calls the API of Google Wallet for the shops of a store.
type Google struct {
	Store     *store.Store
	URL       string            // of the API, such as google.DefaultURL
	Transport http.RoundTripper // makes the requests of the API
	Keys      *google.Keys      // verify its callbacks

	clients sync.Map // *google.Client, which keeps its token, by the issuer and the account
}

// maxGoogleWait is how long a request waits until the rate of its issuer permits it. Later is an error, so that it is made later.
const maxGoogleWait = 5 * time.Second

// heldError says that Google has asked for no request before a time, or that too many wait.
type heldError struct{ until time.Time }

func (heldError) Error() string { return "no request may be made yet" }

// client returns the client of a shop.
func (g *Google) client(w store.GoogleWallet) (*google.Client, error) {
	account, err := google.ParseAccount(w.Account)
	if err != nil {
		return nil, err
	}
	have, _ := g.clients.LoadOrStore(w.Issuer+"\n"+hashOf(w.Account), &google.Client{
		Account:   account,
		URL:       g.URL,
		Transport: g.Transport,
		Wait:      func(ctx context.Context) error { return g.wait(ctx, w.Issuer) },
	})
	return have.(*google.Client), nil
}

// wait waits until a request for an issuer may be made.
func (g *Google) wait(ctx context.Context, issuer string) error {
	var at time.Time
	now := time.Now()
	err := g.Store.SystemWrite(ctx, func(tx *store.Tx) (err error) {
		at, err = tx.ClaimGoogleCall(issuer, now, now.Add(maxGoogleWait))
		return err
	})
	switch {
	case err != nil:
		return err
	case at.Sub(now) > maxGoogleWait:
		return heldError{at}
	}
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Check makes the class of a program with what a shop wants to set up.
func (g *Google) Check(ctx context.Context, w store.GoogleWallet, sample *store.Pass) error {
	client, err := g.client(w)
	if err != nil {
		return err
	}
	return client.Insert(ctx, googleClass(sample, w.Issuer))
}

// GoogleLink returns the link that adds an object that exists to a phone.
func GoogleLink(a store.GoogleAddition) (string, error) {
	account, err := google.ParseAccount(a.Google.Account)
	if err != nil {
		return "", err
	}
	return account.SaveLink(a.Object, time.Now())
}

// Verify returns what a callback of Google says, if it is one for an issuer of the file.
func (g *Google) Verify(ctx context.Context, body []byte) (store.GoogleEvent, error) {
	e, err := g.Keys.Verify(ctx, body, time.Now())
	if err != nil {
		return store.GoogleEvent{}, err
	}
	known, err := store.Read(g.Store, func(v *store.View) (bool, error) { return v.HasGoogleIssuer(e.Issuer) })
	if err == nil && !known {
		err = errors.New("the issuer is not known")
	}
	return store.GoogleEvent(e), err
}

// message returns what Google is to be told about an object.
func (g *Google) message(ctx context.Context, x *store.PushPass, t store.Target) (m message) {
	m.host, m.outcome = "Google", store.TargetOutcome{Told: store.Some(t.Told.V), Persist: x.Ended}
	if !x.Google.IsSet() {
		return m // until the shop sets it up again
	}
	object, class := googleObject(&x.Pass, x.Google.Issuer), googleClass(&x.Pass, x.Google.Issuer)
	if x.Ended || x.ClassTold == hashOf(class) {
		class = nil // Google need not be told
	}
	var before googleTold
	known := json.Unmarshal([]byte(t.Told.V), &before) == nil
	now := googleTold{Hash: hashOf(object), Warned: before.Warned}
	var warning *google.Message
	if !x.Ended {
		c := cardIn(x.Shop.Language, &x.HolderCard)
		var names map[int64]string
		now.Shown, names = c.shown(before.Shown, known)
		newPrize := c.readyLines(names, now.Shown.Ready, before.Shown.Ready) != nil
		if known && (newPrize || now.Shown.Balance != before.Shown.Balance) {
			object.NotifyPreference = google.NotifyOnUpdate
		}
		m.outcome.LookAt, warning = expiryWarning(&x.Pass, &now, g.Store.Now())
	}
	raw, _ := json.Marshal(now)
	m.outcome.Told = store.Some(string(raw))
	if !known || before.Hash != now.Hash || warning != nil || class != nil {
		m.send = func() (string, time.Duration, error) {
			return g.judge(ctx, x, g.tell(ctx, x, class, object, known, warning))
		}
	}
	return m
}

// tell makes or changes an object, after its class, if that is not nil.
func (g *Google) tell(ctx context.Context, x *store.PushPass, class *google.Class, object *google.Object, known bool,
	warning *google.Message,
) error {
	client, err := g.client(x.Google)
	if err != nil {
		return err
	}
	put := func(known bool, r google.Resource) error {
		if known {
			if err := client.Patch(ctx, r); google.Status(err) != http.StatusNotFound {
				return err
			}
		}
		return client.Insert(ctx, r)
	}
	if x.Ended { // also if it was never made, or that was not noted
		return client.Patch(ctx, object)
	}
	if class != nil {
		if err := put(x.ClassTold != "", class); err != nil {
			return err
		}
		if err := g.noteClass(ctx, x, hashOf(class)); err != nil {
			return err
		}
	}
	if err := put(known, object); err != nil || warning == nil {
		return err
	}
	err = client.AddMessage(ctx, object.ID, *warning)
	if e, ok := errors.AsType[*google.Error](err); ok && e.Reason == "quotaExceeded" {
		return nil // the phone has notified three times today, and the object says when it ends
	}
	return err
}

// noteClass notes what Google shows of a program.
func (g *Google) noteClass(ctx context.Context, x *store.PushPass, told string) error {
	return g.Store.SystemWrite(ctx, func(tx *store.Tx) error { return tx.RecordGoogleClass(x.Root, told) })
}

// judge returns the result of requests about an object. An object that has ended is told until Google knows it.
func (g *Google) judge(ctx context.Context, x *store.PushPass, err error) (state string, wait time.Duration, _ error) {
	held, isHeld := errors.AsType[heldError](err)
	e, answered := errors.AsType[*google.Error](err)
	switch {
	case x.Ended && (err == nil || google.Status(err) == http.StatusNotFound):
		return store.PushEnded, 0, nil
	case err == nil:
		return store.PushSent, 0, nil
	case isHeld:
		return notYet, time.Until(held.until), nil
	case !answered:
		return store.PushFailed, 0, err
	}
	state, wait, err = judge(e.Status, e.RetryAfter, e.Reason, false, 401, 403, 404)
	noClass := e.Reason == "classNotFound"
	if e.Token || noClass || x.Ended {
		state = store.PushFailed
	}
	var werr error
	switch {
	case wait > 0:
		werr = g.Store.SystemWrite(ctx, func(tx *store.Tx) error { return tx.HoldGoogleCalls(x.Google.Issuer, time.Now().Add(wait)) })
	case noClass:
		werr = g.noteClass(ctx, x, "")
	}
	return state, wait, errors.Join(err, werr)
}
