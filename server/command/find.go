package command

import (
	"context"
	"encoding/json"
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
	one, many string            // in messages
	prefix    string            // of ids
	list      *kernel.Operation // nil: it is named by its id alone
	search    string            // field of list for the text; empty: it lists all
	names     []string          // fields of a thing that may have the text
	labels    []string          // columns of a thing that messages show besides
	program   string            // field with the program in whose path the thing is addressed
}

// candidate is a thing that a text may name.
type candidate struct {
	id     string
	names  []string
	labels []string
	past   bool              // archived, disabled or revoked: named by its id, or if nothing else has the name
	params map[string]string // of operations on it, besides its id
	chain  string            // of a card: the same for cards of one customer, of which the first one listed is the current one
}

// String returns the thing as messages name it.
func (c candidate) String() string {
	if label := strings.Join(append(slices.Clip(c.names), c.labels...), ", "); label != "" {
		return c.id + " (" + label + ")"
	}
	return c.id
}

// The kinds of things that arguments name.
var (
	shopKind    = &resource{one: "shop", many: "shops", prefix: "shp_", list: operation.ListShops, names: []string{"name"}}
	programKind = &resource{
		one: "program", many: "programs", prefix: "prg_", list: operation.ListPrograms, names: []string{"name"},
		labels: []string{"program state"},
	}
	prizeKind = &resource{
		one: "prize", many: "prizes", prefix: "prz_", list: operation.ListPrizes, names: []string{"name"},
		labels: []string{"stamps for it"},
	}
	locationKind = &resource{
		one: "location", many: "locations", prefix: "loc_", list: operation.ListLocations, names: []string{"name"},
		labels: []string{"city"},
	}
	deviceKind = &resource{one: "device", many: "devices", prefix: "dev_", list: operation.ListDevices, names: []string{"name", "prefix"}}
	keyKind    = &resource{one: "key", many: "keys", prefix: "key_", list: operation.ListKeyInfos, names: []string{"name", "prefix"}}
	memberKind = &resource{
		one: "member of staff", many: "members of staff", prefix: "stf_", list: operation.ListStaff, names: []string{"name"},
	}
	personKind = &resource{one: "person", many: "people", prefix: "usr_", list: operation.ListUsers, names: []string{"email"}}
	cardKind   = &resource{
		one: "card", many: "cards", prefix: "crd_", list: operation.SearchCards, search: "q",
		names: []string{"holder_name", "holder_email", "external_ref"}, labels: []string{"program_name", "status"},
	}
	webhookKind = &resource{
		one: "webhook", many: "webhooks", prefix: "whk_", list: operation.ListShopWebhooks, names: []string{"url", "description"},
		program: "program_id",
	}
	importKind   = &resource{one: "import", many: "imports", prefix: "imp_"}
	deliveryKind = &resource{one: "delivery", many: "deliveries", prefix: "dlv_"}
)

