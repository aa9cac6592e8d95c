package tillpage

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/static"
	"punchcard/store"
)

// iconColour is the background of the icon: that of icon.svg of package web.
const iconColour = "#2f45c5"

// iconSizes are the sizes of the icons, in pixels: those of the manifest, and that of iOS.
var iconSizes = map[int]*static.Content{180: newIcon(180), 192: newIcon(192), 512: newIcon(512)}

// newIcon returns an icon, which is drawn when it is first asked for.
func newIcon(size int) *static.Content {
	return static.New(sync.OnceValue(func() []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, drawIcon(size)); err != nil {
			panic(err) // impossible: a buffer does not fail
		}
		return b.Bytes()
	}))
}

// showIcon answers with an icon of the app, such as 192.png.
func (p *Pages) showIcon(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	name, ok := strings.CutSuffix(ps.ByName("name"), ".png")
	size, err := strconv.Atoi(name)
	if !ok || err != nil || iconSizes[size] == nil {
		p.Kernel.AnswerError(w, kernel.Refuse(store.NotFound, "No such icon."))
		return
	}
	p.setFileHeaders(w, "image/png")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	iconSizes[size].ServeHTTP(w, r)
}

// drawIcon draws a card with three stamps and a place for the fourth, over the whole
// square: systems cut its corners themselves. The stamps are within the circle that they
// never cut.
func drawIcon(size int) image.Image {
	ground, white := color.RGBA{0x2f, 0x45, 0xc5, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	unit := float64(size) / 32
	for y := range size {
		for x := range size {
			px, py := (float64(x)+0.5)/unit, (float64(y)+0.5)/unit
			// share is the part of the pixel that is white: within one of four circles, the last of which is a ring.
			share := 0.0
			for i, at := range [][2]float64{{11.5, 11.5}, {20.5, 11.5}, {11.5, 20.5}, {20.5, 20.5}} {
				d := math.Hypot(px-at[0], py-at[1])
				edge := 2.9 - d
				if i == 3 {
					edge = 0.7 - math.Abs(d-2.3)
				}
				share = max(share, min(1, max(0, edge*unit+0.5)))
			}
			m.SetRGBA(x, y, blend(ground, white, share))
		}
	}
	return m
}

// blend returns a colour between two.
func blend(a, b color.RGBA, share float64) color.RGBA {
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + (float64(y)-float64(x))*share)) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}
