package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// pass makes a card of a program with a pass for Apple Wallet, and returns the key of the card.
func (f *fixture) pass(program string) (root int64) {
	root = f.key(KindCard, f.card(program))
	p := view(f, func(v *View) (Pass, error) { return v.PassOfPage(f.pageToken(root, 0)) })
	f.writes(func(tx *Tx) { check(tx.RefreshPass(p, []byte("what it shows"))) })
	return root
}

const passType = "pass.com.example.card"

// startApple starts a fixture whose shop has a certificate for Apple Wallet.
func startApple(t *testing.T) *fixture {
	f := start(t)
	f.writes(func(tx *Tx) {
		check(tx.SetAppleCertificate(f.a.Shop, AppleWallet{PassType: passType, Certificate: []byte{1}, Key: []byte{1}, NotAfter: tx.Now}))
	})
	return f
}

// register registers a phone for a pass.
func (f *fixture) register(p Pass, devices ...string) {
	f.must(func(tx *Tx) error {
		for _, device := range devices {
			if _, err := tx.RegisterDevice(device, passType, p.Serial, p.Token, DeviceFields{PushToken: set("aa")}); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestManyDevices checks that of a phone that registers for a pass with very many names the newest are kept.
func TestManyDevices(t *testing.T) {
	f := startApple(t)
	root := f.pass(f.program(stamps("Coffee")))
	p := view(f, func(v *View) (Pass, error) { return v.PassOfPage(f.pageToken(root, 0)) })
	const n = 200
	var devices []string
	for i := range n {
		devices = append(devices, fmt.Sprintf("device %05d", i))
	}
	f.register(p, devices...)
	f.selects(maxPhones, "SELECT count(*) FROM apple_devices")
	f.selects(maxPhones, "SELECT count(*) FROM apple_devices WHERE device>=?", fmt.Sprintf("device %05d", n-maxPhones))
}

// TestDeviceOfErasedCard checks that a phone that registers for the pass of an erased card is forgotten 30 days after the erasure.
func TestDeviceOfErasedCard(t *testing.T) {
	t.Parallel()
	f := startApple(t)
	card := f.card(f.program(stamps("Coffee")))
	root := f.key(KindCard, card)
	read := func() Pass { return view(f, func(v *View) (Pass, error) { return v.pass(f.a.Shop, root, 0) }) }
	p := read()
	refresh := func(shows string) {
		f.writes(func(tx *Tx) { check(tx.RefreshPass(read(), []byte(shows))) })
	}
	refresh("stamps")
	f.register(p, "phone")
	f.erase(card)
	refresh("nothing")
	f.clock.move(passKept - time.Second)
	f.register(p, "restored phone")
	prune := func() { must(f, func(tx *Tx) (bool, error) { return tx.PrunePasses(10) }) }
	prune()
	f.selects(2, "SELECT count(*) FROM apple_devices")
	f.clock.move(time.Second)
	prune()
	f.selects(0, "SELECT count(*) FROM apple_devices")
	f.selects(0, "SELECT count(*) FROM apple_passes")
}

// TestShortCodeOfPasses checks that a pass has the short code of its card also if nobody has seen the card's page.
func TestShortCodeOfPasses(t *testing.T) {
	t.Parallel()
	f := startApple(t)
	program := f.program(stamps("Coffee"))
	token := f.pageToken(f.pass(program), 0)
	read := func() Pass { return view(f, func(v *View) (Pass, error) { return v.PassOfPage(token) }) }
	f.selectsLines([]string{read().ShortCode}, "SELECT short_code FROM cards")
	f.sql("UPDATE cards SET short_code=NULL")
	p := read()
	if !p.NeedsRefresh(p.Hash) {
		t.Error("a pass that was downloaded without a code gets none")
	}
	f.writes(func(tx *Tx) { check(tx.RefreshPass(p, p.Hash)) })
	f.selectsLines([]string{p.ShortCode}, "SELECT short_code FROM cards")

	f.must(func(tx *Tx) error {
		return errorOf(tx.SetGoogleWallet(f.a.Shop, GoogleWallet{Issuer: "1", Account: []byte{1}}))
	})
	token = f.pageToken(f.key(KindCard, f.card(program)), 0)
	f.must(view(f, func(v *View) (func(*Tx) error, error) { return v.MissingGoogleObject(token) }))
	f.selects(0, "SELECT count(*) FROM cards WHERE short_code IS NULL")
}

// TestQueuePasses checks which changes have the passes of a program queued, in slices, that the file is closed
// between two of them and the program changes again, and that browsers get no notice.
func TestQueuePasses(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	f := reopen(t, path, Options{Serve: true})
	f.a = f.shop(ShopFields{})
	location := f.location()
	program := f.program(stamps("Coffee"))
	prize := must(f, func(tx *Tx) (Prize, error) {
		return tx.AddPrize(f.a, program, PrizeFields{Name: set("Espresso"), Threshold: setInt(3)})
	})
	var want []int64
	for range 5 {
		want = append(want, f.pass(program))
	}
	f.subscribeTo(f.pageToken(want[0], 0), "https://push.invalid/1")
	f.subscribeTo(f.pageToken(f.key(KindCard, f.card(program)), 0), "https://push.invalid/1")
	f.card(program)
	f.pass(f.program(stamps("Tea")))
	// queued empties the queue, has slices of two cards queued until there are no more, and returns the
	// cards in the queue.
	queued := func() (roots []int64) {
		t.Helper()
		f.sql("DELETE FROM pushes")
		for view(f, (*View).PassesWait) {
			f.must(func(tx *Tx) error { return tx.QueuePasses(2) })
		}
		for _, p := range f.pushes() {
			if p.Copy == CopyBrowser {
				t.Errorf("a browser of the card %d gets a notice", p.Root)
			}
			roots = append(roots, p.Root)
		}
		slices.Sort(roots)
		return roots
	}
	if got := queued(); got != nil {
		t.Errorf("without a change %d are queued", got)
	}
	name := func(s string) ProgramFields { return ProgramFields{Name: set(s)} }
	logo := NewLogo([]byte("a picture"))
	for what, change := range map[string]func(){
		"text":  func() { f.updateProgram(program, name("Espresso")) },
		"pause": func() { f.action(program, Suspend) },
		"prize": func() {
			f.writes(func(tx *Tx) { check(tx.UpdatePrize(f.a, program, prize.ID, PrizeFields{Name: set("Cappuccino")})) })
		},
		"logo":     func() { f.writes(func(tx *Tx) { check(tx.SetProgramLogo(f.a.Shop, program, &logo)) }) },
		"location": func() { f.updateLocation(location, LocationPatch{Name: set("Centrale")}) },
		"shop":     func() { f.updateShop(ShopFields{Name: set("Bar")}) },
	} {
		change()
		got := queued()
		if what == "shop" || what == "location" {
			if len(got) != 6 {
				t.Errorf("%s: of all programs %d are queued, want 6", what, got)
			}
		} else if !slices.Equal(got, want) {
			t.Errorf("%s: %d are queued, want %d", what, got, want)
		}
	}

	f.updateProgram(program, name("Ristretto"))
	f.sql("DELETE FROM pushes")
	f.must(func(tx *Tx) error { return tx.QueuePasses(2) })
	f.Close()
	a := f.a
	f = reopen(t, path, Options{Serve: true})
	f.a = a
	if n := len(f.pushes()); n != 2 {
		t.Errorf("of two slices before the end of the process %d are queued, want 2", n)
	}
	if got := queued(); !slices.Equal(got, want[2:]) {
		t.Errorf("after it %d are queued, want the others, %d", got, want[2:])
	}

	f.updateProgram(program, name("Lungo"))
	f.must(func(tx *Tx) error { return tx.QueuePasses(2) })
	f.updateProgram(program, name("Doppio"))
	if got := queued(); !slices.Equal(got, want) {
		t.Errorf("after a change between two slices %d are queued, want %d", got, want)
	}
	f.deleteProgram(program)
	if got := queued(); !slices.Equal(got, want) {
		t.Errorf("after the program was deleted %d are queued, want %d", got, want)
	}
	f.checkFile()
}
