package wallettest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// passContent is the content of pass.json, with all keys that a card may have.
type passContent struct {
	FormatVersion       int             `json:"formatVersion"`
	PassTypeIdentifier  string          `json:"passTypeIdentifier"`
	TeamIdentifier      string          `json:"teamIdentifier"`
	OrganizationName    string          `json:"organizationName"`
	SerialNumber        string          `json:"serialNumber"`
	Description         string          `json:"description"`
	AuthenticationToken string          `json:"authenticationToken"`
	WebServiceURL       string          `json:"webServiceURL"`
	LogoText            string          `json:"logoText"`
	BackgroundColor     string          `json:"backgroundColor"`
	ForegroundColor     string          `json:"foregroundColor"`
	LabelColor          string          `json:"labelColor"`
	SuppressStripShine  bool            `json:"suppressStripShine"`
	SharingProhibited   bool            `json:"sharingProhibited"`
	RelevantDate        string          `json:"relevantDate"`
	MaxDistance         float64         `json:"maxDistance"`
	ExpirationDate      string          `json:"expirationDate"`
	Voided              bool            `json:"voided"`
	Barcodes            []passBarcode   `json:"barcodes"`
	Locations           []passLocation  `json:"locations"`
	UserInfo            json.RawMessage `json:"userInfo"`
	StoreCard           *passFields     `json:"storeCard"`
	Coupon              *passFields     `json:"coupon"`
	Generic             *passFields     `json:"generic"`

	fields []passField // all of the style, from the top to the back
}

type passFields struct {
	Header    []passField `json:"headerFields"`
	Primary   []passField `json:"primaryFields"`
	Secondary []passField `json:"secondaryFields"`
	Auxiliary []passField `json:"auxiliaryFields"`
	Back      []passField `json:"backFields"`
}

type passField struct {
	Key               string          `json:"key"`
	Label             string          `json:"label"`
	Value             json.RawMessage `json:"value"`
	AttributedValue   string          `json:"attributedValue"`
	ChangeMessage     string          `json:"changeMessage"`
	CurrencyCode      string          `json:"currencyCode"`
	NumberStyle       string          `json:"numberStyle"`
	DateStyle         string          `json:"dateStyle"`
	TimeStyle         string          `json:"timeStyle"`
	IsRelative        bool            `json:"isRelative"`
	IgnoresTimeZone   bool            `json:"ignoresTimeZone"`
	TextAlignment     string          `json:"textAlignment"`
	DataDetectorTypes []string        `json:"dataDetectorTypes"`

	place string // such as "header"
}

type passBarcode struct {
	Format          string `json:"format"`
	Message         string `json:"message"`
	MessageEncoding string `json:"messageEncoding"`
	AltText         string `json:"altText"`
}

type passLocation struct {
	Latitude     *float64 `json:"latitude"`
	Longitude    *float64 `json:"longitude"`
	Altitude     float64  `json:"altitude"`
	RelevantText string   `json:"relevantText"`
}

