package mcp

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// cardTools returns the tools that write cards.
func cardTools() []*tool {
	return []*tool{
		{name: "issue_cards", title: "Issue cards", scope: "cards:write", writes: true, openWorld: true, run: issueCards,
			doc: "Issues 1 to 50 cards of a published program and returns the link of each. Use dry_run first: it checks every " +
				"row by the same rules and writes nothing. Pass an idempotency_key, the same one when you retry: rows that were " +
				"issued are then not issued again. More than 10 cards have to be confirmed: " + confirmDoc,
			schema: `{"type":"object","properties":{"program_id":{"type":"string"},"cards":{"type":"array","minItems":1,
				"maxItems":50,"items":{"type":"object","properties":{"holder_name":{"type":"string","maxLength":200},
				"holder_email":{"type":"string","maxLength":254},"external_ref":{"type":"string","maxLength":255,
				"description":"The shop's own id of the person; one live card per program."},"expires_at":{"type":"string",
				"format":"date-time"},"send_email":{"type":"boolean","description":"Mail the link to holder_email."}},
				"additionalProperties":false}},"dry_run":{"type":"boolean","default":false},` +
				confirmSchema + `},"required":["program_id","cards"],"additionalProperties":false}`},
		{
			name:        "update_card",
			title:       "Change a card",
			scope:       "cards:write",
			writes:      true,
			destructive: true,
			idempotent:  true,
			run:         updateCard,
			doc: "Changes the holder, reference or expiry of a card; null clears a field. Holder and expiry of a card that " +
				"is installed on a phone are frozen. Stamps and balances change at tills only.",
			schema: `{"type":"object","properties":{"id":{"type":"string"},"holder_name":{"type":["string","null"]},
				"holder_email":{"type":["string","null"]},"external_ref":{"type":["string","null"]},
				"expires_at":{"type":["string","null"],"format":"date-time"},"idempotency_key":{"type":"string"}},
				"required":["id"],"additionalProperties":false}`,
		},
		{
			name:        "reissue_card",
			title:       "Replace the code of a card",
			scope:       "cards:write",
			writes:      true,
			destructive: true,
			openWorld:   true,
			run:         reissueCard,
			doc: "Gives a card a new QR code and a new link, for one that was lost. Codes of earlier plastic cards end; " +
				"stamps and balance stay. " + confirmDoc,
			schema: `{"type":"object","properties":{"id":{"type":"string"},"holder_name":{"type":"string"},
				"holder_email":{"type":"string"},"expires_at":{"type":"string","format":"date-time"},
				"send_email":{"type":"boolean","description":"Mail the new link."},` +
				confirmSchema + `},"required":["id"],"additionalProperties":false}`,
		},
	}
}

// issueArgs are the arguments of issue_cards. The cards are checked row by row.
type issueArgs struct {
	writeArgs
	ProgramID store.Opt[string]              `json:"program_id" req:"true" min:"1"`
	Cards     store.Opt[[]*store.CardFields] `json:"cards" req:"true" min:"1" max:"50"`
	DryRun    store.Opt[bool]                `json:"dry_run"`
}

// issuedRow is the outcome of one row of issue_cards.
type issuedRow struct {
	Row         int                `json:"row"`
	Status      string             `json:"status"` // issued, ok (of a dry run) or refused
	ID          *string            `json:"id,omitempty"`
	ExternalRef store.Null[string] `json:"external_ref"`
	Link        *string            `json:"link,omitempty"`
	Code        *store.Code        `json:"code,omitempty"`
	Message     *string            `json:"message,omitempty"`
	Details     []store.Detail     `json:"details,omitempty"`
}

// issuedCards is the answer of issue_cards.
type issuedCards struct {
	DryRun    bool        `json:"dry_run"`
	Issued    int         `json:"issued"`
	WouldPass int         `json:"would_pass"`
	Refused   int         `json:"refused"`
	Cards     []issuedRow `json:"cards"`
}

// unconfirmedCards is how many cards are issued without a confirmation.
const unconfirmedCards = 10

func issueCards(c *call) (any, error) {
	own, err := toolArgs[issueArgs](c)
	if err != nil {
		return nil, err
	}
	bodies := itemsOf(c.args, "cards")
	inputs := make([]*input, len(bodies))
	for i, body := range bodies {
		inputs[i] = &input{params: map[string]string{"id": own.ProgramID.V}, body: body}
	}
	if own.DryRun.V {
		out, _, err := c.tryCards(own, inputs)
		return out, err
	}
	if len(inputs) > unconfirmedCards {
		var t input
		ready, err := c.confirmed(&t, own.ProgramID.V, &own.writeArgs)
		if err != nil {
			return nil, err
		}
		if !ready {
			out, version, err := c.tryCards(own, inputs)
			if err != nil {
				return nil, err
			}
			impact := fmt.Sprintf("Cards that are issued: %d. Rows that are refused: %d.", out.WouldPass, out.Refused)
			return c.askFor(impact, version, own.writeArgs)
		}
		for _, in := range inputs {
			in.conditionID, in.version, in.expired = t.conditionID, t.version, t.expired
		}
	}
	return c.issue(own, inputs)
}

