package dashboard

import (
	"slices"

	"punchcard/server/web"
)

// languageOptions are the languages of pages and programs, each by its own name.
func languageOptions() []web.Option {
	return []web.Option{
		{Value: "en", Label: "English"},
		{Value: "it", Label: "Italiano"},
		{Value: "es", Label: "Español"},
		{Value: "fr", Label: "Français"},
		{Value: "de", Label: "Deutsch"},
		{Value: "pt", Label: "Português"},
	}
}

// currencies are the currencies that a form offers (ISO 4217). A shop may have another,
// set at the command line.
var currencies = []string{
	"EUR", "USD", "GBP", "CHF", "AUD", "BGN", "BRL", "CAD", "CLP", "CNY", "COP", "CZK", "DKK", "HKD", "HUF", "IDR", "ILS", "INR", "ISK",
	"JPY", "KRW", "MAD", "MXN", "MYR", "NOK", "NZD", "PEN", "PHP", "PLN", "RON", "RSD", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "UYU",
	"VND", "ZAR",
}

func currencyOptions(more ...string) (list []web.Option) {
	for _, c := range offered(currencies, more) {
		list = append(list, web.Option{Value: c, Label: c})
	}
	return list
}

// zones are the time zones that a form offers. A shop may have any other of the IANA
// database, set at the command line.
var zones = []string{
	"Europe/Amsterdam", "Europe/Athens", "Europe/Belgrade", "Europe/Berlin", "Europe/Bratislava", "Europe/Brussels", "Europe/Bucharest",
	"Europe/Budapest", "Europe/Copenhagen", "Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon",
	"Europe/Ljubljana", "Europe/London", "Europe/Luxembourg", "Europe/Madrid", "Europe/Malta", "Europe/Oslo", "Europe/Paris",
	"Europe/Prague", "Europe/Riga", "Europe/Rome", "Europe/Sarajevo", "Europe/Skopje", "Europe/Sofia", "Europe/Stockholm",
	"Europe/Tallinn", "Europe/Vienna", "Europe/Vilnius", "Europe/Warsaw", "Europe/Zagreb", "Europe/Zurich", "Atlantic/Azores",
	"Atlantic/Canary", "Atlantic/Madeira", "Atlantic/Reykjavik", "America/Anchorage", "America/Argentina/Buenos_Aires",
	"America/Bogota", "America/Caracas", "America/Chicago", "America/Denver", "America/Guatemala", "America/Guayaquil",
	"America/Halifax", "America/La_Paz", "America/Lima", "America/Los_Angeles", "America/Manaus", "America/Mexico_City",
	"America/Montevideo", "America/New_York", "America/Panama", "America/Phoenix", "America/Santiago", "America/Santo_Domingo",
	"America/Sao_Paulo", "America/St_Johns", "America/Toronto", "America/Vancouver", "Africa/Accra", "Africa/Algiers", "Africa/Cairo",
	"Africa/Casablanca", "Africa/Johannesburg", "Africa/Lagos", "Africa/Luanda", "Africa/Maputo", "Africa/Nairobi", "Africa/Tunis",
	"Asia/Bangkok", "Asia/Beirut", "Asia/Dubai", "Asia/Ho_Chi_Minh", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi",
	"Asia/Kolkata", "Asia/Kuala_Lumpur", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei",
	"Asia/Tokyo", "Australia/Adelaide", "Australia/Brisbane", "Australia/Perth", "Australia/Sydney", "Indian/Mauritius",
	"Pacific/Auckland", "Pacific/Honolulu", "UTC",
}

// zoneOptions returns the zones, and those in more that are not among them.
func zoneOptions(more ...string) []web.Option {
	list := []web.Option{{Value: "", Label: "–"}}
	for _, z := range offered(zones, more) {
		list = append(list, web.Option{Value: z, Label: z})
	}
	return list
}

