package store

import (
	"path"
	"testing"
	"time"
)

// TestInstall checks that an installation installs the whole chain, and what the holder sees.
func TestInstall(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	c := k.issue(program, CardFields{HolderName: set("Ada")})
	child := k.stamped(c.ID, 13).OverflowCard.ID
	installed := k.clock.at()
	page := k.opts.PublicURL + "/c/" + k.pageToken(k.key(KindCard, c.ID), 0)
	for range 2 { // the second installation changes nothing
		out, err := k.install(c.InstallURL)
		if d := k.get(c.ID); err != nil || out != (Installation{page, "apple", installed}) ||
			d.Status != StatusActive ||
			d.InstalledAt != Some(installed) {
			t.Fatalf("installed is %+v, %+v, %v", out, d, err)
		}
		k.clock.move(time.Hour)
	}
	if d := k.get(child); d.InstalledAt != Some(installed) {
		t.Errorf("the child is %+v", d.Card)
	}
	code := k.shortCode(c.ID)
	k.reads(func(v *View) {
		h, err := v.HolderCard(path.Base(c.InstallURL))
		if err != nil || h.Code != k.cardCode(k.key(KindCard, c.ID), 0) || h.ShortCode != code || h.Card.ID != child {
			t.Errorf("the holder sees %+v, %v", h, err)
		}
	})
	k.checkFile()
}
