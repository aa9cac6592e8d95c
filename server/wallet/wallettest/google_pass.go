package wallettest

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// GooglePhone is an Android phone with objects of Google Wallet.
type GooglePhone struct {
	Google *Google
	Client *http.Client // opens the pages of cards

	holding
}

// Add follows the link that adds a card to Google Wallet, and saves its object. The phone keeps the label.
func (p *GooglePhone) Add(ctx context.Context, url, label string) (h HeldPass, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return h, err
	}
	client := *p.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return h, withoutURL(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		return h, fmt.Errorf("the server answers %d", resp.StatusCode)
	}
	g := p.Google
	id, err := g.Save(resp.Header.Get("Location"))
	if id == "" {
		return h, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holders[id] == nil {
		g.holders[id] = map[*GooglePhone]string{}
	}
	g.holders[id][p] = label
	h = HeldPass{Pass: g.pass(id), Label: label}
	p.keep(h)
	if err != nil { // the callback, of which the owner of the phone learns nothing
		p.change(func(s *PhoneState) { s.Problem = err.Error() })
	}
	return h, nil
}

// show shows an object as it is now on the phones that have it. g.mu is held.
func (g *Google) show(id string) {
	for p, label := range g.holders[id] {
		p.keep(HeldPass{Pass: g.pass(id), Label: label})
	}
}

// pass returns an object as a phone shows it: as a pass, with the keys that fields have in Apple Wallet. g.mu is held.
func (g *Google) pass(id string) *Pass {
	o := g.resources["loyaltyObject/"+id]
	class := g.resources["loyaltyClass/"+jsonText(o, "classId")]
	state := jsonText(o, "state")
	p := &Pass{Serial: id, PassType: jsonText(o, "classId"), Voided: state != "ACTIVE", texts: map[string]map[string]string{}}
	p.content.LogoText = jsonText(class, "programName")
	if rgb, err := hex.DecodeString(strings.TrimPrefix(jsonText(class, "hexBackgroundColor"), "#")); err == nil && len(rgb) == 3 {
		p.content.BackgroundColor = fmt.Sprintf("rgb(%d, %d, %d)", rgb[0], rgb[1], rgb[2])
		if int(rgb[0])+2*int(rgb[1])+int(rgb[2]) > 4*150 { // Google chooses black or white
			p.content.ForegroundColor = "rgb(0, 0, 0)"
		}
	}
	if code := jsonText(o, "barcode", "value"); code != "" {
		p.content.Barcodes = []passBarcode{{Message: code, AltText: jsonText(o, "barcode", "alternateText")}}
	}
	add := func(key, place, label, value string) {
		if value != "" {
			raw, _ := json.Marshal(value)
			p.content.fields = append(p.content.fields, passField{Key: key, Label: label, Value: raw, place: place})
		}
	}
	points, _ := o["loyaltyPoints"].(map[string]any)
	p.translate(points, "label")
	balance := jsonText(points, "balance", "string")
	key := "balance"
	if strings.Contains(balance, "/") {
		key = "count"
	} else if strings.HasSuffix(balance, "%") {
		key = "percent"
	}
	add(key, "primary", jsonText(points, "label"), balance)
	add("holder", "secondary", "Name", jsonText(o, "accountName"))
	texts, _ := o["textModulesData"].([]any)
	for _, t := range texts {
		m, _ := t.(map[string]any)
		p.translate(m, "header")
		p.translate(m, "body")
		add(jsonText(m, "id"), "back", jsonText(m, "header"), jsonText(m, "body"))
	}
	return p
}

// translate keeps the translations of a text.
func (p *Pass) translate(m map[string]any, name string) {
	localized, _ := m["localized"+strings.ToUpper(name[:1])+name[1:]].(map[string]any)
	values, _ := localized["translatedValues"].([]any)
	for _, v := range values {
		t, _ := v.(map[string]any)
		language := jsonText(t, "language")
		if p.texts[language] == nil {
			p.texts[language] = map[string]string{}
		}
		p.texts[language][jsonText(m, name)] = cmp.Or(jsonText(t, "value"), jsonText(m, name))
	}
}
