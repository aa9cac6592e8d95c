package dashboard

import (
	"html/template"
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
	page(secondFactorPath, shows(operation.GetProfile, showSecondFactor)),
	post(secondFactorPath, action{
		op:   operation.StartTOTP,
		then: then(offer),
	}),
	post(secondFactorPath+"/confirm", action{
		op:    operation.ConfirmTOTP,
		again: offerAgain,
		then:  then(showRecoveryCodes),
	}),
	confirm(secondFactorPath+"/codes", nothing, askNewCodes, action{
		op:   operation.NewRecoveryCodes,
		then: then(showRecoveryCodes),
	}),
	confirm(secondFactorPath+"/remove", nothing, askRemoveFactor, action{
		op:   operation.RemoveTOTP,
		to:   secondFactorPath,
		done: "The second factor was removed. Your password alone signs you in.",
	}),
}

// factorPage is a page about the second factor.
type factorPage struct {
	web.Frame
	Profile  operation.Profile
	Demanded bool // by a shop, and missing
	// Of the set-up.
	URI    string
	Secret string // in groups of four
	QR     template.HTML
	// Codes are the new recovery codes, one on each line.
	Codes string
}

// factorFrame returns a page about the second factor.
func (v *visit) factorFrame(title web.Text) factorPage {
	return factorPage{Frame: v.narrow(title, accountPath), Demanded: v.person.MustEnrol}
}

func showSecondFactor(v *visit, profile operation.Profile) error {
	p := v.factorFrame("Second factor")
	p.Profile = profile
	return v.render("second_factor", p)
}

// offer shows the secret of a new second factor, as a QR code and to be typed.
func offer(v *visit, o operation.OfferedTOTP) error {
	if o.URI == "" { // the form was sent twice
		return v.redirect(secondFactorPath, "")
	}
	p := v.factorFrame("Set up the second factor")
	p.URI, p.QR = o.URI, template.HTML(o.QRSVG)
	p.Secret = strings.ReplaceAll(web.GroupCode(o.Secret), "-", " ")
	return v.render("second_factor_setup", p)
}

// offerAgain shows the same secret again after a wrong code. The form has brought it back.
func offerAgain(v *visit) error {
	uri := v.form.Get("_uri")
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, "otpauth://totp/") {
		return v.redirect(secondFactorPath, "")
	}
	svg, err := qr.SVG(uri)
	if err != nil {
		return v.redirect(secondFactorPath, "")
	}
	return offer(v, operation.OfferedTOTP{OfferedTOTP: store.OfferedTOTP{Secret: u.Query().Get("secret"), URI: uri}, QRSVG: svg})
}

// showRecoveryCodes shows new recovery codes, once.
func showRecoveryCodes(v *visit, c store.RecoveryCodes) error {
	p := v.factorFrame("Your recovery codes")
	p.Codes = strings.Join(c.Codes, "\n")
	return v.render("recovery_codes", p)
}

func askNewCodes(v *visit, _ kernel.None) web.ConfirmPage {
	c := v.ask(accountPath, "Make new recovery codes?",
		"You get ten new codes. The old ones end at once, also those that you have written down.",
		"Make new codes")
	c.Cancel = secondFactorPath
	return c
}

func askRemoveFactor(v *visit, _ kernel.None) web.ConfirmPage {
	return v.danger(accountPath, "Remove the second factor?",
		"From then on everybody who knows your password can sign in as you. Your recovery codes end. A shop that demands "+
			"a second factor of your role asks you to set it up again.",
		"Remove the second factor")
}
