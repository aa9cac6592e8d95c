package web

// locale is how a language writes dates and numbers, after the Unicode Common Locale
// Data Repository.
type locale struct {
	lang         string
	zeroIsOne    bool       // zero is singular
	decimal      string     // between units and decimals
	group        string     // between groups of three digits
	groupAt      int        // digits from which a number is grouped
	moneyBefore  bool       // the currency is before the amount
	percentSpace string     // before the percent sign
	months       [12]string // within a date
	shortMonths  [12]string
	weekdays     [7]string // from Sunday
	shortDays    [7]string
	date         string // {d} day, {m} month, {s} short month, {y} year, {w} weekday
	longDate     string
	dayMonth     string
	monthYear    string
	dateTime     string // {date}, {time}
	monday       bool   // weeks begin on Monday
}

func (l *locale) isOne(n int64) bool { return n == 1 || n == -1 || n == 0 && l.zeroIsOne }

const (
	nbsp       = "\u00a0"
	narrowNbsp = "\u202f"
)

var localeOf = map[string]*locale{
	"en": {
		lang: "en", decimal: ".", group: ",", groupAt: 4, moneyBefore: true, monday: true,
		months: [12]string{
			"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
			"November", "December",
		},
		shortMonths: [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"},
		weekdays:    [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		shortDays:   [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		date:        "{d} {s} {y}", longDate: "{w}, {d} {m} {y}", dayMonth: "{d} {s}", monthYear: "{m} {y}", dateTime: "{date}, {time}",
	},
	"it": {
		lang: "it", decimal: ",", group: ".", groupAt: 5, monday: true,
		months: [12]string{
			"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre",
			"novembre", "dicembre",
		},
		shortMonths: [12]string{"gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"},
		weekdays:    [7]string{"domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"},
		shortDays:   [7]string{"dom", "lun", "mar", "mer", "gio", "ven", "sab"},
		date:        "{d} {s} {y}", longDate: "{w} {d} {m} {y}", dayMonth: "{d} {s}", monthYear: "{m} {y}", dateTime: "{date}, {time}",
	},
	"es": {
		lang: "es", decimal: ",", group: ".", groupAt: 5, percentSpace: nbsp, monday: true,
		months: [12]string{
			"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
			"noviembre", "diciembre",
		},
		shortMonths: [12]string{"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"},
		weekdays:    [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
		shortDays:   [7]string{"dom", "lun", "mar", "mié", "jue", "vie", "sáb"},
		date:        "{d} {s} {y}", longDate: "{w}, {d} de {m} de {y}", dayMonth: "{d} {s}", monthYear: "{m} de {y}", dateTime: "{date}, {time}",
	},
	"fr": {
		lang: "fr", zeroIsOne: true, decimal: ",", group: narrowNbsp, groupAt: 4, percentSpace: narrowNbsp, monday: true,
		months: [12]string{
			"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
			"décembre",
		},
		shortMonths: [12]string{"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."},
		weekdays:    [7]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
		shortDays:   [7]string{"dim.", "lun.", "mar.", "mer.", "jeu.", "ven.", "sam."},
		date:        "{d} {s} {y}", longDate: "{w} {d} {m} {y}", dayMonth: "{d} {s}", monthYear: "{m} {y}", dateTime: "{date}, {time}",
	},
	"de": {
		lang: "de", decimal: ",", group: ".", groupAt: 4, percentSpace: nbsp, monday: true,
		months: [12]string{
			"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
			"Dezember",
		},
		shortMonths: [12]string{"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."},
		weekdays:    [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		shortDays:   [7]string{"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
		date:        "{d}. {s} {y}", longDate: "{w}, {d}. {m} {y}", dayMonth: "{d}. {s}", monthYear: "{m} {y}", dateTime: "{date}, {time}",
	},
	"pt": {
		lang: "pt", decimal: ",", group: nbsp, groupAt: 5, monday: true,
		months: [12]string{
			"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro",
			"novembro", "dezembro",
		},
		shortMonths: [12]string{"jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."},
		weekdays:    [7]string{"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"},
		shortDays:   [7]string{"dom", "seg", "ter", "qua", "qui", "sex", "sáb"},
		date:        "{d} {s} {y}", longDate: "{w}, {d} de {m} de {y}", dayMonth: "{d} {s}", monthYear: "{m} de {y}", dateTime: "{date}, {time}",
	},
}

// currencyDecimals are the decimals of currencies that do not have two (ISO 4217).
var currencyDecimals = map[string]int{
	"BHD": 3, "CLP": 0, "IQD": 3, "ISK": 0, "JOD": 3, "JPY": 0, "KRW": 0, "KWD": 3, "LYD": 3, "OMR": 3,
	"PYG": 0, "RWF": 0, "TND": 3, "UGX": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}

// currencySigns are the signs of currencies. Others are shown by their code.
var currencySigns = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
