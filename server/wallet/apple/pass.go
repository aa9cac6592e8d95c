package apple

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"punchcard/server/logo"
)

// maxLocations is the maximum number of locations of a pass.
const maxLocations = 10

// Pass is the content of a pass: the file pass.json, and texts in other languages. One of
// StoreCard, Coupon and Generic is set; a pass never changes from one to another.
type Pass struct {
	FormatVersion       int       `json:"formatVersion"` // File sets it
	PassTypeIdentifier  string    `json:"passTypeIdentifier"`
	TeamIdentifier      string    `json:"teamIdentifier"`
	OrganizationName    string    `json:"organizationName"` // the title of notices
	SerialNumber        string    `json:"serialNumber"`
	AuthenticationToken string    `json:"authenticationToken"` // at least 16 characters
	WebServiceURL       string    `json:"webServiceURL"`       // without the /v1/… that phones add
	Description         string    `json:"description"`         // read aloud by VoiceOver
	LogoText            string    `json:"logoText,omitempty"`
	BackgroundColor     string    `json:"backgroundColor"` // see RGB, like the other colours
	ForegroundColor     string    `json:"foregroundColor"` // of values
	LabelColor          string    `json:"labelColor"`
	ExpirationDate      time.Time `json:"expirationDate,omitzero"`
	Voided              bool      `json:"voided,omitempty"`

	StoreCard *Fields `json:"storeCard,omitempty"`
	Coupon    *Fields `json:"coupon,omitempty"`
	Generic   *Fields `json:"generic,omitempty"`

	Barcodes  []Barcode  `json:"barcodes,omitempty"`
	Locations []Location `json:"locations,omitempty"` // File leaves out those at 0,0 and those above ten

	// Texts are translations by language, such as "de": by the label, value or other text as it stands in
	// the pass, that in the language. A text without a translation is shown as it stands.
	Texts map[string]map[string]string `json:"-"`
}

// Fields are the fields of a pass by where they stand. On a pass with a strip picture, the phone writes
// the primary field over it.
type Fields struct {
	Header    []Field `json:"headerFields,omitempty"` // at the top, seen while other passes cover the rest; at most 3
	Primary   []Field `json:"primaryFields,omitempty"`
	Secondary []Field `json:"secondaryFields,omitempty"`
	Auxiliary []Field `json:"auxiliaryFields,omitempty"`
	Back      []Field `json:"backFields,omitempty"`
}

// Fields returns all fields of a pass, from the top of the front to the back.
func (p Pass) Fields() (all []Field) {
	for _, style := range []*Fields{p.StoreCard, p.Coupon, p.Generic} {
		if style != nil {
			all = slices.Concat(style.Header, style.Primary, style.Secondary, style.Auxiliary, style.Back)
		}
	}
	return all
}

// Field is a field of a pass.
type Field struct {
	Key           string `json:"key"` // unique in the pass
	Label         string `json:"label,omitempty"`
	Value         any    `json:"value"`                   // a string or a number, such as json.Number("12.50")
	ChangeMessage string `json:"changeMessage,omitempty"` // shown when the value changes, with the value for %@
	CurrencyCode  string `json:"currencyCode,omitempty"`  // of a number, which the phone formats
	DateStyle     string `json:"dateStyle,omitempty"`     // of a date, such as "PKDateStyleMedium"; see Date
	// AttributedValue is the value with links, for the back: HTML with no element but a.
	AttributedValue string `json:"attributedValue,omitempty"`
}

// Barcode is a code that a pass shows.
type Barcode struct {
	Format          string `json:"format"`
	Message         string `json:"message"`
	MessageEncoding string `json:"messageEncoding"`
	AltText         string `json:"altText,omitempty"` // beneath the code
}

// Location is where a phone suggests a pass on its lock screen.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// QR returns a QR code of an ASCII message with a text beneath.
func QR(message, below string) []Barcode {
	return []Barcode{{Format: "PKBarcodeFormatQR", Message: message, MessageEncoding: "iso-8859-1", AltText: below}}
}

// RGB returns a colour of the form #RRGGBB as passes have it.
func RGB(hex string) string {
	c := logo.ParseColour(hex)
	return fmt.Sprintf("rgb(%d, %d, %d)", c.R, c.G, c.B)
}

// Date returns the value of a field with a DateStyle.
func Date(t time.Time) string {
	return t.Truncate(time.Second).Format(time.RFC3339)
}

// files returns the files of a pass that hold texts, by name.
func (p Pass) files() (Files, error) {
	p.FormatVersion = 1
	p.ExpirationDate = p.ExpirationDate.Truncate(time.Second)
	p.Locations = slices.DeleteFunc(slices.Clone(p.Locations), func(l Location) bool { return l.Latitude == 0 && l.Longitude == 0 })
	p.Locations = p.Locations[:min(len(p.Locations), maxLocations)]
	content, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	files := Files{"pass.json": content}
	for language, texts := range p.Texts {
		if len(texts) > 0 {
			files[language+".lproj/pass.strings"] = stringsFile(texts)
		}
	}
	return files, nil
}

// quoted escapes the text of a strings file, which can hold anything but a zero byte.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", "")

// stringsFile returns translations as a strings file, in UTF-8.
func stringsFile(texts map[string]string) []byte {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		text := cmp.Or(texts[key], key) // an empty translation is none
		b = fmt.Appendf(b, "\"%s\" = \"%s\";\n", quoted.Replace(key), quoted.Replace(text))
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
