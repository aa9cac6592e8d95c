package store

import (
	"testing"
	"time"
)

// TestLinkMail checks that a message with a one-time link waits in the queue, is retried, and is
// deleted when its link ends.
func TestLinkMail(t *testing.T) {
	f := start(t, Options{QueueMail: true, PublicURL: "https://cards.example.com"})
	shop := f.a.Shop
	f.updateShop(ShopFields{Name: set("Shop"), Language: set("it")})
	next := func() (m QueuedMail, ok bool) {
		f.view(func(v *View) (err error) {
			m, ok, err = v.NextMail()
			return err
		})
		return m, ok
	}
	invite := func() CreatedLink {
		return must(f, func(tx *Tx) (CreatedLink, error) { return tx.Invite(shop, "ada@example.com", RoleOwner) })
	}
	first, second := invite(), invite()
	m, ok := next()
	if !ok || !first.Mailed || second.URL != "" || second.Token != "" || m.Link != "https://cards.example.com/invite/"+m.Token ||
		m.To != "ada@example.com" ||
		m.Kind != LinkInvitation ||
		m.Shop != "Shop" ||
		m.Language != "it" ||
		m.Status != MailReady {
		t.Errorf("%+v", m)
	}
	f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Minute) })
	f.must(func(tx *Tx) error { return tx.DelayUnsureMail(&m, time.Minute) })
	if m, _ = next(); m.Attempts != 2 || m.Unsure != 1 {
		t.Errorf("%+v", m)
	}
	f.must(func(tx *Tx) error { return tx.HoldMail(&m, m.Due.Add(time.Minute)) })
	m, _ = next()
	f.must(func(tx *Tx) error { return tx.SentMail(&m) })
	if _, ok := next(); ok {
		t.Error("the message is still queued after it was sent")
	}
	third := invite()
	f.must(func(tx *Tx) error { return tx.CancelInvitation(shop, third.ID) })
	if _, ok := next(); ok {
		t.Error("the message with a cancelled link is still queued")
	}
	invite()
	m, _ = next()
	f.must(func(tx *Tx) error { return tx.RejectMail(&m, 550) })
	invite()
	refused(t, f.do(func(tx *Tx) error {
		return errorOf(tx.Invite(shop, "ada@example.com", RoleOwner))
	}), RateLimited) // the sixth within a day
	f.checkFile()
}

// TestUnmailedReset checks that, where no mail can be sent, a request for a reset link does not
// replace a link that the person may have from an operator.
func TestUnmailedReset(t *testing.T) {
	f := start(t)
	user := must(f, func(tx *Tx) (int64, error) {
		return tx.AddUser(NewUser{Email: "ada@example.com", Name: "Ada", Language: "en"})
	})
	link := must(f, func(tx *Tx) (CreatedLink, error) { return tx.NewResetLink(user) })
	f.must(func(tx *Tx) error { return tx.RequestReset("ada@example.com", Browser{}) })
	f.writes(func(tx *Tx) { check(tx.ResetPassword(link.Token, "hash")) })
}
