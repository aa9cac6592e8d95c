package command

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"punchcard/server/wire"
	"punchcard/store"
)

// form returns what the flags hold as the form of the operation's fields, and sets the operation of
// an invocation to the one that has the flags.
func (s flagSet) form(i *invocation) (url.Values, error) {
	form := url.Values{}
	first := "" // what has chosen the operation
	for name, text := range s.binding.defaults {
		form.Set(name, text)
	}
	for _, a := range s.binding.args {
		text := s.argument(a.name)
		if text != "" && a.field != "" {
			form.Set(a.field, text)
		}
		if text != "" && a.optional && s.binding.other != nil {
			i.op, first = s.binding.other, "<"+a.name+">"
		}
	}
	var all []string
	flagsChoose := false
	for _, f := range s.flags {
		all = append(all, flagOf(f.Name))
		flagsChoose = flagsChoose || f.op == s.binding.other
		if f.value.IsZero() {
			continue
		}
		if first != "" && f.op != i.op {
			return nil, usagef("%s: must not be given with %s; it needs a command of its own", flagOf(f.Name), first)
		}
		i.op, first = f.op, flagOf(f.Name)
		if err := f.add(form); err != nil {
			return nil, err
		}
	}
	if first == "" && flagsChoose {
		return nil, usagef("missing flags: one of %s", strings.Join(all, ", "))
	}
	return form, nil
}

// add adds the value of a flag to a form. The value of a secret is read later.
func (f fieldFlag) add(form url.Values) error {
	switch v := reflect.Indirect(f.value).Interface().(type) {
	case bool:
		form.Set(f.Name, strconv.FormatBool(v))
	case secretFlag:
		form.Set(f.Name, "")
	case string:
		return f.addText(form, v)
	case []string:
		none := f.clears() && len(v) == 1 && v[0] == "none"
		switch {
		case len(v) == 0 && f.op.Mode == wire.Create: // an empty value: the default
		case f.Kind == wire.KindObjects:
			return addPrizes(form, f.Name, v)
		case f.Kind == wire.KindMap && none:
			form.Set(f.Name+".none", "") // an entry without content leaves an empty object
		case f.Name == headersField:
			return addHeaders(form, v)
		case f.Kind == wire.KindMap:
			return addTexts(form, f.Name, v)
		case none:
			form[f.Name] = []string{""}
		default:
			form[f.Name] = slices.Clone(v)
		}
	}
	return nil
}

// addText adds a text, a number or a time. A form cannot tell an empty text from none, so it is
// refused.
func (f fieldFlag) addText(form url.Values, text string) (err error) {
	none := text == "none" || text == "never" && f.Kind == wire.KindTime
	switch {
	case none && f.clears():
		text = ""
	case strings.TrimSpace(text) == "" && f.clears():
		return usagef("%s: must not be empty; none clears it", flagOf(f.Name))
	case strings.TrimSpace(text) == "":
		return usagef("%s: must not be empty", flagOf(f.Name))
	case f.Kind == wire.KindTime:
		var at store.Time
		if at, err = f.time(text); err == nil {
			text = at.String()
		}
	}
	form.Set(f.Name, text)
	return err
}

// addTexts adds the entries of a field of texts by language.
func addTexts(form url.Values, field string, values []string) error {
	for n, entry := range values {
		language, text, ok := cutPair(entry)
		if !ok {
			return usagef("%s: must be a language and the text, such as it=Caffè", flagOf(fmt.Sprint(field, ".", n)))
		}
		if form.Has(field + "." + language) {
			return usagef("%s: must be given once", flagOf(field+"."+language))
		}
		form.Set(field+"."+language, text)
	}
	return nil
}

// noPrizes is the input of a form that says that a program is to have no prizes, also if its
// template has some. Operations ignore it, as they do names that begin with an underscore.
const noPrizes = "_no_prizes"

// addPrizes adds prizes, each as the stamps that it takes and its name, or none.
func addPrizes(form url.Values, field string, values []string) error {
	if len(values) == 1 && values[0] == "none" {
		form.Set(noPrizes, "true")
		return nil
	}
	for n, entry := range values {
		stamps, name, ok := cutPair(entry)
		if !ok {
			return usagef("%s: must be the number of stamps and the name, such as 10=Free coffee", flagOf(fmt.Sprint(field, ".", n)))
		}
		form.Set(fmt.Sprintf("%s.%d.threshold", field, n), stamps)
		form.Set(fmt.Sprintf("%s.%d.name", field, n), name)
	}
	return nil
}

// cutPair returns what stands before and after an equals sign, and whether there is something at both.
func cutPair(entry string) (key, text string, ok bool) {
	key, text, _ = strings.Cut(entry, "=")
	key, text = strings.TrimSpace(key), strings.TrimSpace(text)
	return key, text, key != "" && text != ""
}

// time returns the time of the flag: one in RFC 3339, or a number of days such as 90d, which is from
// now on for an end, and before now for a period.
func (f fieldFlag) time(text string) (store.Time, error) {
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && strings.HasSuffix(text, "d") && days > 0 && days <= 36500 {
		if !strings.HasSuffix(f.Name, "expires_at") {
			days = -days
		}
		return store.TimeOf(time.Now().AddDate(0, 0, days)), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		or := ""
		if f.clears() {
			or = ", or never"
		}
		return 0, usagef("%s: must be a time such as 2027-01-31T00:00:00Z, or a number of days such as 90d%s", flagOf(f.Name), or)
	}
	return store.TimeOf(at), nil
}
