package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

const secondFactorPath = accountPath + "/second-factor"

// secondFactorPages set the second factor up and remove it. The page and the set-up also
// work for a person whose shop demands a second factor.
var secondFactorPages = []binding{
	page(secondFactorPath, showSecondFactor),
	post(
		secondFactorPath,
		action[operation.OfferedTOTP]{
			op:     operation.StartTOTP,
			fields: only(),
			show:   func(v *visit, o operation.OfferedTOTP) error { return offer(v, o, v.newForm(nil)) },
		},
	),
	post(
		secondFactorPath+"/confirm",
		action[store.RecoveryCodes]{op: operation.ConfirmTOTP, fields: only("totp"), again: offerAgain, show: showRecoveryCodes},
	),
	page(secondFactorPath+"/codes", confirmNewCodes),
	post(secondFactorPath+"/codes", action[store.RecoveryCodes]{op: operation.NewRecoveryCodes, fields: only(), show: showRecoveryCodes}),
	page(secondFactorPath+"/remove", confirmRemoveFactor),
	post(secondFactorPath+"/remove", action[kernel.None]{op: operation.RemoveTOTP, fields: only(),
		next: func(*visit, kernel.None) (string, string) { return secondFactorPath, factorRemoved }}),
}

var factorRemoved = says("factor-removed", web.Text("The second factor was removed. Your password alone signs you in."))

// factorPage is a page about the second factor.
type factorPage struct {
	web.Frame
	Form     *web.Form
	Profile  operation.Profile
	State    web.Badge
	Demanded bool // by a shop, and missing
	Back     web.Action
	// Of the set-up.
	URI    string
	Secret string // in groups of four
	QR     template.HTML
	// Codes are the new recovery codes, one on each line.
	Codes string
	Next  string // where to go on
}

// factorFrame returns a page about the second factor.
func (v *visit) factorFrame(title string, f *web.Form) factorPage {
	p := factorPage{Frame: v.frame(title, accountPath), Form: f, Demanded: v.person.MustEnrol, Next: accountPath}
	p.Width = "narrow"
	if v.person.MustEnrol {
		p.Next = "/dashboard"
	} else {
		p.Back = web.Action{Label: v.print.T("Your account"), Path: accountPath}
	}
	return p
}

func showSecondFactor(v *visit) error {
	profile, err := read[operation.Profile](v, operation.GetProfile, kernel.Args{})
	if err != nil {
		return err
	}
	p := v.factorFrame(web.Text("Second factor"), v.newForm(nil))
	p.Profile, p.State = profile, web.Badge{Label: v.print.T("Off")}
	if profile.TOTP {
		p.State = web.Badge{Label: v.print.T("On"), Tone: "good"}
	}
	return v.render(http.StatusOK, "second_factor", p)
}

// offer shows the secret of a new second factor, as a QR code and to be typed.
func offer(v *visit, o operation.OfferedTOTP, f *web.Form) error {
	if o.URI == "" { // the form was sent twice
		v.redirect(secondFactorPath, "")
		return nil
	}
	p := v.factorFrame(web.Text("Set up the second factor"), f)
	p.URI, p.QR = o.URI, template.HTML(o.QRSVG)
	for i, r := range o.Secret {
		if i > 0 && i%4 == 0 {
			p.Secret += " "
		}
		p.Secret += string(r)
	}
	return v.render(v.status(), "second_factor_setup", p)
}

// offerAgain shows the same secret again after a wrong code. The form has brought it back.
func offerAgain(v *visit, f *web.Form) error {
	uri := v.form.Get("_uri")
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, "otpauth://totp/") {
		v.redirect(secondFactorPath, "")
		return nil
	}
	svg, err := qr.SVG(uri)
	if err != nil {
		v.redirect(secondFactorPath, "")
		return nil
	}
	return offer(v, operation.OfferedTOTP{OfferedTOTP: store.OfferedTOTP{Secret: u.Query().Get("secret"), URI: uri}, QRSVG: svg}, f)
}

// showRecoveryCodes shows new recovery codes, once.
func showRecoveryCodes(v *visit, c store.RecoveryCodes) error {
	p := v.factorFrame(web.Text("Your recovery codes"), v.newForm(nil))
	p.Codes, p.Back = strings.Join(c.Codes, "\n"), web.Action{}
	return v.render(http.StatusOK, "recovery_codes", p)
}

func confirmNewCodes(v *visit) error {
	if err := v.require(operation.NewRecoveryCodes); err != nil {
		return err
	}
	return v.confirm(accountPath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Make new recovery codes?")},
		Path:   secondFactorPath + "/codes",
		Text:   v.print.T("You get ten new codes. The old ones end at once, also those that you have written down."),
		Button: v.print.T("Make new codes"),
		Cancel: secondFactorPath,
	})
}

func confirmRemoveFactor(v *visit) error {
	if err := v.require(operation.RemoveTOTP); err != nil {
		return err
	}
	return v.confirm(accountPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Remove the second factor?")},
		Path:  secondFactorPath + "/remove",
		Text: v.print.T(
			"From then on everybody who knows your password can sign in as you. Your recovery codes end. A shop that demands a second factor of your role asks you to set it up again.",
		),
		Button: v.print.T("Remove the second factor"),
		Cancel: secondFactorPath,
		Danger: true,
	})
}