// offered returns the values, and before them those in more that are not among them.
func offered(values, more []string) (list []string) {
	for _, m := range more {
		if m != "" && !slices.Contains(values, m) {
			list = append(list, m)
		}
	}
	return append(list, values...)
}

// countries are the countries that a form offers, each by its name in its own language, by
// their codes (ISO 3166-1 alpha-2). A shop may be in another, set at the command line.
var countries = []web.Option{
	{Value: "AR", Label: "Argentina"},
	{Value: "AU", Label: "Australia"},
	{Value: "BE", Label: "België, Belgique"},
	{Value: "BO", Label: "Bolivia"},
	{Value: "BA", Label: "Bosna i Hercegovina"},
	{Value: "BR", Label: "Brasil"},
	{Value: "CA", Label: "Canada"},
	{Value: "CZ", Label: "Česko"},
	{Value: "CL", Label: "Chile"},
	{Value: "CO", Label: "Colombia"},
	{Value: "CR", Label: "Costa Rica"},
	{Value: "ME", Label: "Crna Gora"},
	{Value: "DK", Label: "Danmark"},
	{Value: "DE", Label: "Deutschland"},
	{Value: "EC", Label: "Ecuador"},
	{Value: "EE", Label: "Eesti"},
	{Value: "GR", Label: "Ελλάδα"},
	{Value: "ES", Label: "España"},
	{Value: "FR", Label: "France"},
	{Value: "HR", Label: "Hrvatska"},
	{Value: "IN", Label: "India"},
	{Value: "ID", Label: "Indonesia"},
	{Value: "IE", Label: "Ireland"},
	{Value: "IS", Label: "Ísland"},
	{Value: "IL", Label: "ישראל"},
	{Value: "IT", Label: "Italia"},
	{Value: "CY", Label: "Κύπρος"},
	{Value: "LV", Label: "Latvija"},
	{Value: "LT", Label: "Lietuva"},
	{Value: "LI", Label: "Liechtenstein"},
	{Value: "LU", Label: "Luxembourg"},
	{Value: "HU", Label: "Magyarország"},
	{Value: "MA", Label: "Maroc, المغرب"},
	{Value: "MT", Label: "Malta"},
	{Value: "MX", Label: "México"},
	{Value: "NL", Label: "Nederland"},
	{Value: "NZ", Label: "New Zealand"},
	{Value: "JP", Label: "日本"},
	{Value: "NO", Label: "Norge"},
	{Value: "AT", Label: "Österreich"},
	{Value: "PE", Label: "Perú"},
	{Value: "PH", Label: "Philippines"},
	{Value: "PL", Label: "Polska"},
	{Value: "PT", Label: "Portugal"},
	{Value: "RO", Label: "România"},
	{Value: "MK", Label: "Северна Македонија"},
	{Value: "CH", Label: "Schweiz, Suisse, Svizzera"},
	{Value: "AL", Label: "Shqipëria"},
	{Value: "SG", Label: "Singapore"},
	{Value: "SI", Label: "Slovenija"},
	{Value: "SK", Label: "Slovensko"},
	{Value: "ZA", Label: "South Africa"},
	{Value: "RS", Label: "Srbija"},
	{Value: "FI", Label: "Suomi"},
	{Value: "SE", Label: "Sverige"},
	{Value: "TH", Label: "ไทย"},
	{Value: "TR", Label: "Türkiye"},
	{Value: "UA", Label: "Україна"},
	{Value: "GB", Label: "United Kingdom"},
	{Value: "US", Label: "United States"},
	{Value: "UY", Label: "Uruguay"},
	{Value: "VN", Label: "Việt Nam"},
	{Value: "BG", Label: "България"},
}

// countryOptions returns the countries, and current if it is not among them.
func countryOptions(current string) []web.Option {
	list := []web.Option{{Value: "", Label: "–"}}
	if countryName(current) == current && current != "" {
		list = append(list, web.Option{Value: current, Label: current})
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
