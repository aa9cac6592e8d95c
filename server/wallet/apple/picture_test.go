package apple

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// TestPassPicture draws a pass of each style from its file. With -artifacts the pictures and files stay.
func TestPassPicture(t *testing.T) {
	for name, c := range samples() {
		file := require.Must(File(c.pass, c.look.pictures(t), testSigner(), time.Now()))
		p, err := testAuthority().reader().Read(file)
		if err != nil {
			t.Fatal(name, err)
		}
		b := require.Must(p.Picture("de"))
		if _, err = png.Decode(bytes.NewReader(b)); err != nil {
			t.Error(err)
		}
		for ending, content := range map[string][]byte{".png": b, ".pkpass": file} {
			require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), name+ending), content, 0o644))
		}
	}
}

// sample is a pass with its pictures.
type sample struct {
	pass Pass
	look Look
}

// samples returns passes of each style, by name.
func samples() map[string]sample {
	all := map[string]sample{}
	add := func(name string, l Look, change func(*Pass)) {
		p := stampPass()
		p.BackgroundColor, p.ForegroundColor, p.LabelColor = RGB(l.Background), RGB(l.Ink), RGB(l.Ink)
		p.StoreCard.Secondary[0].Value = "Free flat white"
		change(&p)
		all[name] = sample{p, l}
	}
	stamps := func(value string) func(*Pass) {
		return func(p *Pass) { p.StoreCard.Header[0].Value = value }
	}
	add("stamps", warm, stamps("3 / 10"))
	dark := Look{
		Brand:      "#F59E0B",
		OnBrand:    "#111111",
		Background: "#1F2937",
		Ink:        "#FFFFFF",
		Stamps:     10,
		Total:      10,
		Prizes:     []int64{10},
		LogoHash:   "1",
	}
	add("full", dark, stamps("10 / 10"))
	plain := Look{Brand: "#1F2937", OnBrand: "#FFFFFF", Background: "#FFFFFF", Ink: "#111111", Total: 6}
	add("empty", plain, func(p *Pass) { p.Voided = true; p.StoreCard.Header[0].Value = "0 / 6" })
	green := Look{
		Brand:      "#0F766E",
		OnBrand:    "#FFFFFF",
		Background: "#F0FDFA",
		Ink:        "#111111",
		Stamps:     25,
		Total:      30,
		Prizes:     []int64{10, 20, 30},
	}
	add("many", green, stamps("25 / 30"))
	green.Total, green.Band = 0, true
	add("prepaid", green, func(p *Pass) {
		p.StoreCard.Header = nil
		p.StoreCard.Primary = []Field{
			{Key: "balance", Label: "Balance", Value: json.Number("42.50"), CurrencyCode: "EUR", ChangeMessage: "Your balance is %@"},
		}
		p.StoreCard.Secondary = []Field{
			{Key: "holder", Label: "Name", Value: "Ada Lovelace"},
			{Key: "until", Label: "Valid until", Value: Date(p.ExpirationDate), DateStyle: "PKDateStyleMedium"},
		}
	})
	dark.Total, dark.Band = 0, true
	add("discount", dark, func(p *Pass) {
		p.Coupon, p.StoreCard = &Fields{
			Primary: []Field{{Key: "discount", Label: "Members save", Value: "15 %"}},
			Secondary: []Field{
				{Key: "holder", Label: "Name", Value: "Ada Lovelace"},
				{Key: "until", Label: "Valid until", Value: Date(p.ExpirationDate), DateStyle: "PKDateStyleMedium"},
			},
		}, nil
	})
	violet := Look{Brand: "#7C3AED", OnBrand: "#FFFFFF", Background: "#4C1D95", Ink: "#FFFFFF"}
	add("access", violet, func(p *Pass) {
		p.LogoText = "The Boulder Hall with a long name"
		p.Generic, p.StoreCard = &Fields{
			Header:    []Field{{Key: "kind", Label: "Access", Value: "Gold"}},
			Primary:   []Field{{Key: "holder", Label: "Member", Value: "Ada King, Countess of Lovelace"}},
			Secondary: []Field{{Key: "until", Label: "Valid until", Value: Date(p.ExpirationDate), DateStyle: "PKDateStyleMedium"}},
		}, nil
	})
	return all
}
