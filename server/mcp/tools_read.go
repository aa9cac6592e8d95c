package mcp

import (
	"slices"
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// Page sizes of the tools.
const (
	defaultRows = 25
	maxRows     = 50
)

// readingTools returns the tools that read the shop, its cards and its ledger.
func readingTools() []*tool {
	return []*tool{
		{name: "get_overview", title: "Overview of the shop", scope: kernel.AnyKey, idempotent: true, run: getOverview,
			doc: "The shop, its locations and programs, what this key may do, today's figures beside those of a week before, " +
				"and what needs attention. Call it first: it has the ids that other tools take.",
			schema: `{"type":"object","properties":{},"additionalProperties":false}`},
		{name: "get_programs", title: "Programs and prizes", scope: "programs:read", idempotent: true, run: getPrograms,
			doc: "Lists the card programs, or with id returns one with its prizes.",
			schema: `{"type":"object","properties":{"id":{"type":"string","description":"Only this program, with its prizes."},
				"type":{"type":"string","enum":["standard","private","discount","access","prepaid"],
				"description":"standard and private collect stamps."},` + pageSchema + `},"additionalProperties":false}`},
		{name: "find_cards", title: "Find cards", scope: "cards:read", idempotent: true, run: findCards,
			doc: "Finds cards by program, reference, email, status, by when they were last presented, or by prizes that are due " +
				"(listed in prizes_due). total counts all pages: 10000+ means more than 10,000, and 37+ that counting ended early. " +
				"A page may be short or empty while next_cursor is not null: go on with it. Email addresses are left out unless " +
				"include_contact is true: ask for them only if the task needs them.",
			schema: `{"type":"object","properties":{"program_id":{"type":"string"},"external_ref":{"type":"string",
				"description":"The shop's own id of the person; exact."},"email":{"type":"string"},"status":{"type":"string",
				"enum":["active","locked","invited","archived","expired"]},"not_seen_days":{"type":"integer","minimum":1,
				"maximum":3650,
				"description":"Last presented at least so many days ago, or never and issued before that; longest ago first."},
				"prize_due":{"type":"boolean","description":"true: a prize was reached and not taken."},"sort":{"type":"string",
				"enum":["newest","last_seen"]},"include_contact":{"type":"boolean","default":false},` +
				pageSchema + `},"additionalProperties":false}`},
		{name: "get_card", title: "One card", scope: "cards:read", idempotent: true, run: getCard,
			doc: "Returns a card by exactly one of id, external_ref or email, with its prizes that are due. If several cards " +
				"match, the newest one in use is returned and the others are named in other_ids.",
			schema: `{"type":"object","properties":{"id":{"type":"string"},"external_ref":{"type":"string"},
				"email":{"type":"string"},"include_contact":{"type":"boolean","default":false}},"additionalProperties":false}`},
		{name: "list_transactions", title: "Ledger", scope: "transactions:read", idempotent: true, run: listTransactions,
			doc: "Lists rows of the ledger, newest first: stamps, redemptions, top-ups, purchases, uses, reversals. total " +
				"counts all pages, as in find_cards. Rows are written at tills, and where a person adjusts a card. Amounts are in cents.",
			schema: `{"type":"object","properties":{"card_id":{"type":"string"},"program_id":{"type":"string"},
				"location_id":{"type":"string"},"type":{"type":"string","enum":["stamp","redemption","reversal","expiry","topup",
				"spend","discount","access","adjustment"]},"from":{"type":"string","format":"date-time",
				"description":"Inclusive, RFC 3339 with an offset."},"to":{"type":"string","format":"date-time",
				"description":"Exclusive."},` + pageSchema + `},"additionalProperties":false}`},
		{name: "get_analytics", title: "Statistics", scope: "analytics:read", idempotent: true, run: getAnalytics,
			doc: "Statistics. view summary: the shop's main figures; program: those of program_id; card_types: active cards by " +
				"type; card_type: figures of one type; heatmap: rows of the ledger by day. sections chooses parts of the view " +
				"program. To compare two periods use compare_periods.",
			schema: `{"type":"object","properties":{"view":{"type":"string","enum":["summary","program","card_types","card_type",
				"heatmap"]},"program_id":{"type":"string","description":"Required for program, possible for heatmap."},
				"card_type":{"type":"string","enum":["standard","private","discount","access","prepaid"],
				"description":"Required for card_type."},"from":{"type":"string","format":"date",
				"description":"For heatmap; default 364 days before to."},"to":{"type":"string","format":"date"},
				"sections":{"type":"array","items":{"type":"string","enum":["totals","by_day","by_location","by_hour"]},
				"description":"Default totals and by_location."}},"required":["view"],"additionalProperties":false}`},
		{name: "compare_periods", title: "Compare two periods", scope: "analytics:read", idempotent: true, run: comparePeriods,
			doc: "Compares the sums of two ranges of days of the shop's calendar. Without compare_from the period is compared " +
				"with the same weekdays before it: a day with that day a week before. The figures say that something is more or " +
				"less compared with another period, never why: do not name a cause.",
			schema: `{"type":"object","properties":{"from":{"type":"string","format":"date"},"to":{"type":"string",
				"format":"date","description":"Inclusive."},"compare_from":{"type":"string","format":"date"},
				"compare_to":{"type":"string","format":"date"},"weekday":{"type":"integer","minimum":0,"maximum":6,
				"description":"Only this day of the week; 0 is Sunday."},"program_id":{"type":"string"},
				"location_id":{"type":"string"}},"required":["from","to"],"additionalProperties":false}`},
	}
}

const pageSchema = `"limit":{"type":"integer","minimum":1,"maximum":50,"default":25},"cursor":{"type":"string",
	"description":"next_cursor of the page before; repeat the filters."}`

func getOverview(c *call) (any, error) {
	if _, err := toolArgs[struct{}](c); err != nil {
		return nil, err
	}
	o, err := do[operation.Overview](c, operation.GetOverview, kernel.Args{})
	return &o, err
}

// rowArgs are the arguments of a list that the tool itself has.
type rowArgs struct {
	Limit store.Opt[int64] `json:"limit" min:"1"`
}

// rows returns a page of a list, as show shows it: its limit is that of the arguments, or less if the answer
// would be too large. The cursor of an answer then begins after its last row.
func rows[P any](c *call, op *kernel.Operation, in *input, asked store.Opt[int64], show func(P) any) (any, error) {
	for limit := min(asked.Or(defaultRows), maxRows); ; limit = (limit + 1) / 2 {
		in.with("limit", intJSON(limit))
		p, err := checked[P](c, op, in)
		if err != nil {
			return nil, err
		}
		out := show(p)
		if text, _ := clean(wire.Append(nil, out), 200); len(text) <= maxAnswer || limit == 1 {
			return out, nil
		}
	}
}

// idArgs are the names of the arguments that CheckIDs checks.
var idArgs = map[string]bool{"program_id": true, "location_id": true, "card_id": true}

// checked invokes an operation that reads, and refuses ids that name nothing: after the arguments were found
// valid, so that a refusal for them names all that is wrong.
func checked[O any](c *call, op *kernel.Operation, in kernel.Input) (O, error) {
	out, err := do[O](c, op, in)
	if ids, _, ok := divide(c.args, idArgs); err == nil && ok && len(ids) > len("{}") {
		_, err = do[kernel.None](c, operation.CheckIDs, &input{body: ids})
	}
	return out, err
}

// programRow is a program in a list.
type programRow struct {
	ID                  string              `json:"id"`
	Name                string              `json:"name"`
	Type                string              `json:"type"`
	State               string              `json:"state"`
	TotalStamps         store.Null[int64]   `json:"total_stamps"`
	DiscountPercent     store.Null[float64] `json:"discount_percent"`
	InitialBalanceCents store.Null[int64]   `json:"initial_balance_cents"`
	LocationScope       string              `json:"location_scope"`
	LocationIDs         []string            `json:"location_ids"`
}

func programRowOf(p store.Program) programRow {
	return programRow{
		p.ID,
		p.Name,
		p.Type,
		operation.ProgramState(p),
		p.TotalStamps,
		p.DiscountPercent,
		p.InitialBalanceCents,
		p.LocationScope,
		p.ScopedLocationIDs,
	}
}

// programView is one program.
type programView struct {
	programRow
	Description            string            `json:"description"`
	Category               string            `json:"category"`
	RepeatAfterReset       bool              `json:"repeat_after_reset"`
	DefaultExpireAfterDays store.Null[int64] `json:"default_expire_after_days"`
	HasInstalledCards      bool              `json:"has_installed_cards"`
	Prizes                 []prizeView       `json:"prizes"`
	UpdatedAt              store.Time        `json:"updated_at"`
}

// prizeView is a prize.
type prizeView struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Threshold   int64  `json:"threshold"`
	Description string `json:"description"`
}

