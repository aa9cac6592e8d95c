package wallet

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"punchcard/server/wallet/apple"
	"punchcard/server/web"
	"punchcard/store"
)

// ApplePass returns the content of a pass, with its texts in all languages.
func ApplePass(p *store.Pass) apple.Pass {
	base := applePass(p, web.Locales[0])
	base.Texts = map[string]map[string]string{}
	own := appleTexts(base)
	for _, language := range web.Locales {
		texts := map[string]string{}
		translated := appleTexts(applePass(p, language))
		for i, text := range own {
			if text != "" {
				texts[text] = translated[i]
			}
		}
		base.Texts[language] = texts
	}
	return base
}

// appleTexts returns the texts of a pass, which are as many in each language.
func appleTexts(a apple.Pass) (texts []string) {
	texts = append(texts, a.Description)
	for _, f := range a.Fields() {
		value, _ := f.Value.(string)
		texts = append(texts, f.Label, value, f.ChangeMessage, f.AttributedValue)
	}
	return texts
}

// AppleHash returns the hash of what a pass shows, by which a change is found.
func AppleHash(p *store.Pass) []byte {
	content := ApplePass(p)
	return digest(struct {
		apple.Pass
		Texts map[string]map[string]string
		Look  apple.Look
	}{content, content.Texts, appleLook(p)})
}

// digest returns the hash of a value in JSON.
func digest(value any) []byte {
	raw, _ := json.Marshal(value)
	sum := sha256.Sum256(raw)
	return sum[:]
}

// applePass returns the content of a pass in a language.
func applePass(p *store.Pass, language string) apple.Pass {
	c := cardIn(language, &p.HolderCard)
	a := apple.Pass{
		PassTypeIdentifier:  p.Wallet.PassType,
		TeamIdentifier:      p.Wallet.Team,
		OrganizationName:    p.Shop.Name,
		SerialNumber:        p.Serial,
		AuthenticationToken: p.Token,
		WebServiceURL:       p.PublicURL + "/wallet/apple",
		Description:         c.ProgramName(),
		LogoText:            p.Shop.Name,
		BackgroundColor:     apple.RGB(p.Program.BgColorHex),
		ForegroundColor:     apple.RGB(p.Program.TextColorHex),
		LabelColor:          apple.RGB(p.Program.TextColorHex),
		Voided:              p.Ended || c.Card.Status == store.StatusExpired || c.Card.Status == store.StatusLocked,
	}
	f := &apple.Fields{}
	switch p.Program.Type {
	case store.ProgramDiscount:
		a.Coupon = f
	case store.ProgramAccess:
		a.Generic = f
	default:
		a.StoreCard = f
	}
	if p.Ended {
		f.Secondary = []apple.Field{{Key: "program", Label: c.T("Card"), Value: c.ProgramName()}}
		f.Back = []apple.Field{{Key: "notice", Label: c.T("This card has ended"), Value: c.T("Ask the shop for a new one.")}}
		return a
	}
	c.fields(f)
	if p.Card.ExpiresAt.Valid {
		a.ExpirationDate = p.Card.ExpiresAt.V.Std()
	}
	a.Barcodes = apple.QR(p.Code, web.GroupCode(p.ShortCode))
	for _, l := range p.Addresses {
		a.Locations = append(a.Locations, apple.Location{Latitude: l.Latitude, Longitude: l.Longitude})
	}
	return a
}

