package command

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/app"
	"punchcard/server/templates"
	"punchcard/server/web"
	"punchcard/store"
)

// templateFlag is the flag of commands that make a program of a template.
type templateFlag struct {
	Template string `env:"-" placeholder:"coffee|pizza|gym|gift|discount" help:"Template of the program: a stamp card for coffee or pizza, a gym pass, a gift card or a discount of 10 %, with texts in the language of the shop. Other flags change what it has."`
}

// find returns the template of the flag.
func (f templateFlag) find() (templates.Template, error) {
	t, ok := templates.Find(f.Template)
	if !ok {
		keys := templates.Keys()
		last := len(keys) - 1
		return t, usagef("--template: must be %s or %s", strings.Join(keys[:last], ", "), keys[last])
	}
	return t, nil
}

// templateFlags are the flags of program create that no field has.
type templateFlags struct {
	templateFlag
	PublicURL string `name:"public-url" placeholder:"URL" help:"Public URL of the server, where the picture of the template gym is. Needed for that alone. Default: that which init was given for the file."`
}

// prepare makes the command fill in what the template has.
func (f *templateFlags) prepare(i *invocation) error {
	if f.Template != "" {
		i.fill = f.fill
	}
	return nil
}

// fill adds to the form of a new program what its template has and no flag gives.
func (f *templateFlags) fill(form url.Values, sh store.Shop, st *store.Store) error {
	t, err := f.find()
	if err != nil {
		return err
	}
	publicURL := cmp.Or(sh.PublicURL.V, f.PublicURL)
	if publicURL == "" && st != nil {
		publicURL = st.PublicURL()
	}
	switch {
	case t.Type != store.ProgramAccess || form.Has("access_image_url"):
		publicURL = ""
	case publicURL == "" && st == nil: // the picture is judged later
		publicURL = "https://cards.invalid"
	case publicURL == "":
		return usagef(
			"--template: %s needs --public-url (PUNCHCARD_PUBLIC_URL), where the server has a picture, "+
				"or another one by --access-image-url",
			t.Key,
		)
	default:
		if publicURL, err = app.CheckPublicURL(publicURL, app.PublicURLFlag); err != nil {
			return err
		}
	}
	return fillTemplate(form, t, sh.Language, publicURL)
}

// fillTemplate adds to the form of a new program what a template has and the form does not.
// The description of a template says what its stamps give, so it is left out where the form
// has other stamps or prizes.
func fillTemplate(form url.Values, t templates.Template, language, publicURL string) error {
	switch programType := form.Get("type"); {
	case programType != "" && programType != t.Type:
		return usagef("--type: must be left out or %s, which the template %s is", t.Type, t.Key)
	case !store.CollectsStamps(t.Type) && prizesOf(form) != nil:
		return usagef("--prize: must be left out, since the template %s makes a program of type %s, which has no prizes", t.Key, t.Type)
	case !store.CollectsStamps(t.Type) && form.Has("total_stamps"):
		return usagef(
			"--total-stamps: must be left out, since the template %s makes a program of type %s, which collects no stamps", t.Key, t.Type,
		)
	}
	own := t.Fields(web.PrinterFor(language), publicURL)
	prizes, full := prizesOf(own), own.Get("total_stamps")
	switch {
	case form.Has(noPrizes) || prizesOf(form) != nil:
		for name := range own {
			if strings.HasPrefix(name, "prizes.") {
				own.Del(name)
			}
		}
	case form.Has("total_stamps"):
		if err := moveLastPrize(own, form.Get("total_stamps")); err != nil {
			return err
		}
	}
	for name, values := range own {
		if !form.Has(name) {
			form[name] = values
		}
	}
	if form.Get("description") == own.Get("description") && (form.Get("total_stamps") != full || !slices.Equal(prizesOf(form), prizes)) {
		form.Del("description")
	}
	return nil
}

// prizesOf returns the prizes in the form of a program, each as the stamps that it takes and
// its name.
func prizesOf(form url.Values) (prizes []string) {
	for i := 0; form.Has(fmt.Sprintf("prizes.%d.threshold", i)); i++ {
		prizes = append(prizes, form.Get(fmt.Sprintf("prizes.%d.threshold", i))+"="+form.Get(fmt.Sprintf("prizes.%d.name", i)))
	}
	return prizes
}

// moveLastPrize moves the prize for a full card of a template to another number of stamps.
// A number that is none is left to the operation, which refuses it.
func moveLastPrize(own url.Values, stamps string) error {
	total, err := strconv.Atoi(strings.TrimSpace(stamps))
	if err != nil || total < 1 {
		return nil
	}
	full := own.Get("total_stamps")
	for i := 0; own.Has(fmt.Sprintf("prizes.%d.threshold", i)); i++ {
		name := fmt.Sprintf("prizes.%d.threshold", i)
		if own.Get(name) == full {
			own.Set(name, stamps)
		} else if at, err := strconv.Atoi(own.Get(name)); err == nil && at >= total {
			return usagef("--total-stamps: must be above %d, for which the template has the prize %s; or give the prizes by --prize, "+
				"which may be none", at, own.Get(fmt.Sprintf("prizes.%d.name", i)))
		}
	}
	return nil
}
