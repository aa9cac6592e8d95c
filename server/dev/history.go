package dev

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/store"
)

// historyBody is the body of POST /dev/history.
type historyBody struct {
	Days store.Opt[int64] `json:"days" min:"1" max:"366" doc:"Of the shop's calendar, with today. Default 90."`
}

// orHistoryForm returns the handler of POST /dev/history, which resets the fixture to a demo shop with
// a past. The form of the start page then signs the owner in: the browser sends it to /dev/sign-in too.
func (c *Control) orHistoryForm(json httprouter.Handle) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		if !isForm(r) {
			json(w, r, p)
			return
		}
		if _, err := c.fillHistory(r, p, historyBody{}); err != nil {
			c.Kernel.AnswerError(w, err)
			return
		}
		c.Kernel.Redirect(w, http.StatusTemporaryRedirect, Prefix+"/sign-in")
	}
}

// fillHistory resets the fixture to a demo shop with a past of so many days.
func (c *Control) fillHistory(_ *http.Request, _ httprouter.Params, b historyBody) (*seed.Ready, error) {
	if c.History == nil {
		return nil, kernel.Refuse(store.Unprocessable,
			"The fixture began with a seed, whose shops have the past that the seed describes.")
	}
	return c.Ready, c.History(int(b.Days.Or(seed.DefaultHistory)))
}
