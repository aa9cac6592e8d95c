package wallet

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"punchcard/server/wallet/google"
	"punchcard/server/web"
	"punchcard/store"
)

// expiryNotice is how long before its end a card says so.
const expiryNotice = 7 * 24 * time.Hour

// googleTold is what Google shows of a card, as far as it matters for the next change.
type googleTold struct {
	Hash   string     `json:"hash"` // of the object
	Shown  shown      `json:"shown"`
	Warned store.Time `json:"warned,omitempty"` // end of the card, of which the holder was warned
}

// hashOf returns the hash of what Google is to show.
func hashOf(resource any) string { return base64.RawURLEncoding.EncodeToString(digest(resource)) }

// localized returns a text in the language of a shop, and in the others where it differs.
func localized(shop store.Shop, in func(language string) string) (string, *google.Localized) {
	text := in(shop.Language)
	l := &google.Localized{DefaultValue: google.Translation{Language: shop.Language, Value: text}}
	for _, language := range web.Locales {
		if t := in(language); t != text && t != "" {
			l.TranslatedValues = append(l.TranslatedValues, google.Translation{Language: language, Value: t})
		}
	}
	return text, l
}

// googleClass returns what all cards of a program have in common at Google.
func googleClass(p *store.Pass, issuer string) *google.Class {
	logo := cmp.Or(p.LogoHash.V, strings.ToLower(strings.TrimPrefix(p.Program.BrandColorHex, "#")))
	c := &google.Class{
		ID:                 store.GoogleID(issuer, p.Program.ID),
		IssuerName:         p.Shop.Name,
		ProgramLogo:        google.Image{SourceURI: google.URI{URI: p.PublicURL + "/logo/" + logo + ".png"}},
		ReviewStatus:       "UNDER_REVIEW",
		HexBackgroundColor: p.Program.BgColorHex,
		CallbackOptions:    &google.CallbackOptions{URL: p.PublicURL + "/wallet/google/callback"},
	}
	c.ProgramName, c.LocalizedProgramName = localized(p.Shop, func(language string) string {
		return cardIn(language, &p.HolderCard).ProgramName()
	})
	return c
}

// googleObject returns a card as Google shows it. Its texts are those of the pass for Apple Wallet.
func googleObject(p *store.Pass, issuer string) *google.Object {
	c := cardIn(p.Shop.Language, &p.HolderCard)
	pass := ApplePass(p)
	o := &google.Object{
		ID:              store.GoogleID(issuer, p.Serial),
		ClassID:         store.GoogleID(issuer, p.Program.ID),
		State:           google.StateActive,
		TextModulesData: []google.TextModule{},
	}
	text := func(s string) (string, *google.Localized) {
		return localized(p.Shop, func(language string) string { return pass.Texts[language][s] })
	}
	for _, f := range pass.Fields() {
		value, _ := f.Value.(string)
		switch f.Key {
		case "count", "percent", "balance":
			label, all := text(f.Label)
			if f.Key == "balance" {
				value = c.Face().Balance
			}
			o.LoyaltyPoints = &google.Points{Label: label, LocalizedLabel: all, Balance: google.Balance{String: value}}
		case "page", "program", "prize", "holder", "until": // which the object has elsewhere
		default:
			m := google.TextModule{ID: f.Key}
			m.Header, m.LocalizedHeader = text(f.Label)
			m.Body, m.LocalizedBody = text(value)
			o.TextModulesData = append(o.TextModulesData, m)
		}
	}
	if p.Ended {
		o.State, o.Messages = google.StateInactive, []google.Message{} // those that it has are removed
		return o
	}
	switch c.blocked() {
	case store.StatusExpired:
		o.State = google.StateExpired
	case store.StatusLocked:
		o.State = google.StateInactive
	}
	o.Barcode = &google.Barcode{Type: "QR_CODE", Value: p.Code, AlternateText: web.GroupCode(p.ShortCode)}
	if p.Card.HolderName.V != "" {
		o.AccountName = &p.Card.HolderName.V
	}
	o.LinksModuleData = &google.Links{URIs: []google.URI{{ID: "page", URI: p.PageURL, Description: c.T("Page of the card")}}}
	if p.Card.ExpiresAt.Valid {
		o.ValidTimeInterval = &google.Interval{End: google.DateTime{Date: p.Card.ExpiresAt.V.Std().UTC().Format(time.RFC3339)}}
	}
	return o
}

// expiryWarning returns when an object changes by time alone, and the message that its card ends soon, if that is due.
func expiryWarning(p *store.Pass, told *googleTold, now store.Time) (next store.Null[store.Time], m *google.Message) {
	end := p.Card.ExpiresAt
	if !end.Valid || end.V <= now || told.Shown.Blocked != "" {
		return next, nil
	}
	if from := end.V.Add(-expiryNotice); now < from {
		return store.Some(from), nil
	}
	if told.Warned != end.V {
		told.Warned = end.V
		m = &google.Message{ID: "expiry-" + strconv.FormatInt(int64(end.V), 36), Header: p.Shop.Name}
		m.Body, m.LocalizedBody = localized(p.Shop, func(language string) string {
			c := cardIn(language, &p.HolderCard)
			return c.T("Valid until {0}", c.Date(end.V.Std()))
		})
	}
	return end, m
}
