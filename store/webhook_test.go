package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"sync"
	"testing"
)

// allEvents are the fields of a webhook of all events.
var allEvents = WebhookFields{URL: set("https://hooks.invalid/"), Events: set([]string{"*"})}

// subscribe creates a webhook with CreateWebhook. It subscribes to all events unless change sets
// others.
func (f *fixture) subscribe(program string, change func(*WebhookFields)) CreatedWebhook {
	fields := allEvents
	if change != nil {
		change(&fields)
	}
	return must(f, func(tx *Tx) (CreatedWebhook, error) { return tx.CreateWebhook(f.a, program, unchecked(tx, fields)) })
}

// unchecked accepts any URL for a webhook.
func unchecked(tx *Tx, f WebhookFields) WebhookFields {
	tx.CheckedTarget = f.URL.V
	return f
}

// uncheckedPatch is unchecked for a patch.
func uncheckedPatch(tx *Tx, p WebhookPatch) WebhookPatch {
	p.WebhookFields = unchecked(tx, p.WebhookFields)
	return p
}

// dueWebhooks records the webhooks that the sender is notified of.
type dueWebhooks struct {
	mu   sync.Mutex
	keys []int64
}

func (w *dueWebhooks) take() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := w.keys
	w.keys = nil
	return keys
}

// recordDue records the calls of OnDue's function from now on. The writer uses the function from
// the next write.
func (f *fixture) recordDue() *dueWebhooks {
	w := &dueWebhooks{}
	f.must(func(*Tx) error {
		f.OnDue(func(keys []int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.keys = append(w.keys, keys...)
		})
		return nil
	})
	return w
}

// settled waits until the writer has finished the work after a commit.
func (f *fixture) settled() { f.must(func(*Tx) error { return nil }) }

// TestWebhookSecretIsFromTheStoresRand checks that secrets have the random bytes of Options.Rand,
// are stored, and are needed to create a webhook.
func TestWebhookSecretIsFromTheStoresRand(t *testing.T) {
	chance := bytes.Repeat([]byte{0xfb, 0xff, 0x01, 0x7e}, 100)
	f := start(t, Options{Rand: bytes.NewReader(chance), IDSecret: make([]byte, 16)})
	program := f.program(stamps("Tea"))
	w := f.subscribe(program, nil)
	if want := "whsec_" + base64.StdEncoding.EncodeToString(chance[:32]); w.Secret != want {
		t.Errorf("secret %q, want %q", w.Secret, want)
	}
	if stored := f.lines("SELECT secret FROM webhooks"); len(stored) != 1 || stored[0] != w.Secret {
		t.Errorf("stored %q", stored)
	}
	was := w.Secret
	u := f.updateWebhook(program, w.ID, WebhookPatch{RotateSecret: set(true)})
	if stored := f.lines("SELECT secret FROM webhooks"); stored[0] != u.Secret || u.Secret == "" {
		t.Errorf("stored %q, shown %q, was %q", stored, u.Secret, was)
	}
	// Without random bytes no webhook is created.
	f = start(t, Options{Rand: bytes.NewReader(nil), IDSecret: make([]byte, 16)})
	program = f.program(stamps("Tea"))
	err := f.do(func(tx *Tx) error {
		return errorOf(tx.CreateWebhook(f.a, program, unchecked(tx, allEvents)))
	})
	if err == nil || f.number("SELECT count(*) FROM webhooks") != 0 {
		t.Errorf("a webhook without a secret: %v", err)
	}
}