// fields sets the fields of a pass.
func (c Card) fields(f *apple.Fields) {
	face := c.Face()
	add := func(to *[]apple.Field, key, label string, value any, message string) {
		if value != "" {
			*to = append(*to, apple.Field{Key: key, Label: label, Value: value, ChangeMessage: message})
		}
	}
	reached := c.reachedPrizes()
	switch {
	case face.Total > 0:
		// A phone shows one general line if two fields with messages change, so the stamps that make a
		// prize ready have none.
		message := c.T("You have %@ stamps.")
		for _, z := range c.Prizes {
			if over := c.Card.StampsCount - z.Threshold; over >= 0 && over < c.given() {
				message = ""
			}
		}
		add(&f.Header, "count", c.T("Stamps"), fmt.Sprintf("%d/%d", face.Stamps, face.Total), message)
		if face.Next != "" {
			add(&f.Secondary, "next", c.T("{0} more for|{0} more for", face.Missing), face.Next, "")
		}
	case face.Balance != "":
		amount := web.PrinterFor("en").Amount(c.Card.CurrentValue.V, c.Shop.Currency)
		add(&f.Header, "balance", c.T("Balance"), json.Number(amount), c.T("Your balance is %@."))
		f.Header[0].CurrencyCode = c.Shop.Currency
	case face.Percent != "":
		add(&f.Primary, "percent", c.T("Discount"), face.Percent+"%", c.T("Your discount is %@."))
	}
	add(&f.Secondary, "program", c.T("Card"), face.Name, "")
	add(&f.Auxiliary, "holder", c.T("Name"), face.Holder, "")
	if c.Card.ExpiresAt.Valid {
		f.Auxiliary = append(f.Auxiliary, apple.Field{
			Key: "until", Label: c.T("Valid until"), Value: apple.Date(c.Card.ExpiresAt.V.Std()), DateStyle: "PKDateStyleMedium",
		})
	}
	add(&f.Back, "notice", c.T("Note"), c.Notice(), "%@")
	add(&f.Back, "ready", c.T("Ready"), strings.Join(face.Ready, "\n"), "")
	if face.Total > 0 {
		// The field is there before a prize is ready, since a phone says nothing about a new one. It also changes when stamps are
		// taken back, about which it says nothing.
		message := ""
		if reached != "" && c.given() > 0 {
			message = c.T("%@ is ready.")
		}
		add(&f.Back, "prize", c.T("Prize"), cmp.Or(reached, "–"), message)
	}
	var ladder []string
	for _, z := range c.Prizes {
		ladder = append(ladder, c.PrizeName(z.Prize)+": "+c.T("{0} stamp|{0} stamps", z.Threshold))
	}
	add(&f.Back, "prizes", c.T("Prizes"), strings.Join(ladder, "\n"), "")
	add(&f.Back, "about", c.T("About this card"), c.Localized(c.Texts.Descriptions, c.Program.Description), "")
	var places []string
	for _, l := range c.Addresses {
		places = append(places, Joined(", ", l.Name, l.Street, Joined(" ", l.PostalCode, l.City)))
	}
	add(&f.Back, "places", c.T("Where it is valid"), strings.Join(places, "\n"), "")
	f.Back = append(f.Back, apple.Field{
		Key: "page", Label: c.T("Page of the card"), Value: c.PageURL,
		AttributedValue: `<a href="` + c.PageURL + `">` + c.T("Open the page of the card") + "</a>",
	})
}

// given returns how many stamps the newest row of the ledger has given. It is not positive if that was another row than of stamps.
func (c Card) given() int64 {
	if len(c.Transactions) == 0 {
		return 0
	}
	return c.Transactions[0].StampsDelta.V
}

// reachedPrizes returns the prizes of the highest threshold that the card has reached, or else the card before it on which there are
// prizes, also if one was redeemed: the text changes when a prize becomes ready, and not when a newer card begins.
func (c Card) reachedPrizes() (names string) {
	for _, e := range c.EarlierCards {
		names = cmp.Or(c.reachedOf(e.Prizes), names)
	}
	return cmp.Or(c.reachedOf(c.Prizes), names)
}

// reachedOf returns the prizes of the highest threshold that one card of the chain has reached.
func (c Card) reachedOf(ladder []store.LadderPrize) (names string) {
	highest := int64(0)
	for _, z := range ladder {
		if !z.Available && !z.Claimed {
			continue
		}
		if z.Threshold > highest {
			highest, names = z.Threshold, ""
		}
		if z.Threshold == highest {
			names = Joined(" / ", names, c.PrizeName(z.Prize))
		}
	}
	return names
}