// readContent reads and checks pass.json.
func (p *Pass) readContent(allowHTTP bool) error {
	c := &p.content
	d := json.NewDecoder(bytes.NewReader(p.files["pass.json"]))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	if c.FormatVersion != 1 {
		return fmt.Errorf("formatVersion is %d, not 1", c.FormatVersion)
	}
	for name, value := range map[string]string{
		"passTypeIdentifier": c.PassTypeIdentifier, "teamIdentifier": c.TeamIdentifier, "organizationName": c.OrganizationName,
		"serialNumber": c.SerialNumber, "description": c.Description,
	} {
		if value == "" {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if len(c.SerialNumber) > 100 {
		return fmt.Errorf("serialNumber has %d characters", len(c.SerialNumber))
	}
	for _, check := range []func() error{
		func() error { return checkService(c.WebServiceURL, c.AuthenticationToken, allowHTTP) },
		func() error { return checkColours(c.BackgroundColor, c.ForegroundColor, c.LabelColor) },
		func() error { return checkBarcodes(c.Barcodes) },
		func() error { return checkLocations(c.Locations) },
		p.readStyle,
		p.readExpiry,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	p.PassType, p.Team, p.Serial = c.PassTypeIdentifier, c.TeamIdentifier, c.SerialNumber
	p.Token, p.WebServiceURL, p.Voided = c.AuthenticationToken, c.WebServiceURL, c.Voided
	return nil
}

func (p *Pass) readExpiry() (err error) {
	if p.content.ExpirationDate != "" {
		if p.Expires, err = parseDate(p.content.ExpirationDate); err != nil {
			err = fmt.Errorf("expirationDate: %w", err)
		}
	}
	return err
}

// parseDate returns a date as passes have it: with a time zone, and with or without seconds.
func parseDate(s string) (time.Time, error) {
	if t, err := time.Parse("2006-01-02T15:04Z07:00", s); err == nil {
		return t, nil
	}
	if strings.Contains(s, ".") {
		return time.Time{}, fmt.Errorf("%q has parts of a second", s)
	}
	return time.Parse(time.RFC3339, s)
}

// checkService checks the address of the web service.
func checkService(address, token string, allowHTTP bool) error {
	if address == "" && token == "" {
		return nil // the pass never changes
	}
	if len(token) < 16 {
		return fmt.Errorf("authenticationToken has %d characters, and needs 16", len(token))
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("webServiceURL: %w", err)
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("webServiceURL is %q", address)
	case slices.Contains(strings.Split(u.Path, "/"), "v1"):
		return errors.New("webServiceURL has the /v1 that phones add")
	case u.Scheme == "https":
	case u.Scheme != "http" || !allowHTTP || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return errors.New("webServiceURL is not https")
	}
	return nil
}

var colourForm = regexp.MustCompile(`^rgb\( *(\d{1,3}) *, *(\d{1,3}) *, *(\d{1,3}) *\)$`)

func checkColours(colours ...string) error {
	for _, c := range colours {
		if _, ok := parseRGB(c); !ok && c != "" {
			return fmt.Errorf("the colour %q is not of the form rgb(0, 0, 0)", c)
		}
	}
	return nil
}

// parseRGB returns the parts of a colour.
func parseRGB(s string) (rgb [3]uint8, ok bool) {
	m := colourForm.FindStringSubmatch(s)
	for i := range rgb {
		if m == nil {
			return rgb, false
		}
		n, _ := strconv.Atoi(m[i+1])
		if n > 255 {
			return rgb, false
		}
		rgb[i] = uint8(n)
	}
	return rgb, true
}

var barcodeFormats = []string{"PKBarcodeFormatQR", "PKBarcodeFormatPDF417", "PKBarcodeFormatAztec", "PKBarcodeFormatCode128"}

func checkBarcodes(barcodes []passBarcode) error {
	for _, b := range barcodes {
		switch {
		case !slices.Contains(barcodeFormats, b.Format):
			return fmt.Errorf("barcodes: format is %q", b.Format)
		case b.Message == "":
			return errors.New("barcodes: message is missing")
		case b.MessageEncoding != "iso-8859-1" && b.MessageEncoding != "utf-8":
			return fmt.Errorf("barcodes: messageEncoding is %q", b.MessageEncoding)
		case b.MessageEncoding == "iso-8859-1" && strings.ContainsFunc(b.Message, func(r rune) bool { return r > 255 }):
			return errors.New("barcodes: message has characters outside of iso-8859-1")
		}
	}
	return nil
}

func checkLocations(locations []passLocation) error {
	if len(locations) > 10 {
		return fmt.Errorf("there are %d locations, and may be 10", len(locations))
	}
	for _, l := range locations {
		switch {
		case l.Latitude == nil || l.Longitude == nil:
			return errors.New("locations: latitude or longitude is missing")
		case *l.Latitude < -90 || *l.Latitude > 90 || *l.Longitude < -180 || *l.Longitude > 180:
			return fmt.Errorf("locations: %g, %g is not on Earth", *l.Latitude, *l.Longitude)
		case *l.Latitude == 0 && *l.Longitude == 0:
			return errors.New("locations: 0, 0 is no location of a shop")
		}
	}
	return nil
}

// readStyle reads the fields of the one style.
func (p *Pass) readStyle() error {
	c := &p.content
	var fields *passFields
	for style, f := range map[string]*passFields{"storeCard": c.StoreCard, "coupon": c.Coupon, "generic": c.Generic} {
		if f != nil {
			if fields != nil {
				return errors.New("there are two styles")
			}
			p.Style, fields = style, f
		}
	}
	if fields == nil {
		return errors.New("there is no style")
	}
	switch {
	case len(fields.Header) > 3:
		return fmt.Errorf("there are %d header fields, and may be 3", len(fields.Header))
	case len(fields.Primary) > 1:
		return fmt.Errorf("there are %d primary fields, and may be 1", len(fields.Primary))
	case len(fields.Secondary)+len(fields.Auxiliary) > 4:
		return fmt.Errorf("there are %d secondary and auxiliary fields, and may be 4", len(fields.Secondary)+len(fields.Auxiliary))
	}
	for _, row := range []struct {
		place  string
		fields []passField
	}{
		{"header", fields.Header}, {"primary", fields.Primary}, {"secondary", fields.Secondary},
		{"auxiliary", fields.Auxiliary}, {"back", fields.Back},
	} {
		for _, f := range row.fields {
			f.place = row.place
			if f.Key == "" || slices.ContainsFunc(c.fields, func(g passField) bool { return g.Key == f.Key }) {
				return fmt.Errorf("%s field %q: the key is missing or stands twice", f.place, f.Key)
			}
			if err := f.check(); err != nil {
				return fmt.Errorf("%s field %q: %w", f.place, f.Key, err)
			}
			c.fields = append(c.fields, f)
		}
	}
	return nil
}

var (
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	linkForm     = regexp.MustCompile(`<a href=(?:'[^'<>]*'|"[^"<>]*")>[^<>]*</a>`)
	dateStyles   = []string{"", "PKDateStyleNone", "PKDateStyleShort", "PKDateStyleMedium", "PKDateStyleLong", "PKDateStyleFull"}
	numberStyles = []string{"", "PKNumberStyleDecimal", "PKNumberStylePercent", "PKNumberStyleScientific", "PKNumberStyleSpellOut"}
	alignments   = []string{"", "PKTextAlignmentLeft", "PKTextAlignmentCenter", "PKTextAlignmentRight", "PKTextAlignmentNatural"}
)

// check checks a field.
func (f passField) check() error {
	text, number, err := f.value()
	if err != nil {
		return err
	}
	if f.DateStyle+f.TimeStyle != "" {
		if _, err := parseDate(text); err != nil {
			return fmt.Errorf("value: %w", err)
		}
	}
	switch {
	case f.CurrencyCode != "" && !currencyForm.MatchString(f.CurrencyCode):
		return fmt.Errorf("currencyCode is %q", f.CurrencyCode)
	case f.CurrencyCode+f.NumberStyle != "" && number == "":
		return errors.New("value is no number")
	case f.CurrencyCode != "" && f.NumberStyle != "":
		return errors.New("currencyCode and numberStyle exclude each other")
	case !slices.Contains(dateStyles, f.DateStyle):
		return fmt.Errorf("dateStyle is %q", f.DateStyle)
	case !slices.Contains(dateStyles, f.TimeStyle):
		return fmt.Errorf("timeStyle is %q", f.TimeStyle)
	case !slices.Contains(numberStyles, f.NumberStyle):
		return fmt.Errorf("numberStyle is %q", f.NumberStyle)
	case !slices.Contains(alignments, f.TextAlignment):
		return fmt.Errorf("textAlignment is %q", f.TextAlignment)
	case f.place == "primary" && f.TextAlignment != "":
		return errors.New("a primary field has no textAlignment")
	case strings.ContainsAny(linkForm.ReplaceAllString(f.AttributedValue, ""), "<>"):
		return errors.New("attributedValue has an element that is no link")
	}
	return checkChangeMessage(f.ChangeMessage)
}

// value returns the value of a field, which is a text or a number.
func (f passField) value() (text string, number json.Number, err error) {
	switch {
	case len(f.Value) == 0:
		return "", "", errors.New("value is missing")
	case json.Unmarshal(f.Value, &text) == nil && f.Value[0] == '"':
		return text, "", nil
	case f.Value[0] != '"' && json.Unmarshal(f.Value, &number) == nil && number != "":
		return "", number, nil
	}
	return "", "", errors.New("value is neither text nor number")
}

// checkChangeMessage checks that a message has the new value at most once, and no other placeholder.
func checkChangeMessage(s string) error {
	if strings.Count(s, "%") > 1 || strings.Count(s, "%") != strings.Count(s, "%@") {
		return errors.New("changeMessage has another % than one %@")
	}
	return nil
}
