package holder

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// pushKey answers with the key with which a browser subscribes to notices about the card.
func pushKey(v *visit) error {
	return answerJSON[struct{}, operation.PushKey](v, http.StatusOK, operation.GetPushKey)
}

// subscribe adds the browser to those that show notices about the card, in the language of the page.
func subscribe(v *visit) error {
	if err := v.Hosts.CheckFormOrigin(v.r); err != nil {
		return err
	}
	return answerJSON[store.PushFields, kernel.None](v, http.StatusCreated, operation.Subscribe)
}

// unsubscribe ends the notices of the browser about the card.
func unsubscribe(v *visit) error {
	if err := v.Hosts.CheckFormOrigin(v.r); err != nil {
		return err
	}
	return answerJSON[store.PushEnd, kernel.None](v, http.StatusNoContent, operation.Unsubscribe)
}
