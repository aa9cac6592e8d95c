package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// resource is a kind of thing that an argument names by its id, or by a text that only
// one of them has.
type resource struct {
	one, many string // in messages
	prefix    string // of ids
	list      func(f finder, text string, params map[string]string) ([]candidate, error)
}

// candidate is a thing that a text may name.
type candidate struct {
	id, label string
	names     []string
	past      bool              // archived or revoked: named by its id, or if nothing else has the name
	params    map[string]string // of operations on it, besides its id
}

// String returns the thing as messages name it.
func (c candidate) String() string {
	if c.label == "" {
		return c.id
	}
	return c.id + " (" + c.label + ")"
}

// The kinds of things that arguments name.
var (
	aProgram  = &resource{"program", "programs", "prg_", listPrograms}
	aPrize    = &resource{"prize", "prizes", "prz_", listPrizes}
	aCard     = &resource{"card", "cards", "crd_", listCards}
	aLocation = &resource{"location", "locations", "loc_", listLocations}
	aWebhook  = &resource{"webhook", "webhooks", "whk_", listWebhooks}
	aDevice   = &resource{"device", "devices", "dev_", listDevices}
	aKey      = &resource{"key", "keys", "key_", listKeys}
	aMember   = &resource{"member of staff", "members of staff", "stf_", listStaff}
)

// idFields are the fields that hold ids, by what they name.
var idFields = map[string]*resource{"program_id": aProgram, "program_ids": aProgram, "location_id": aLocation, "location_ids": aLocation, "scoped_location_ids": aLocation, "card_id": aCard}

// usageError is an error about what was typed, which does not concern the file.
type usageError string

// Error returns the error.
func (e usageError) Error() string { return string(e) }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// asUsage returns err with a text before it if it is a usageError.
func asUsage(err error, before string) error {
	if e := usageError(""); errors.As(err, &e) {
		return usageError(before) + e
	}
	return err
}

// finder finds what names stand for, in the shop of the caller.
type finder struct {
	kernel *kernel.Kernel
	caller kernel.Caller
}

// find returns the thing that a text names: by its id, or by a text of which only one has
// it. params are those of the operation that are known. An id is returned as it is; the
// operation refuses one that is none.
func (f finder) find(kind *resource, text string, params map[string]string) (candidate, error) {
	isID := strings.HasPrefix(text, kind.prefix)
	if isID && kind != aWebhook {
		return candidate{id: text}, nil
	}
	if strings.TrimSpace(text) == "" {
		return candidate{}, usagef("the %s must not be empty", kind.one)
	}
	all, err := kind.list(f, text, params)
	if err != nil {
		return candidate{}, err
	}
	return choose(kind, text, all)
}

// choose returns the candidate that a text names.
func choose(kind *resource, text string, all []candidate) (candidate, error) {
	isID := strings.HasPrefix(text, kind.prefix)
	var found []candidate
	for _, c := range all {
		if c.id == text || slices.ContainsFunc(c.names, func(name string) bool { return strings.EqualFold(name, strings.TrimSpace(text)) }) {
			found = append(found, c)
		}
	}
	if current := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.past }); len(current) > 0 {
		found = current
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case isID:
		return candidate{id: text, params: map[string]string{"id": text}}, nil // the operation refuses it
	case len(found) > 1:
		return candidate{}, usagef("%d %s are named %s; give the id of one: %s", len(found), kind.many, shortened(text), labels(found))
	case len(all) == 0:
		return candidate{}, usagef("no %s is named %s", kind.one, shortened(text))
	}
	return candidate{}, usagef("no %s is named %s; there are: %s", kind.one, shortened(text), labels(all))
}

// maxShown is how many characters of a text an error repeats.
const maxShown = 60

// shortened returns a text as an error repeats it.
func shortened(text string) string {
	if all := []rune(text); len(all) > maxShown {
		return string(all[:maxShown]) + "…"
	}
	return text
}

// maxLabels is how many candidates an error lists.
const maxLabels = 10

