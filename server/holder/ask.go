package holder

import (
	"punchcard/server/kernel"
	"punchcard/server/operation"
)

// ask answers the forms about the holder's data: it asks the shop, and leads back to the card.
func ask(v *visit) error {
	form, err := v.readForm()
	if err != nil {
		return err
	}
	if form.Get("kind") == "erasure" {
		form.Del("correction")
	}
	if _, err = run[kernel.None](v, operation.AskAboutData, kernel.Form{Params: v.params, Fields: form}); err != nil {
		return err
	}
	return v.redirect(v.withLanguage(pagePath(v.token())))
}
