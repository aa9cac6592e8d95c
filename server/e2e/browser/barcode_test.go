//go:build browser

package browser

import (
	"image"
	"image/color"
	"strings"
)

// A barcode is a text of bars (1) and blanks (0), each as wide as a module.

// The patterns of digits in EAN and UPC: L on the left, and with parity in EAN-13 G there; R on the
// right.
var (
	eanLeft   = strings.Fields("0001101 0011001 0010011 0111101 0100011 0110001 0101111 0111011 0110111 0001011")
	eanParity = strings.Fields("LLLLLL LLGLGG LLGGLG LLGGGL LGLLGG LGGLLG LGGGLL LGLGLG LGLGGL LGGLGL") // by the first digit
)

var (
	invert  = strings.NewReplacer("0", "1", "1", "0").Replace
	reverse = func(s string) (out string) {
		for _, c := range s {
			out = string(c) + out
		}
		return out
	}
)

// ean returns the barcode of EAN-13, EAN-8 or UPC-A, whose check digit is given.
func ean(digits string) string {
	if len(digits) == 12 {
		digits = "0" + digits
	}
	parity, half := "LLLL", digits
	if len(digits) == 13 {
		parity, half = eanParity[digits[0]-'0'], digits[1:]
	}
	bars := "101"
	for i := range half {
		switch p := eanLeft[half[i]-'0']; {
		case i >= len(parity):
			bars += invert(p)
		case parity[i] == 'G':
			bars += reverse(invert(p))
		default:
			bars += p
		}
		if i == len(parity)-1 {
			bars += "01010"
		}
	}
	return bars + "101"
}

// The widths of bars and blanks, by value.
var code128Widths = strings.Fields(`212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232
	122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123
	212321 232121 111323 131123 131321 112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 313121
	211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224 111422 121124 121421
	141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212 124112
	124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 114311 411113 411311 113141 114131 311141 411131
	211412 211214 211232 2331112`)

// code128 returns the barcode of a text in code set B.
func code128(text string) string {
	const startB, stop = 104, 106
	values, sum := []int{startB}, startB
	for i := range len(text) {
		values = append(values, int(text[i]-' '))
		sum += (i + 1) * int(text[i]-' ')
	}
	bars := ""
	for _, v := range append(values, sum%103, stop) {
		for i, width := range code128Widths[v] {
			bars += strings.Repeat("10"[i%2:i%2+1], int(width-'0'))
		}
	}
	return bars
}

// code39Wide says which of the five bars and four blanks of a sign are wide (1).
var code39Wide = map[rune]string{
	'0': "000110100", '1': "100100001", '2': "001100001", '3': "101100000", '4': "000110001", '5': "100110000", '6': "001110000",
	'7': "000100101", '8': "100100100", '9': "001100100", 'A': "100001001", '-': "010000101", '*': "010010100",
}

// code39 returns the barcode of a text of digits, A and hyphens.
func code39(text string) string {
	bars := ""
	for _, c := range "*" + text + "*" {
		for i, wide := range code39Wide[c] {
			bars += strings.Repeat("10"[i%2:i%2+1], 1+2*int(wide-'0'))
		}
		bars += "0"
	}
	return bars
}

// drawBars draws a barcode with its quiet zone, four pixels for each module.
func drawBars(bars string) *image.RGBA {
	const module, margin = 4, 12
	out := image.NewRGBA(image.Rect(0, 0, (len(bars)+2*margin)*module, 240))
	for x := range out.Bounds().Dx() {
		c := color.White
		if i := x/module - margin; i >= 0 && i < len(bars) && bars[i] == '1' {
			c = color.Black
		}
		for y := range out.Bounds().Dy() {
			out.Set(x, y, c)
		}
	}
	return out
}