// issue issues the cards one by one, each once for the key of the call and its row.
func (c *call) issue(own issueArgs, inputs []*input) (any, error) {
	out := &issuedCards{Cards: []issuedRow{}}
	for i, in := range inputs {
		c.key(in, own.writeArgs, "#"+strconv.Itoa(i))
		made, err := do[operation.IssuedCard](c, operation.IssueCard, in)
		if err != nil && !c.isRefusal(err) {
			return nil, err
		}
		row := out.add(own, err)
		if err == nil {
			row.Status, row.ID, row.Link = "issued", &made.ID, &made.InstallURL
			out.Issued++
		}
	}
	return out, nil
}

// tryCards returns what issuing the cards would do, and the version of the program.
func (c *call) tryCards(own issueArgs, inputs []*input) (*issuedCards, store.Time, error) {
	all := make([]kernel.Input, len(inputs))
	for i, in := range inputs {
		all[i] = in
	}
	tried, version, err := c.preview(operation.IssueCard, own.ProgramID.V, all...)
	if err != nil {
		return nil, 0, err
	}
	out := &issuedCards{DryRun: true, Cards: []issuedRow{}}
	for _, t := range tried {
		if out.add(own, t.Err); t.Err == nil {
			out.WouldPass++
		}
	}
	return out, version, nil
}

// add adds the outcome of the next row, which err refused, and returns it.
func (out *issuedCards) add(own issueArgs, err error) *issuedRow {
	i := len(out.Cards)
	row := issuedRow{Row: i, Status: "ok", ExternalRef: own.Cards.V[i].ExternalRef.Value()}
	if err != nil {
		e := kernel.AsError(err, kernel.StatusOf)
		row.Status, row.Code, row.Message, row.Details = "refused", &e.Code, &e.Message, e.Details
		out.Refused++
	}
	out.Cards = append(out.Cards, row)
	return &out.Cards[i]
}

// isRefusal reports whether an error concerns one row. Others, such as a key that was
// revoked meanwhile, concern the call.
func (c *call) isRefusal(err error) bool {
	switch kernel.AsError(err, kernel.StatusOf).Code {
	case store.InternalError, store.Unauthenticated, store.MCPAccessRequired, store.SubscriptionSuspended, store.LocationDisabled,
		store.IdempotencyConflict:
		return false
	}
	return true
}

// itemsOf returns the items of an array in a JSON object that was validated.
func itemsOf(object []byte, field string) (items [][]byte) {
	with, _, _ := divide(object, map[string]bool{field: true})
	dec := jsontext.NewDecoder(bytes.NewReader(with))
	dec.ReadToken() // {
	dec.ReadToken() // the name
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginArray {
		return nil
	}
	for dec.PeekKind() != jsontext.KindEndArray {
		v, err := dec.ReadValue()
		if err != nil {
			return items
		}
		items = append(items, v.Clone())
	}
	return items
}

func updateCard(c *call) (any, error) {
	own, in := splitArgs[resourceArgs](c)
	return change(c, operation.UpdateCard, in, own.writeArgs, changedCard)
}

// cardChange is a card after a change.
type cardChange struct {
	ID          string                 `json:"id"`
	ProgramID   string                 `json:"program_id"`
	ExternalRef store.Null[string]     `json:"external_ref"`
	HolderName  store.Null[string]     `json:"holder_name"`
	Status      string                 `json:"status"`
	ExpiresAt   store.Null[store.Time] `json:"expires_at"`
	Link        *string                `json:"link,omitempty"`
}

func changedCard(d store.CardDetail) *cardChange {
	d.ExternalRef.V = kernel.MaskAddress(d.ExternalRef.V)
	return &cardChange{d.ID, d.ProgramID, d.ExternalRef, d.HolderName, d.Status, d.ExpiresAt, nil}
}

func reissueCard(c *call) (any, error) {
	own, in := splitArgs[resourceArgs](c)
	impact := func() (string, error) {
		return "The card's QR code, short code, links and codes of earlier plastic cards stop working at once, on phones and on paper; " +
			"the holder needs the new link. Stamps and balance stay.", nil
	}
	return confirm(c, operation.ReissueCard, in, own.writeArgs, impact, func(made operation.IssuedCard) *cardChange {
		made.ExternalRef.V = kernel.MaskAddress(made.ExternalRef.V)
		return &cardChange{
			made.ID, made.ProgramID, made.ExternalRef, made.HolderName, store.StatusInvited, made.ExpiresAt, &made.InstallURL,
		}
	})
}
