package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
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
	list      lister
}

// lister lists what a text may name. params are those of the operation that are known.
type lister func(f finder, text string, params map[string]string) ([]candidate, error)

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
	aShop     = &resource{"shop", "shops", "shp_", listOf(readList, operation.ListShops, shopCandidate)}
	aProgram  = &resource{"program", "programs", "prg_", listOf(readAll, operation.ListPrograms, programCandidate)}
	aPrize    = &resource{"prize", "prizes", "prz_", listPrizes}
	aCard     = &resource{"card", "cards", "crd_", listCards}
	aLocation = &resource{"location", "locations", "loc_", listOf(readAll, operation.ListLocations, locationCandidate)}
	aWebhook  = &resource{"webhook", "webhooks", "whk_", listOf(readList, operation.ListShopWebhooks, webhookCandidate)}
	aDevice   = &resource{"device", "devices", "dev_", listOf(readList, operation.ListDevices, deviceCandidate)}
	aKey      = &resource{"key", "keys", "key_", listOf(readList, operation.ListKeyInfos, keyCandidate)}
	aMember   = &resource{"member of staff", "members of staff", "stf_", listOf(readList, operation.ListStaff, memberCandidate)}
	aPerson   = &resource{"person", "people", "usr_", listPeople}
	aDelivery = &resource{"delivery", "deliveries", "dlv_", listNothing}
)

// idFields are the fields that hold ids, by what they name.
var idFields = map[string]*resource{
	"card_id":             aCard,
	"location_id":         aLocation,
	"location_ids":        aLocation,
	"program_id":          aProgram,
	"program_ids":         aProgram,
	"scoped_location_ids": aLocation,
}

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
		if c.id == text ||
			slices.ContainsFunc(c.names, func(name string) bool { return strings.EqualFold(name, strings.TrimSpace(text)) }) {
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
		f := finder{kernel.New(st, kernel.Config{Fields: fieldLimits}), person(0)}
		found, err := f.find(aShop, id, nil)
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

// namesOf returns a function that returns an id with the name of what it stands for, as candidates
// are printed. ids return the ids in a row of a table. Where no name can be read, there is the id.
func namesOf[T any](o output, rows []T, ids ...func(T) string) func(id string) string {
	var all []string
	for _, row := range rows {
		for _, id := range ids {
			all = append(all, id(row))
		}
	}
	byID := map[string]string{}
	c := o.bound.target
	c.with(existing, func(st *store.Store) error {
		shop, err := c.resolve(st)
		if err != nil {
			return err
		}
		return st.View(0, func(v *store.View) (err error) {
			byID, err = v.Names(shop, all)
			return err
		})
	})
	return func(id string) string { return candidate{id: id, label: byID[id]}.String() }
}

// readAll returns the items of all pages of a list.
func readAll[T any](f finder, op *kernel.Operation) ([]T, error) {
	return readPages[T](context.Background(), f, op, kernel.Form{Fields: url.Values{}}, 0)
}

// readPages returns the items of the pages of a list, up to limit if it is not 0.
func readPages[T any](ctx context.Context, f finder, op *kernel.Operation, args kernel.Form, limit int) (all []T, err error) {
	args.Fields.Set("limit", strconv.Itoa(pageSize))
	for {
		p, err := kernel.Do[store.Page[T]](ctx, f.kernel, f.caller, op, args)
		if err != nil {
			return nil, err
		}
		all = append(all, p.Data...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if !p.NextCursor.Valid {
			return all, nil
		}
		args.Fields.Set("cursor", p.NextCursor.V)
	}
}

// readList returns the items of a list that has one page.
func readList[T any](f finder, op *kernel.Operation) ([]T, error) {
	l, err := kernel.Do[operation.List[T]](context.Background(), f.kernel, f.caller, op, kernel.Args{})
	return l.Data, err
}

// listNothing lists nothing, for what is named by its id alone.
func listNothing(finder, string, map[string]string) ([]candidate, error) { return nil, nil }

// listOf returns the function that lists what an operation returns, each item as a candidate.
func listOf[T any](read func(finder, *kernel.Operation) ([]T, error), op *kernel.Operation, as func(T) candidate) lister {
	return func(f finder, _ string, _ map[string]string) (all []candidate, err error) {
		items, err := read(f, op)
		for _, item := range items {
			all = append(all, as(item))
		}
		return all, err
	}
}

func programCandidate(p store.Program) candidate {
	return candidate{id: p.ID, label: p.Name + ", " + operation.ProgramState(p), names: []string{p.Name}}
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
	q := operation.SearchQuery{
		PageQuery:  store.PageQuery{Limit: store.Given[int64](pageSize)},
		CardSearch: store.CardSearch{Q: store.Given(text)},
	}
	p, err := kernel.Do[store.Page[store.FoundCard]](
		context.Background(), f.kernel, f.caller, operation.SearchCards,
		kernel.Args{Fields: q},
	)
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
	isCode := text != "" && (store.IsShortCode(text) || len(text) > 20)
	if len(all) == 1 && isCode && !strings.Contains(strings.ToLower(all[0].label), strings.ToLower(text)) {
		all[0].names = append(all[0].names, text)
	}
	return all, err
}

func shopCandidate(s store.Shop) candidate {
	return candidate{id: s.ID, label: s.Name, names: []string{s.Name}}
}

func locationCandidate(l store.Location) candidate {
	return candidate{id: l.ID, label: l.Name + ", " + l.City, names: []string{l.Name}}
}

func webhookCandidate(h store.WebhookOverview) candidate {
	return candidate{id: h.ID, label: h.URL, names: []string{h.URL, h.Description}, params: map[string]string{"id": h.ProgramID}}
}

func deviceCandidate(d store.Device) candidate {
	return candidate{id: d.ID, label: d.Name + ", " + d.Prefix, names: []string{d.Name, d.Prefix}, past: d.RevokedAt.Valid}
}

func keyCandidate(k store.KeyInfo) candidate {
	return candidate{id: k.ID, label: k.Name + ", " + k.Prefix, names: []string{k.Name, k.Prefix}, past: k.RevokedAt.Valid}
}

func memberCandidate(m store.StaffMember) candidate {
	return candidate{id: m.ID, label: m.Name, names: []string{m.Name}, past: m.DisabledAt.Valid}
}

// listPeople returns the account whose email the text is. A text that is no email is an id, which
// the operation judges.
func listPeople(f finder, text string, _ map[string]string) ([]candidate, error) {
	if !strings.Contains(text, "@") {
		return []candidate{{id: text}}, nil
	}
	users, err := kernel.Do[operation.Users](context.Background(), f.kernel, f.caller, operation.ListUsers, kernel.Args{})
	for _, u := range users.Data {
		if strings.EqualFold(u.Email, text) {
			return []candidate{{id: u.ID, names: []string{u.Email}}}, nil
		}
	}
	if err == nil {
		err = usagef("%s: no account has this email", text)
	}
	return nil, err
}