// TestWebhookChangesCountInTheirGroup checks that what one member of a group changes applies to the
// next, unless it is rolled back.
func TestWebhookChangesCountInTheirGroup(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	var id string
	issue := write(f.issuing(program, CardFields{}))
	create := func(tx *Tx) error {
		w, err := tx.CreateWebhook(
			f.a,
			program,
			unchecked(tx, WebhookFields{URL: set("https://hooks.invalid/"), Events: set([]string{"card.added"})}),
		)
		id = w.ID
		return err
	}
	patch := func(p WebhookPatch) Write {
		return write(func(tx *Tx) error { return errorOf(tx.UpdateWebhook(f.a, program, id, uncheckedPatch(tx, p))) })
	}
	mine := errors.New("mine")
	undone := write(func(tx *Tx) error {
		return errors.Join(create(tx), issue.Do(tx), mine)
	})
	off, on := WebhookPatch{}, WebhookPatch{}
	off.Active, on.Active = set(false), set(true)
	other := WebhookPatch{}
	other.Events = set([]string{"card.archived"})
	remove := write(func(tx *Tx) error { return tx.DeleteWebhook(f.a, program, id) })
	var counts []int64
	// Delivery rows are written at the end of the group, so the events are counted instead.
	count := write(func(tx *Tx) error {
		n, err := tx.conn.Number("SELECT count(*) FROM events")
		counts = append(counts, n)
		return err
	})
	errs := f.group(
		undone, issue, count, write(create), issue, count, patch(off), issue, count, patch(on), issue, count,
		patch(other), issue, count, remove, issue, count,
	)
	for i, err := range errs {
		if (i == 0) != errors.Is(err, mine) {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if want := []int64{0, 1, 1, 2, 2, 2}; !slices.Equal(counts, want) {
		t.Errorf("after each change there are %v events, want %v", counts, want)
	}
	// The next group reads the epoch again, and so does another process.
	f.must(issue.Do)
	f.selects(2, "SELECT count(*) FROM deliveries")
	second := f.second()
	w := second.subscribe(program, nil)
	f.must(issue.Do)
	if n := len(f.log(program, w.ID)); n != 1 {
		t.Errorf("%d deliveries to a webhook of another process", n)
	}
	second.deleteWebhook(program, w.ID)
	before := f.number("SELECT count(*) FROM deliveries")
	f.must(issue.Do)
	if n := f.number("SELECT count(*) FROM deliveries"); n != before {
		t.Error("a delivery to a webhook that another process deleted")
	}
	f.checkFile()
}

// TestWebhookChangesMoveTheEpoch checks that changes increase the epoch, by which senders in other
// processes notice them, and no-ops do not.
func TestWebhookChangesMoveTheEpoch(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	epoch := func() int64 { return f.number("SELECT hook_epoch FROM meta") }
	auth := f.number("SELECT auth_epoch FROM meta")
	at := epoch()
	moved := func(what string, want bool) {
		t.Helper()
		if now := epoch(); (now != at) != want {
			t.Errorf("%s: the epoch moved: %v", what, now != at)
		}
		at = epoch()
	}
	w := f.subscribe(program, nil)
	moved("create", true)
	for name, p := range map[string]WebhookPatch{
		"url":     {WebhookFields: WebhookFields{URL: set("https://hooks.invalid/b")}},
		"token":   {WebhookFields: WebhookFields{BearerToken: set("t")}},
		"headers": {WebhookFields: WebhookFields{CustomHeaders: set(map[string]string{"A": "b"})}}, "secret": {RotateSecret: set(true)},
		"active": {WebhookFields: WebhookFields{Active: set(false)}},
	} {
		f.updateWebhook(program, w.ID, p)
		moved(name, true)
	}
	for _, p := range []WebhookPatch{{}, {RotateSecret: set(false)}} {
		f.updateWebhook(program, w.ID, p)
		moved("nothing", false)
	}
	f.testWebhook(program, w.ID)
	moved("test", false)
	f.deleteWebhook(program, w.ID)
	moved("delete", true)
	if now := f.number("SELECT auth_epoch FROM meta"); now != auth {
		t.Error("the keys' epoch changed too")
	}
}

// TestOnDue checks that OnDue's function is called when deliveries become due, and only then.
func TestOnDue(t *testing.T) {
	f := start(t)
	due := f.recordDue()
	program := f.program(stamps("Tea"))
	w := f.subscribe(program, nil)
	key := f.key(KindWebhook, w.ID)
	f.settled()
	due.take()
	told := func(what string, want bool) {
		t.Helper()
		f.settled()
		if got := due.take(); (len(got) == 1 && got[0] == key) != want || len(got) > 1 {
			t.Errorf("%s: OnDue got %v, want a call: %v", what, got, want)
		}
	}
	f.updateWebhook(program, w.ID, WebhookPatch{WebhookFields: WebhookFields{Description: set("x")}})
	told("description", false)
	f.activate(program, w.ID, false)
	told("off", false)
	d := f.testWebhook(program, w.ID)
	told("test of an inactive one", true)
	f.card(program)
	told("an event while inactive", false)
	f.activate(program, w.ID, true)
	told("on", true)
	f.activate(program, w.ID, true)
	told("on again", true)
	again := func(tx *Tx) error { return errorOf(tx.Redeliver(f.a, program, w.ID, d.ID)) }
	refused(t, f.do(again), Conflict)
	told("redelivery of what is pending", false)
	f.sql("UPDATE deliveries SET outcome='failed'")
	f.must(again)
	told("redelivery", true)
	f.deleteWebhook(program, w.ID)
	told("delete", false)
}

// TestWebhookMaximumHoldsInAGroup checks that the creations of one group do not exceed the shop's
// maximum, and that a deletion makes room.
func TestWebhookMaximumHoldsInAGroup(t *testing.T) {
	lim := DefaultLimits()
	lim.Webhooks = 3
	f := start(t, Options{Limits: lim})
	program, other := f.program(stamps("Tea")), f.program(stamps("Coffee"))
	theirs := f.shop(ShopFields{})
	theirProgram := f.in(theirs).program(stamps("Theirs"))
	var ids []string
	create := func(a Access, program string) Write {
		return write(func(tx *Tx) error {
			w, err := tx.CreateWebhook(a, program, unchecked(tx, allEvents))
			if err == nil && a.Shop == f.a.Shop {
				ids = append(ids, w.ID)
			}
			return err
		})
	}
	for i, err := range f.group(
		create(theirs, theirProgram), create(f.a, program), create(f.a, other), create(f.a, program),
		create(f.a, program), create(f.a, other),
	) {
		if i < 4 && err != nil {
			t.Errorf("member %d: %v", i, err)
		} else if i >= 4 {
			refused(t, err, Unprocessable)
		}
	}
	f.deleteWebhook(program, ids[0])
	f.must(create(f.a, other).Do)
	refused(t, f.do(create(f.a, other).Do), Unprocessable)
	f.deleteProgram(other)
	f.must(create(f.a, program).Do)
	f.selects(2, "SELECT count(*) FROM webhooks WHERE shop_id=? AND deleted_at IS NULL", f.a.Shop)
}
