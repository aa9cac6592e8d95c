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
	add("stamps", warm, func(p *Pass) { p.Voided = true })
	dark := Look{
		Brand:      "#F59E0B",
		OnBrand:    "#111111",
		Background: "#1F2937",
		Ink:        "#FFFFFF",
		Band:       true,
		LogoHash:   "1",
	}
	green := Look{Brand: "#0F766E", OnBrand: "#FFFFFF", Background: "#F0FDFA", Ink: "#111111", Band: true}
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
