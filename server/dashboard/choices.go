package dashboard

import (
	"slices"
	"strings"

	"punchcard/server/web"
)

// currencies are the currencies that a form offers (ISO 4217). A shop may have another,
// set at the command line.
var currencies = strings.Fields(`
	EUR USD GBP CHF AUD BGN BRL CAD CLP CNY COP CZK DKK HKD HUF IDR ILS INR ISK JPY KRW MAD MXN MYR NOK NZD PEN PHP PLN RON RSD SEK SGD
	THB TRY TWD UAH UYU VND ZAR
`)

// itself returns a value that is its own name as a choice.
func itself(value string) web.Option { return web.Option{Value: value, Label: value} }

// zones are the time zones that a form offers. A shop may have any other of the IANA
// database, set at the command line.
var zones = strings.Fields(`
	Europe/Amsterdam Europe/Athens Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Bucharest Europe/Budapest
	Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Kyiv Europe/Lisbon Europe/Ljubljana Europe/London
	Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Oslo Europe/Paris Europe/Prague Europe/Riga Europe/Rome Europe/Sarajevo
	Europe/Skopje Europe/Sofia Europe/Stockholm Europe/Tallinn Europe/Vienna Europe/Vilnius Europe/Warsaw Europe/Zagreb Europe/Zurich
	Atlantic/Azores Atlantic/Canary Atlantic/Madeira Atlantic/Reykjavik America/Anchorage America/Argentina/Buenos_Aires America/Bogota
	America/Caracas America/Chicago America/Denver America/Guatemala America/Guayaquil America/Halifax America/La_Paz America/Lima
	America/Los_Angeles America/Manaus America/Mexico_City America/Montevideo America/New_York America/Panama America/Phoenix
	America/Santiago America/Santo_Domingo America/Sao_Paulo America/St_Johns America/Toronto America/Vancouver Africa/Accra
	Africa/Algiers Africa/Cairo Africa/Casablanca Africa/Johannesburg Africa/Lagos Africa/Luanda Africa/Maputo Africa/Nairobi
	Africa/Tunis Asia/Bangkok Asia/Beirut Asia/Dubai Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Jakarta Asia/Jerusalem Asia/Karachi
	Asia/Kolkata Asia/Kuala_Lumpur Asia/Manila Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei Asia/Tokyo
	Australia/Adelaide Australia/Brisbane Australia/Perth Australia/Sydney Indian/Mauritius Pacific/Auckland Pacific/Honolulu UTC
`)

// zoneOptions returns the zones, and current if it is not among them.
func zoneOptions(current string) []web.Option {
	return append([]web.Option{{Label: "–"}}, each(offered(zones, current), itself)...)
}

// offered returns the values, and before them current if it is not among them.
func offered(values []string, current string) []string {
	if current == "" || slices.Contains(values, current) {
		return values
	}
	return append([]string{current}, values...)
}

// shopChoices are the choices of the forms of a shop.
type shopChoices struct {
	Zones, Countries, Currencies []web.Option
}

// newShopChoices returns the choices for a shop, with what it has already.
func newShopChoices(zone, country, currency string) shopChoices {
	return shopChoices{zoneOptions(zone), countryOptions(country), each(offered(currencies, currency), itself)}
}

// countries are the countries that a form offers, each by its name in its own language, by
// their codes (ISO 3166-1 alpha-2). A shop may be in another, set at the command line.
var countries = each(strings.Split(strings.TrimSpace(`
AR Argentina
AU Australia
BE België, Belgique
BO Bolivia
BA Bosna i Hercegovina
BR Brasil
CA Canada
CZ Česko
CL Chile
CO Colombia
CR Costa Rica
ME Crna Gora
DK Danmark
DE Deutschland
EC Ecuador
EE Eesti
GR Ελλάδα
ES España
FR France
HR Hrvatska
IN India
ID Indonesia
IE Ireland
IS Ísland
IL ישראל
IT Italia
CY Κύπρος
LV Latvija
LT Lietuva
LI Liechtenstein
LU Luxembourg
HU Magyarország
MA Maroc, المغرب
MT Malta
MX México
NL Nederland
NZ New Zealand
JP 日本
NO Norge
AT Österreich
PE Perú
PH Philippines
PL Polska
PT Portugal
RO România
MK Северна Македонија
CH Schweiz, Suisse, Svizzera
AL Shqipëria
SG Singapore
SI Slovenija
SK Slovensko
ZA South Africa
RS Srbija
FI Suomi
SE Sverige
TH ไทย
TR Türkiye
UA Україна
GB United Kingdom
US United States
UY Uruguay
VN Việt Nam
BG България
`), "\n"), func(line string) web.Option {
	code, name, _ := strings.Cut(line, " ")
	return web.Option{Value: code, Label: name}
})

// countryOptions returns the countries, and current if it is not among them.
func countryOptions(current string) []web.Option {
	list := []web.Option{{Label: "–"}}
	if countryName(current) == current && current != "" {
		list = append(list, itself(current))
	}
	return append(list, countries...)
}

// countryName returns the name of a country, or its code where no form offers it.
func countryName(code string) string {
	for _, c := range countries {
		if c.Value == code {
			return c.Label
		}
	}
	return code
}
