//go:build browser

package browser

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// screenshots is the folder for screenshots; empty: none are made.
var screenshots = os.Getenv("SCREENSHOTS")

// opaque matches the parts of a path that differ from run to run: ids and tokens.
var opaque = regexp.MustCompile(`^([a-z]+_)?[A-Za-z0-9_-]{16,}$`)

// pictureName returns the name of a page's screenshots: its path, without ids.
func pictureName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "page"
	}
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(u.Path, "/"), "/") {
		if !opaque.MatchString(part) {
			parts = append(parts, part)
		}
	}
	if u.RawQuery != "" {
		parts = append(parts, regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(u.RawQuery, "-"))
	}
	if name := strings.Join(parts, "-"); name != "" {
		return name
	}
	return "start"
}

// Shoot writes pictures of a whole page into the folder that the variable SCREENSHOTS
// names, for people to look at: 360, 768 and 1280 pixels wide, in both themes. Without
// the variable it does nothing. The name is that of the files; empty: one after the path.
func Shoot(t testing.TB, url string, cookie *http.Cookie, name string) {
	t.Helper()
	if screenshots == "" {
		return
	}
	p := Open(t, url, View{Cookie: cookie, Still: true})
	for _, width := range []int{360, 768, 1280} {
		p.setSize(width, height, 1)
		for _, theme := range []string{"light", "dark"} {
			p.setMedia(theme == "dark", true)
			p.ShootAs(fmt.Sprintf("%s-%d-%s", cmp.Or(name, pictureName(url)), width, theme))
		}
	}
}

// ShootAs writes a picture of the whole page as it is now, if pictures are wanted.
func (p *Page) ShootAs(name string) {
	p.t.Helper()
	if screenshots == "" {
		return
	}
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
	d.visitAll(t, func(t *testing.T, address string, v visit) {
		if !v.first || asks.MatchString(v.pattern) {
			return
		}
		Shoot(t, address, v.rules.Cookie, v.rules.Picture)
	})
}
