package wallet

import (
	"encoding/json"
	"strings"

	"punchcard/store"
)

// shown is what a card shows, as far as there are notices about it.
type shown struct {
	Stamps  int64         `json:"stamps"`
	Balance int64         `json:"balance"`
	Blocked string        `json:"blocked,omitempty"` // why it cannot be used; empty: it can
	Test    bool          `json:"test,omitempty"`    // the browser is to show a notice although nothing has changed
	Ready   map[int64]int `json:"ready,omitempty"`   // how many times the prizes of a threshold can be redeemed
}

// shown returns what a card shows, and the names of the prizes that are ready by threshold. before is what it showed, if that is
// known: while the card cannot be used, its prizes stay as they were, so that the holder is not told again when it can.
func (c Card) shown(before shown, known bool) (now shown, names map[int64]string) {
	names, ready := c.readyPrizes()
	now = shown{Stamps: c.Card.StampsCount, Balance: c.Card.CurrentValue.V, Blocked: c.blocked(), Ready: ready}
	if known && now.Blocked != "" {
		now.Ready = before.Ready
	}
	return now, names
}

// notice is the payload of a push, which the service worker of the card's page reads.
type notice struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"` // of the card's page
}

// maxBody is the maximum length of the body of a notice in bytes: phones show less.
const maxBody = 1000

// noticeOf returns the notice for a browser about a card. told is what the browser knows from now on. The
// notice is nil if what has changed is not what the browser shows notices about.
func noticeOf(h *store.HolderCard, t *store.Target) (n *notice, told string) {
	c := cardIn(t.Language, h)
	var before shown
	known := json.Unmarshal([]byte(t.Told.V), &before) == nil
	now, names := c.shown(before, known)
	raw, _ := json.Marshal(now) // which fails for no value of the type
	if told = string(raw); !known {
		return nil, told
	}
	test := before.Test
	before.Test = false
	same, _ := json.Marshal(before)
	lines := c.readyLines(names, now.Ready, before.Ready)
	if t.Notify == store.NotifyAll && string(same) != told {
		switch face := c.Face(); {
		case now.Blocked != "":
			lines = append(lines, c.Notice())
		case face.Total > 0:
			lines = append(lines, c.T("{0} of {1} stamps", face.Stamps, face.Total))
		case face.Balance != "":
			lines = append(lines, c.T("Balance: {0}", face.Balance))
		}
	}
	if test {
		lines = append(lines, c.T("A test of the shop: notices about your card arrive here."))
	}
	if lines == nil {
		return nil, told
	}
	return &notice{Title: h.Shop.Name, Body: cut(strings.Join(lines, "\n"), maxBody), URL: h.PageURL}, told
}

// cut returns the beginning of a text that has at most max bytes.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max-len("…")], "") + "…"
}
