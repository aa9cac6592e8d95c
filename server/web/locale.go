package web

import "strings"

// locale is how a language writes dates and numbers, after the Unicode Common Locale
// Data Repository.
type locale struct {
	zeroIsOne    bool     // zero is singular
	decimal      string   // between units and decimals
	group        string   // between groups of three digits
	groupAt      int      // digits from which a number is grouped
	moneyBefore  bool     // the currency is before the amount
	percentSpace string   // before the percent sign
	months       []string // within a date
	shortMonths  []string
	weekdays     []string // from Sunday
	shortDays    []string
	date         string // see Printer.format
	longDate     string
	dayMonth     string
}

func (l *locale) isOne(n int64) bool { return n == 1 || n == -1 || n == 0 && l.zeroIsOne }

const (
	nbsp       = "\u00a0"
	narrowNbsp = "\u202f"
)

var localeOf = map[string]*locale{
	"en": {
		decimal: ".", group: ",", groupAt: 4, moneyBefore: true,
		months:      strings.Fields("January February March April May June July August September October November December"),
		shortMonths: strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec"),
		weekdays:    strings.Fields("Sunday Monday Tuesday Wednesday Thursday Friday Saturday"),
		shortDays:   strings.Fields("Sun Mon Tue Wed Thu Fri Sat"),
		date:        "{d} {s} {y}", longDate: "{w}, {d} {m} {y}", dayMonth: "{d} {s}",
	},
	"it": {
		decimal: ",", group: ".", groupAt: 5,
		months:      strings.Fields("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		shortMonths: strings.Fields("gen feb mar apr mag giu lug ago set ott nov dic"),
		weekdays:    strings.Fields("domenica lunedì martedì mercoledì giovedì venerdì sabato"),
		shortDays:   strings.Fields("dom lun mar mer gio ven sab"),
		date:        "{d} {s} {y}", longDate: "{w} {d} {m} {y}", dayMonth: "{d} {s}",
	},
	"es": {
		decimal: ",", group: ".", groupAt: 5, percentSpace: nbsp,
		months:      strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		shortMonths: strings.Fields("ene feb mar abr may jun jul ago sept oct nov dic"),
		weekdays:    strings.Fields("domingo lunes martes miércoles jueves viernes sábado"),
		shortDays:   strings.Fields("dom lun mar mié jue vie sáb"),
		date:        "{d} {s} {y}", longDate: "{w}, {d} de {m} de {y}", dayMonth: "{d} {s}",
	},
	"fr": {
		zeroIsOne: true, decimal: ",", group: narrowNbsp, groupAt: 4, percentSpace: narrowNbsp,
		months:      strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		shortMonths: strings.Fields("janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."),
		weekdays:    strings.Fields("dimanche lundi mardi mercredi jeudi vendredi samedi"),
		shortDays:   strings.Fields("dim. lun. mar. mer. jeu. ven. sam."),
		date:        "{d} {s} {y}", longDate: "{w} {d} {m} {y}", dayMonth: "{d} {s}",
	},
	"de": {
		decimal: ",", group: ".", groupAt: 4, percentSpace: nbsp,
		months:      strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		shortMonths: strings.Fields("Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez."),
		weekdays:    strings.Fields("Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag"),
		shortDays:   strings.Fields("So Mo Di Mi Do Fr Sa"),
		date:        "{d}. {s} {y}", longDate: "{w}, {d}. {m} {y}", dayMonth: "{d}. {s}",
	},
	"pt": {
		decimal: ",", group: nbsp, groupAt: 5,
		months:      strings.Fields("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
		shortMonths: strings.Fields("jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez."),
		weekdays:    strings.Fields("domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado"),
		shortDays:   strings.Fields("dom seg ter qua qui sex sáb"),
		date:        "{d} {s} {y}", longDate: "{w}, {d} de {m} de {y}", dayMonth: "{d} {s}",
	},
}

// currencySigns are the signs of currencies. Others are shown by their code.
var currencySigns = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
