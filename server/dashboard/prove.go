package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
)

const provePath = "/dashboard/prove"

// provePage asks for the password or a code again, before a form is carried out.
type provePage struct {
	web.Frame
	Hidden url.Values // the form that waits
	Action string     // its path, or that of the page that waits
	Method string
	TOTP   bool // the person has a second factor
}

// askProof shows the page that asks for the password or a code again. It carries the form
// that waits for it, also if what was given was wrong.
func askProof(v *visit) error {
	p := provePage{
		Frame:  v.narrow("Confirm that it is you", ""),
		Hidden: url.Values{},
		Action: v.r.URL.RequestURI(),
		Method: v.r.Method,
		TOTP:   v.person.TOTP,
	}
	if strings.HasPrefix(v.r.Header.Get("Content-Type"), "multipart/") { // a form with a file is filled in again
		p.Method = http.MethodGet
	}
	if v.r.URL.Path == provePath {
		f := v.shown
		p.Action, p.Method = v.form.Get("_action"), v.form.Get("_method")
		for _, name := range []string{"password", "totp"} {
			if problem := f.Errors[name]; problem != "" {
				delete(f.Errors, name)
				f.Errors["_"+name] = problem
			}
		}
		if f.Errors["_password"] != "" && v.formStatus == http.StatusUnauthorized {
			f.Errors["_password"] = v.T("The password is wrong.")
		}
	}
	for name, values := range v.form {
		if !slices.Contains([]string{"_password", "_totp", "_action", "_method", "_username", web.KeyField}, name) {
			p.Hidden[name] = values
		}
	}
	return v.renderAs(cmp.Or(v.formStatus, http.StatusForbidden), "prove", p)
}

// proofFields returns what was given as a proof. The names in the form differ from those of
// the operation, so that they are none of the form that waits. A code counts for more than
// a password, which a browser may have filled in.
func proofFields(v *visit, _ url.Values) url.Values {
	if code := v.form.Get("_totp"); strings.TrimSpace(code) != "" {
		return url.Values{"totp": {code}}
	}
	return url.Values{"password": v.form["_password"]}
}

// proved goes on with the form that waited: the browser sends it again.
func proved(v *visit, _ kernel.None) error {
	path := nextPath(v.form.Get("_action"))
	if v.form.Get("_method") == http.MethodPost {
		v.w.Header().Set("Location", path)
		v.answer(http.StatusTemporaryRedirect, nil)
		return nil
	}
	return v.redirect(path, "")
}