func programViewOf(p store.ProgramDetail) *programView {
	v := &programView{
		programRowOf(p.Program),
		p.Description,
		p.Category,
		p.RepeatAfterReset,
		p.DefaultExpireAfterDays,
		p.HasInstalledCards,
		[]prizeView{},
		p.UpdatedAt,
	}
	for _, z := range p.Prizes {
		v.Prizes = append(v.Prizes, prizeView{z.ID, z.Name, z.Threshold, z.Description})
	}
	return v
}

// resultPage is a page of a list.
type resultPage[T any] struct {
	Data       []T                `json:"data"`
	NextCursor store.Null[string] `json:"next_cursor"`
}

// countedPage is a page of a list with the number of items of all its pages.
type countedPage[T any] struct {
	Total any `json:"total"`
	resultPage[T]
}

// countedPageOf returns a page. Where not all items were counted, its total is a text such as
// "10000+".
func countedPageOf[S, T any](p store.Counted[S], row func(S) T) *countedPage[T] {
	l := &countedPage[T]{p.Total.N, *pageOf(p.Page, row)}
	if p.Total.More {
		l.Total = strconv.FormatInt(p.Total.N, 10) + "+"
	}
	return l
}

func pageOf[S, T any](p store.Page[S], row func(S) T) *resultPage[T] {
	l := &resultPage[T]{[]T{}, p.NextCursor}
	for _, s := range p.Data {
		l.Data = append(l.Data, row(s))
	}
	return l
}