// labels lists candidates for an error.
func labels(all []candidate) string {
	var parts []string
	for _, c := range all[:min(len(all), maxLabels)] {
		parts = append(parts, c.String())
	}
	if more := len(all) - maxLabels; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// resolve returns the key of the shop that --shop names, by its id or name. Without the flag it is
// the only shop of the file.
func (c OfShop) resolve(st *store.Store) (int64, error) {
	id := c.Shop
	if id != "" && !strings.HasPrefix(id, "shp_") {
		shops, err := readList[store.Shop](finder{kernel.New(st, kernel.Config{Fields: fieldLimits}), person(0)}, operation.ListShops, kernel.Args{})
		if err != nil {
			return 0, err
		}
		var all []candidate
		for _, s := range shops {
			all = append(all, candidate{id: s.ID, label: s.Name, names: []string{s.Name}})
		}
		found, err := choose(&resource{one: "shop", many: "shops", prefix: "shp_"}, id, all)
		if err != nil {
			return 0, asUsage(err, "--shop: ")
		}
		id = found.id
	}
	key, err := st.ResolveShop(id)
	if e, refused := store.AsError(err); refused && e.Code == store.NotFound && id != "" {
		return 0, usagef("--shop: no such shop")
	}
	return key, err
}

// id returns the id of what a text names, for commands that are not bound.
func (c OfShop) id(kind *resource, text string) (id string, err error) {
	if strings.HasPrefix(text, kind.prefix) {
		return text, nil
	}
	err = c.with(existing, func(st *store.Store) error {
		shop, err := c.resolve(st)
		if err != nil {
			return err
		}
		found, err := finder{kernel.New(st, kernel.Config{Fields: fieldLimits}), person(shop)}.find(kind, text, nil)
		id = found.id
		return err
	})
	return id, err
}

// ids does the same for several.
func (c OfShop) ids(kind *resource, texts []string) (ids []string, err error) {
	for _, text := range texts {
		id, err := c.id(kind, text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// readAll returns the items of all pages of a list.
func readAll[T any](f finder, op *kernel.Operation, query func(store.PageQuery) any) (all []T, err error) {
	q := store.PageQuery{Limit: store.Given[int64](pageSize)}
	for {
		p, err := kernel.Do[store.Page[T]](context.Background(), f.kernel, f.caller, op, kernel.Args{Fields: query(q)})
		if err != nil {
			return nil, err
		}
		all = append(all, p.Data...)
		if !p.NextCursor.Valid {
			return all, nil
		}
		q.Cursor = store.Given(p.NextCursor.V)
	}
}

// readList returns the items of a list that has one page.
func readList[T any](f finder, op *kernel.Operation, args kernel.Args) ([]T, error) {
	l, err := kernel.Do[operation.List[T]](context.Background(), f.kernel, f.caller, op, args)
	return l.Data, err
}

func listPrograms(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	programs, err := readAll[store.Program](f, operation.ListPrograms, func(q store.PageQuery) any { return operation.ProgramsQuery{PageQuery: q} })
	for _, p := range programs {
		all = append(all, candidate{id: p.ID, label: p.Name + ", " + operation.ProgramState(p), names: []string{p.Name}})
	}
	return all, err
}

func listPrizes(f finder, _ string, params map[string]string) (all []candidate, err error) {
	ladder, err := kernel.Do[operation.Ladder](context.Background(), f.kernel, f.caller, operation.ListPrizes, kernel.Args{Params: params})
	for _, z := range ladder.Data {
		all = append(all, candidate{id: z.ID, label: fmt.Sprintf("%s, %d stamps", z.Name, z.Threshold), names: []string{z.Name}})
	}
	return all, err
}

// listCards searches, since a shop has many cards. If the search finds one card that has the
// text in none of its fields, the text is its code.
func listCards(f finder, text string, _ map[string]string) (all []candidate, err error) {
	q := operation.SearchQuery{PageQuery: store.PageQuery{Limit: store.Given[int64](pageSize)}, CardSearch: store.CardSearch{Q: store.Given(text)}}
	p, err := kernel.Do[store.Page[store.FoundCard]](context.Background(), f.kernel, f.caller, operation.SearchCards, kernel.Args{Fields: q})
	for _, c := range p.Data {
		var names []string
		for _, name := range []store.Null[string]{c.HolderName, c.HolderEmail, c.ExternalRef} {
			if name.Valid {
				names = append(names, name.V)
			}
		}
		label := strings.Join(append(slices.Clone(names), c.ProgramName, c.Status), ", ")
		all = append(all, candidate{id: c.ID, label: label, names: names, past: c.Status == store.StatusArchived})
	}
	text = strings.TrimSpace(text)
	if len(all) == 1 && text != "" && !strings.Contains(strings.ToLower(all[0].label), strings.ToLower(text)) && (store.IsShortCode(text) || len(text) > 20) {
		all[0].names = append(all[0].names, text)
	}
	return all, err
}

func listLocations(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	locations, err := readAll[store.Location](f, operation.ListLocations, func(q store.PageQuery) any { return operation.PageQuery{PageQuery: q} })
	for _, l := range locations {
		all = append(all, candidate{id: l.ID, label: l.Name + ", " + l.City, names: []string{l.Name}})
	}
	return all, err
}

func listWebhooks(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	hooks, err := readList[store.WebhookOverview](f, operation.ListShopWebhooks, kernel.Args{})
	for _, h := range hooks {
		all = append(all, candidate{id: h.ID, label: h.URL, names: []string{h.URL, h.Description}, params: map[string]string{"id": h.ProgramID}})
	}
	return all, err
}

func listDevices(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	devices, err := readList[store.Device](f, operation.ListDevices, kernel.Args{})
	for _, d := range devices {
		all = append(all, candidate{id: d.ID, label: d.Name + ", " + d.Prefix, names: []string{d.Name, d.Prefix}, past: d.RevokedAt.Valid})
	}
	return all, err
}

func listKeys(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	keys, err := readList[store.Key](f, operation.ListKeys, kernel.Args{})
	for _, k := range keys {
		all = append(all, candidate{id: k.ID, label: k.Name + ", " + k.Prefix, names: []string{k.Name, k.Prefix}, past: k.RevokedAt.Valid})
	}
	return all, err
}

func listStaff(f finder, _ string, _ map[string]string) (all []candidate, err error) {
	members, err := readList[store.StaffMember](f, operation.ListStaff, kernel.Args{})
	for _, m := range members {
		all = append(all, candidate{id: m.ID, label: m.Name, names: []string{m.Name}, past: m.DisabledAt.Valid})
	}
	return all, err
}
