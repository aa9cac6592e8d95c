//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// screenshots is the folder for screenshots; empty: none are made.
var screenshots = os.Getenv("SCREENSHOTS")

// shoot writes a picture of the whole page as it is now.
func (p *Page) shoot(name string) {
	p.t.Helper()
	noError(p.t, os.MkdirAll(screenshots, 0o755))
	noError(p.t, os.WriteFile(filepath.Join(screenshots, name+".png"), p.screenshot(), 0o644))
}

// asks matches the patterns of pages that only ask before a change. They look alike.
var asks = regexp.MustCompile(`/(cancel|codes|deactivate|delete|disable|erase|link|lock|mail|` +
	`publish|receiver|reissue|remove|reverse|revoke|revoke-all|rotate|sign-out|sign-out-everywhere|suspend|unpublish|unsuspend)$`)

// TestPictures takes pictures of each page: of the first visit in the table, except for pages
// that only ask.
func TestPictures(t *testing.T) {
	if screenshots == "" {
		t.Skip("the variable SCREENSHOTS names no folder")
	}
	d := startDemo(t, plainNames)
	d.visitAll(t, func(b *tab, address string, v visit) {
		if !v.first || asks.MatchString(v.pattern) {
			return
		}
		p := openIn(b, address, View{Cookie: v.rules.Cookie, Still: true})
		for _, width := range []int{360, 768, 1280} {
			p.setSize(width, height, 1)
			for _, theme := range []string{"light", "dark"} {
				p.setMedia(theme == "dark", true)
				p.shoot(fmt.Sprintf("%s-%d-%s", v.name, width, theme))
			}
		}
	})
}