// idFields are the fields that hold ids, by what they name.
var idFields = map[string]*resource{
	"card_id":             cardKind,
	"card_ids":            cardKind,
	"location_id":         locationKind,
	"location_ids":        locationKind,
	"program_id":          programKind,
	"program_ids":         programKind,
	"scoped_location_ids": locationKind,
	"to_shop_id":          shopKind,
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

// newFinder returns a finder in a shop of a file.
func newFinder(st *store.Store, shop int64) finder {
	return finder{kernel.New(st, kernel.Config{Fields: fieldLimits}), person(shop)}
}

// call runs an operation and returns its answer as JSON.
func (f finder) call(ctx context.Context, op *kernel.Operation, in kernel.Input) ([]byte, error) {
	r, err := f.kernel.Invoke(ctx, f.caller, op, in)
	return r.AppendJSON(nil), err
}

// pageSize is how many items readPages asks for at once.
const pageSize = 100

// readPages returns the items of a list, up to limit if it is not 0, and whether there are more. A list without pages has one.
func (f finder) readPages(ctx context.Context, op *kernel.Operation, args kernel.Form, limit int) (all [][]byte, more bool, err error) {
	if args.Fields == nil {
		args.Fields = url.Values{}
	}
	if paged(op) {
		args.Fields.Set("limit", strconv.Itoa(pageSize))
	}
	for {
		answer, err := f.call(ctx, op, args)
		if err != nil {
			return nil, false, err
		}
		var page struct {
			Data       []json.RawMessage `json:"data"`
			NextCursor string            `json:"next_cursor"`
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, false, err
		}
		for _, item := range page.Data {
			all = append(all, item)
		}
		if limit > 0 && len(all) >= limit {
			return all[:limit], len(all) > limit || page.NextCursor != "", nil
		}
		if page.NextCursor == "" {
			return all, false, nil
		}
		args.Fields.Set("cursor", page.NextCursor)
	}
}

// readRows returns the items of a list as rows.
func (f finder) readRows(op *kernel.Operation, args kernel.Form, limit int) (rows []row, err error) {
	items, _, err := f.readPages(context.Background(), op, args, limit)
	for _, item := range items {
		r, err := decode(item)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, err
}

// find returns the thing that a text names: by its id, or by a text of which only one has
// it. params are those of the operation that are known. An id is returned as it is; the
// operation refuses one that is none.
func (f finder) find(kind *resource, text string, params map[string]string) (candidate, error) {
	if strings.HasPrefix(text, kind.prefix) && kind.program == "" || kind.list == nil {
		return candidate{id: text}, nil
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return candidate{}, usagef("the %s must not be empty", kind.one)
	}
	all, err := f.candidates(kind, text, params)
	if err != nil {
		return candidate{}, err
	}
	return choose(kind, text, all)
}

// candidates lists what a text may name. If the search for a card finds one that has the text in
// none of its fields, the text is its code.
func (f finder) candidates(kind *resource, text string, params map[string]string) (all []candidate, err error) {
	args, limit := kernel.Form{Params: params}, 0
	if kind.search != "" {
		args.Fields = url.Values{kind.search: {text}}
		limit = pageSize
	}
	rows, err := f.readRows(kind.list, args, limit)
	for _, r := range rows {
		c := candidate{id: r.value("id"), past: r["revoked_at"] != nil || r["disabled_at"] != nil || r["status"] == store.StatusArchived}
		for _, field := range kind.names {
			if name := r.value(field); name != "" {
				c.names = append(c.names, name)
			}
		}
		for _, column := range kind.labels {
			c.labels = append(c.labels, r.text(column))
		}
		if reference := r.value("external_ref"); kind == cardKind && reference != "" { // of one live chain of a program
			c.chain = r.value("program_id") + reference
		}
		if kind.program != "" {
			c.params = map[string]string{"id": r.value(kind.program)}
		}
		all = append(all, c)
	}
	isCode := kind.search != "" && (store.IsShortCode(text) || len(text) > 20)
	if len(all) == 1 && isCode && !strings.Contains(strings.ToLower(all[0].String()), strings.ToLower(text)) {
		all[0].names = append(all[0].names, text)
	}
	return all, err
}

// choose returns the candidate that a text names.
func choose(kind *resource, text string, all []candidate) (candidate, error) {
	var found []candidate
	for _, c := range all {
		if c.id == text || slices.ContainsFunc(c.names, func(name string) bool { return strings.EqualFold(name, text) }) {
			found = append(found, c)
		}
	}
	if current := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.past }); len(current) > 0 {
		found = current
	}
	isOther := func(c candidate) bool { return c.past || c.chain == "" || c.chain != found[0].chain }
	switch {
	case len(found) == 1, len(found) > 1 && !slices.ContainsFunc(found, isOther):
		return found[0], nil
	case strings.HasPrefix(text, kind.prefix):
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

// in opens the file and calls f for the shop that --shop names.
func (c OfShop) in(f func(finder) error) error {
	return c.with(existing, func(st *store.Store) error {
		shop, err := c.resolve(st)
		if err != nil {
			return err
		}
		return f(newFinder(st, shop))
	})
}

// do runs an operation with fields, or without if they are nil.
func do[O any](ctx context.Context, f finder, op *kernel.Operation, fields any) (O, error) {
	return kernel.Do[O](ctx, f.kernel, f.caller, op, kernel.Args{Fields: fields})
}

// resolve returns the key of the shop that --shop names, by its id or name. Without the flag it is
// the only shop of the file.
func (c OfShop) resolve(st *store.Store) (int64, error) {
	id := c.Shop
	if id != "" {
		found, err := newFinder(st, 0).find(shopKind, id, nil)
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