// programArgs are the arguments of get_programs that the tool itself has.
type programArgs struct {
	ID store.Opt[string] `json:"id"`
	rowArgs
}

func getPrograms(c *call) (any, error) {
	own, in := splitArgs[programArgs](c)
	if own.ID.Set {
		in.params["id"] = own.ID.V
		p, err := do[store.ProgramDetail](c, operation.GetProgram, in)
		return programViewOf(p), err
	}
	return rows(c, operation.ListPrograms, in, own.Limit, func(p store.Page[store.Program]) any { return pageOf(p, programRowOf) })
}

// cardRow is a card in a list.
type cardRow struct {
	ID           string                 `json:"id"`
	ProgramID    string                 `json:"program_id"`
	ProgramName  string                 `json:"program_name"`
	ExternalRef  store.Null[string]     `json:"external_ref"`
	HolderName   store.Null[string]     `json:"holder_name"`
	HolderEmail  *string                `json:"holder_email,omitempty"`
	Status       string                 `json:"status"`
	Stamps       int64                  `json:"stamps"`
	TotalStamps  store.Null[int64]      `json:"total_stamps"`
	BalanceCents store.Null[int64]      `json:"balance_cents"`
	LastSeen     store.Null[string]     `json:"last_seen"`
	PrizesDue    []store.DuePrize       `json:"prizes_due"`
	ExpiresAt    store.Null[store.Time] `json:"expires_at"`
	CreatedAt    store.Time             `json:"created_at"`
}

// cardRowOf returns a card with the address of the holder if contact is true, and otherwise without one, also in the
// place of a reference.
func cardRowOf(f store.CardFound, contact bool) cardRow {
	r := cardRow{
		ID:           f.ID,
		ProgramID:    f.ProgramID,
		ProgramName:  f.ProgramName,
		ExternalRef:  f.ExternalRef,
		HolderName:   f.HolderName,
		Status:       f.Status,
		Stamps:       f.StampsCount,
		TotalStamps:  f.TotalStamps,
		BalanceCents: f.CurrentValue,
		LastSeen:     store.Null[string]{V: f.LastSeenDay, Valid: f.LastSeenDay != ""},
		PrizesDue:    f.PrizesDue,
		ExpiresAt:    f.ExpiresAt,
		CreatedAt:    f.CreatedAt,
	}
	switch {
	case !contact:
		r.ExternalRef.V = kernel.MaskAddress(r.ExternalRef.V)
	case f.HolderEmail.Valid:
		r.HolderEmail = &f.HolderEmail.V
	}
	return r
}

