package mcp

import (
	"slices"
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// intJSON returns a number as JSON.
func intJSON(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// statsArgs are the arguments of get_analytics.
type statsArgs struct {
	View      store.Opt[string]   `json:"view" req:"true" enum:"summary,program,card_types,card_type,heatmap"`
	ProgramID store.Opt[string]   `json:"program_id" min:"1"`
	CardType  store.Opt[string]   `json:"card_type" enum:"standard,private,discount,access,prepaid"`
	From      store.Opt[string]   `json:"from" format:"date"`
	To        store.Opt[string]   `json:"to" format:"date"`
	Sections  store.Opt[[]string] `json:"sections" max:"10"`
}

// The sections of the view of a program.
var sections = []string{"totals", "by_day", "by_location", "by_hour"}

// check returns what is wrong with the arguments of a view.
func (a statsArgs) check() (details []store.Detail) {
	view := a.View.V
	foreign := func(field string, set bool) {
		if set {
			details = append(details, store.Detail{Field: field, Code: wire.CodeNotAllowed, Message: "does not belong to this view"})
		}
	}
	foreign("card_type", a.CardType.Set && view != "card_type")
	foreign("from", a.From.Set && view != "heatmap")
	foreign("to", a.To.Set && view != "heatmap")
	foreign("sections", a.Sections.Set && view != "program")
	foreign("program_id", a.ProgramID.Set && view != "program" && view != "heatmap")
	missing := func(field string, missing bool) {
		if missing {
			details = append(details, store.Detail{Field: field, Code: wire.CodeRequired, Message: "is required"})
		}
	}
	missing("program_id", view == "program" && !a.ProgramID.Set)
	missing("card_type", view == "card_type" && !a.CardType.Set)
	for i, s := range a.Sections.V {
		if !slices.Contains(sections, s) {
			details = append(details, store.Detail{
				Field:   "sections." + strconv.Itoa(i),
				Code:    wire.CodeInvalidValue,
				Message: "must be one of totals, by_day, by_location, by_hour",
			})
		}
	}
	return details
}

// dayCount is the count of a day on which there was something.
type dayCount struct {
	Date  string `json:"date"`
	Count int64  `json:"count"`
}

// nonZero returns the days whose count is not zero.
func nonZero(days []store.DayCount) []dayCount {
	list := []dayCount{}
	for _, d := range days {
		if d.Count != 0 {
			list = append(list, dayCount(d))
		}
	}
	return list
}

// heatmap is the activity by day.
type heatmap struct {
	View string     `json:"view"`
	From string     `json:"from"`
	To   string     `json:"to"`
	Days []dayCount `json:"days"` // those with any
}

func getAnalytics(c *call) (any, error) {
	a, err := toolArgs[statsArgs](c)
	if err != nil {
		return nil, err
	}
	if details := a.check(); details != nil {
		return nil, store.Invalid(details...)
	}
	in := kernel.Args{Params: kernel.Params{"id": a.ProgramID.V, "type": a.CardType.V}}
	switch a.View.V {
	case "summary":
		s, err := do[store.AnalyticsSummary](c, operation.GetAnalyticsSummary, in)
		return &struct {
			View string `json:"view"`
			store.AnalyticsSummary
		}{a.View.V, s}, err
	case "card_types":
		d, err := do[store.CardTypeDistribution](c, operation.GetCardTypes, in)
		type row struct {
			Type        string `json:"type"`
			ActiveCards int64  `json:"active_cards"`
		}
		rows := []row{}
		for _, t := range d.Distribution {
			rows = append(rows, row{t.Type, t.Count})
		}
		return &struct {
			View string `json:"view"`
			Data []row  `json:"data"`
		}{a.View.V, rows}, err
	case "card_type":
		s, err := do[store.CardStats](c, operation.GetCardTypeStats, in)
		return &struct {
			View     string              `json:"view"`
			CardType string              `json:"card_type"`
			Figures  map[string]*float64 `json:"figures"`
			Timezone string              `json:"timezone"`
		}{a.View.V, s.CardType, s.KPIs, s.Timezone}, err
	case "heatmap":
		in.Fields = store.HeatmapQuery{From: a.From, To: a.To, ProgramID: a.ProgramID}
		h, err := checked[store.ActivityHeatmap](c, operation.GetHeatmap, in)
		return &heatmap{a.View.V, h.From, h.To, nonZero(h.Days)}, err
	}
	return c.programStats(a, in)
}

// programFigures are the figures of a program. A section that was not asked for is left out.
type programFigures struct {
	View                 string              `json:"view"`
	ProgramID            string              `json:"program_id"`
	Timezone             string              `json:"timezone"`
	ActiveCards          *int64              `json:"active_cards,omitempty"`
	TotalStampsAwarded   *int64              `json:"total_stamps_awarded,omitempty"`
	PrizesRedeemed       *int64              `json:"prizes_redeemed,omitempty"`
	CompletionRate       *float64            `json:"completion_rate,omitempty"`
	AvgDaysBetweenStamps *float64            `json:"avg_days_between_stamps,omitempty"`
	PlatformSplit        *store.Platforms    `json:"platform_split,omitempty"`
	CardsByLocation      *[]store.PlaceCount `json:"cards_by_location,omitempty"`
	StampsByLocation     *[]store.PlaceCount `json:"stamps_by_location,omitempty"`
	CardsByDay           *[]dayCount         `json:"cards_by_day,omitempty"`
	StampsByDay          *[]dayCount         `json:"stamps_by_day,omitempty"`
	StampsByHour         *[]store.HourCount  `json:"stamps_by_hour_of_week,omitempty"`
}

func (c *call) programStats(a statsArgs, in kernel.Input) (any, error) {
	s, err := do[store.ProgramStats](c, operation.GetProgramStats, in)
	if err != nil {
		return nil, err
	}
	wanted := a.Sections.Or([]string{"totals", "by_location"})
	has := func(section string) bool { return slices.Contains(wanted, section) }
	f := &programFigures{View: a.View.V, ProgramID: a.ProgramID.V, Timezone: s.Timezone}
	if has("totals") {
		f.ActiveCards, f.TotalStampsAwarded, f.PrizesRedeemed = s.ActiveCards, s.TotalStampsAwarded, s.PrizesRedeemed
		f.CompletionRate, f.AvgDaysBetweenStamps, f.PlatformSplit = s.CompletionRate, s.AvgDaysBetweenStamps, s.PlatformSplit
	}
	if has("by_location") {
		f.CardsByLocation, f.StampsByLocation = s.CardsByLocation, s.StampsByLocation
	}
	if has("by_day") && s.CardsByDay != nil && s.StampsByDay != nil {
		cards, stamps := nonZero(*s.CardsByDay), nonZero(*s.StampsByDay)
		f.CardsByDay, f.StampsByDay = &cards, &stamps
	}
	if has("by_hour") {
		f.StampsByHour = s.StampsByHourDow
	}
	return f, nil
}

// locationTools returns the tools that change locations.
func locationTools() []*tool {
	return []*tool{
		{
			name:        "update_location",
			title:       "Change a location",
			scope:       "locations:write",
			writes:      true,
			destructive: true,
			idempotent:  true,
			run:         updateLocation,
			doc:         "Changes the name, address or position of a location, or whether its tills ask for the staff PIN.",
			schema: `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string","maxLength":200},
				"address":{"type":"string"},"city":{"type":"string"},"postal_code":{"type":"string"},
				"country_code":{"type":"string","description":"ISO 3166-1, two letters."},"lat":{"type":"number"},
				"lon":{"type":"number"},"require_staff_pin":{"type":"boolean"},"idempotency_key":{"type":"string"}},
				"required":["id"],"additionalProperties":false}`,
		},
		{
			name:        "set_location_state",
			title:       "Enable or disable a location",
			scope:       "locations:write",
			writes:      true,
			destructive: true,
			idempotent:  true,
			run:         setLocationState,
			doc:         "Enables or disables a location. Disabling stops all its tills. " + confirmDoc,
			schema: `{"type":"object","properties":{"id":{"type":"string"},"state":{"type":"string","enum":["enabled",
				"disabled"]},` + confirmSchema + `},"required":["id","state"],"additionalProperties":false}`,
		},
	}
}

const (
	confirmDoc = "It answers first with the impact and a confirm_token: show the impact to the user, and call again with the " +
		"same arguments and the token only if the user agrees."
	confirmSchema = `"confirm_token":{"type":"string","description":"From the first answer; valid for 10 minutes."},
		"idempotency_key":{"type":"string"}`
)

// locationView is a location.
type locationView struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Address         string     `json:"address"`
	City            string     `json:"city"`
	PostalCode      string     `json:"postal_code"`
	CountryCode     string     `json:"country_code"`
	Lat             float64    `json:"lat"`
	Lon             float64    `json:"lon"`
	Active          bool       `json:"active"`
	RequireStaffPIN bool       `json:"require_staff_pin"`
	UpdatedAt       store.Time `json:"updated_at"`
}

func locationViewOf(l store.Location) *locationView {
	return &locationView{
		l.ID, l.Name, l.Address, l.City, l.PostalCode, l.CountryCode, l.Lat, l.Lon, l.Active, l.RequireStaffPIN, l.UpdatedAt,
	}
}

func updateLocation(c *call) (any, error) {
	own, in := splitArgs[resourceArgs](c)
	return change(c, operation.UpdateLocation, in, own.writeArgs, locationViewOf)
}

// stateArgs are the arguments of set_location_state.
type stateArgs struct {
	resourceArgs
	State store.Opt[string] `json:"state" req:"true" enum:"enabled,disabled"`
}

func setLocationState(c *call) (any, error) {
	own, in := splitArgs[stateArgs](c)
	op, impact := operation.DisableLocation, "Every till at this location stops working at once: "+
		"no stamps, no redemptions, no new cards, until it is enabled again."
	if own.State.V == "enabled" {
		op, impact = operation.EnableLocation, "The tills at this location accept cards again at once."
	}
	return confirm(c, op, in, own.writeArgs, func() (string, error) { return impact, nil }, locationViewOf)
}
