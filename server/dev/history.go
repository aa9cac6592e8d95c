package dev

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/store"
)

// historyBody is the body of POST /dev/history.
type historyBody struct {
	Days store.Opt[int64] `json:"days" min:"1" max:"366" doc:"Of the shop's calendar, with today. Default 90."`
}

// errSeeded is the refusal of a history for the shops of a seed.
var errSeeded = &store.Error{
	Code:    store.Unprocessable,
	Message: "The fixture began with a seed, whose shops have the past that the seed describes.",
}

// history answers POST /dev/history: it resets the fixture to a demo shop with a past. The form of
// the start page then signs the owner in: the browser sends it to /dev/sign-in too.
func (c *Control) history(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
	if !isForm(r) {
		handle(c.Kernel, http.StatusOK, c.fillHistory)(w, r, p)
		return
	}
	if _, err := c.fillHistory(r, p, historyBody{}); err != nil {
		c.Kernel.AnswerError(w, err)
		return
	}
	w.Header().Set("Location", Prefix+"/sign-in")
	c.Kernel.HTML(w, http.StatusTemporaryRedirect, nil)
}

// fillHistory resets the fixture to a demo shop with a past of so many days.
func (c *Control) fillHistory(_ *http.Request, _ httprouter.Params, b historyBody) (*seed.Ready, error) {
	if c.History == nil {
		return nil, errSeeded
	}
	return c.Ready, c.History(int(b.Days.Or(seed.DefaultHistory)))
}