// findArgs are the arguments of find_cards that the tool itself has.
type findArgs struct {
	rowArgs
	IncludeContact store.Opt[bool] `json:"include_contact"`
}

func findCards(c *call) (any, error) {
	own, in := splitArgs[findArgs](c)
	return rows(c, operation.FindCards, in, own.Limit, func(p store.Counted[store.CardFound]) any {
		return countedPageOf(p, func(f store.CardFound) cardRow { return cardRowOf(f, own.IncludeContact.V) })
	})
}

// cardArgs are the arguments of get_card.
type cardArgs struct {
	ID             store.Opt[string] `json:"id" min:"1"`
	ExternalRef    store.Opt[string] `json:"external_ref" min:"1" max:"255"`
	Email          store.Opt[string] `json:"email" format:"email" max:"254"`
	IncludeContact store.Opt[bool]   `json:"include_contact"`
}

// cardView is one card.
type cardView struct {
	cardRow
	InstalledAt  store.Null[store.Time] `json:"installed_at"`
	AllLocations bool                   `json:"all_locations"`
	Locations    []store.NamedLocation  `json:"locations"`
	OtherIDs     []string               `json:"other_ids"`
}

// otherCards is the most other cards that get_card names.
const otherCards = 10

func getCard(c *call) (any, error) {
	a, err := toolArgs[cardArgs](c)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, set := range []bool{a.ID.Set, a.ExternalRef.Set, a.Email.Set} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, store.Invalid(
			store.Detail{Field: "id", Code: wire.CodeRequired, Message: "Give exactly one of id, external_ref and email."},
		)
	}
	id, others := a.ID.V, []string{}
	if !a.ID.Set {
		p, err := do[store.Counted[store.CardFound]](c, operation.FindCards, kernel.Args{Fields: store.CardFind{
			PageQuery:   store.PageQuery{Limit: store.Given[int64](otherCards + 1)},
			ExternalRef: a.ExternalRef,
			Email:       a.Email,
		}})
		if err != nil {
			return nil, err
		}
		if len(p.Data) == 0 {
			return nil, kernel.Refuse(store.NotFound, "No such card.")
		}
		use := max(0, slices.IndexFunc(p.Data, func(f store.CardFound) bool {
			return f.Status != store.StatusArchived && f.Status != store.StatusExpired
		}))
		id = p.Data[use].ID
		for i, f := range p.Data {
			if i != use {
				others = append(others, f.ID)
			}
		}
	}
	d, err := do[store.CardSeen](c, operation.GetSeenCard, kernel.Args{Params: kernel.Params{"id": id}})
	return &cardView{cardRowOf(d.CardFound, a.IncludeContact.V), d.InstalledAt, d.AllLocations, d.Locations, others}, err
}

// transactionRow is a row of the ledger.
type transactionRow struct {
	ID           string                 `json:"id"`
	CardID       string                 `json:"card_id"`
	ProgramID    string                 `json:"program_id"`
	LocationID   string                 `json:"location_id"`
	LocationName string                 `json:"location_name"`
	Type         string                 `json:"type"`
	Stamps       store.Null[int64]      `json:"stamps"`
	ValueCents   store.Null[int64]      `json:"value_cents"`
	PrizeID      store.Null[string]     `json:"prize_id"`
	ReversedAt   store.Null[store.Time] `json:"reversed_at"`
	CreatedAt    store.Time             `json:"created_at"`
}

func listTransactions(c *call) (any, error) {
	own, in := splitArgs[rowArgs](c)
	return rows(c, operation.CountTransactions, in, own.Limit, func(p store.Counted[store.Transaction]) any {
		return countedPageOf(p, func(t store.Transaction) transactionRow {
			return transactionRow{
				t.ID,
				t.CardID,
				t.ProgramID,
				t.LocationID,
				t.LocationName,
				t.Type,
				t.StampsDelta,
				t.ValueDelta,
				t.PrizeID,
				t.ReversedAt,
				t.CreatedAt,
			}
		})
	})
}

func comparePeriods(c *call) (any, error) {
	r, err := checked[store.Comparison](c, operation.ComparePeriods, &input{body: c.args})
	return &r, err
}
