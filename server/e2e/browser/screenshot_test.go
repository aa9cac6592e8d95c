//go:build browser

package browser

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		p.t.Fatal(err)
	}
	scale := 1.0
	if eval[int](p, `() => innerWidth`) > 400 {
		scale = 0.625 // the letters of a wide window can still be read
	}
	picture, err := small(p.screenshot(scale))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// asks matches the patterns of pages that only ask before a change. They look alike.
var asks = regexp.MustCompile(`/(cancel|codes|deactivate|delete|disable|erase|link|lock|mail|publish|receiver|reissue|remove|reverse|revoke|revoke-all|rotate|sign-out|sign-out-everywhere|suspend|unpublish|unsuspend)$`)

// TestPictures takes the pictures in testdata/screenshots: of each page the first visit in
// the table, except for pages that only ask.
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

// maxColours is how many colours a picture has. The first exactColours are the most
// frequent ones; each of the others is minDistance from all, so that rare ones are among
// them.
const (
	maxColours   = 28
	exactColours = 10
	minDistance  = 24
)

// distance returns how different two colours are, from 0 to 442.
func distance(a, b color.Color) float64 {
	sum := 0.0
	ra, ga, ba, _ := a.RGBA()
	rb, gb, bb, _ := b.RGBA()
	for _, d := range []float64{float64(ra) - float64(rb), float64(ga) - float64(gb), float64(ba) - float64(bb)} {
		sum += d * d / 257 / 257
	}
	return math.Sqrt(sum)
}

// small returns a picture with few colours.
func small(raw []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	count, bounds := map[color.NRGBA]int{}, full.Bounds()
	at := func(x, y int) color.NRGBA {
		c := color.NRGBAModel.Convert(full.At(x, y)).(color.NRGBA)
		return color.NRGBA{c.R | 1, c.G | 1, c.B | 1, 255}
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.NRGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(uint32(a.R)<<16|uint32(a.G)<<8|uint32(a.B), uint32(b.R)<<16|uint32(b.G)<<8|uint32(b.B)))
	})
	var palette color.Palette
	near := func(c color.Color) bool {
		return len(palette) >= exactColours && distance(c, palette[palette.Index(c)]) < minDistance
	}
	for _, c := range all {
		if len(palette) < maxColours && !near(c) {
			palette = append(palette, c)
		}
	}
	index := make(map[color.NRGBA]uint8, len(all))
	for _, c := range all {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&b, out)
	return b.Bytes(), err
}
