package dev

import (
	"fmt"
	"slices"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// referent is what a ref stands for.
type referent struct {
	what string // such as "a program"
	shop *seedShop
	path string
	of   any // the entry
}

// link checks what concerns more than one object, and has each entry point to
// those that it names.
func (s *SeedFile) link(f *mistakes) {
	s.refs = map[string]referent{}
	for _, shop := range s.shops {
		s.name(f, shop)
	}
	l := &linker{mistakes: f, refs: s.refs, secrets: map[string]string{APIKey: "", RestrictedAPIKey: "", MCPKey: ""}}
	if top := s.shops[0]; top.F.Mode.Or("test") != "test" {
		f.add(join(top.path, "mode"), "must be test: the first shop has the demo keys, which are test keys")
	}
	for _, shop := range s.shops {
		l.shop = shop
		l.link()
	}
}

// name enters the refs of a shop's entries.
func (s *SeedFile) name(f *mistakes, shop *seedShop) {
	enter := func(ref store.Opt[string], what, path string, of any) {
		if !ref.Set {
			return
		}
		if first, taken := s.refs[ref.V]; taken {
			f.add(join(path, "ref"), fmt.Sprintf("%q is taken by %s; a ref is there once in the whole file", ref.V, first.path))
			return
		}
		s.refs[ref.V] = referent{what, shop, path, of}
	}
	enter(shop.F.Ref, "a shop", shop.path, shop)
	for _, e := range shop.locations {
		enter(e.F.Ref, "a location", e.path, e)
	}
	for _, e := range shop.programs {
		enter(e.F.Ref, "a program", e.path, e)
		for _, z := range e.prizes {
			enter(z.F.Ref, "a prize", z.path, z)
		}
	}
	for _, e := range shop.keys {
		enter(e.F.Ref, "a key", e.path, e)
	}
	for _, e := range shop.cards {
		enter(e.F.Ref, "a card", e.path, e)
	}
	for _, e := range shop.webhooks {
		enter(e.F.Ref, "a webhook", e.path, e)
	}
	for _, e := range shop.activity {
		enter(e.F.Ref, "an activity", e.path, e)
	}
}

// linker links the entries of one shop after the other.
type linker struct {
	*mistakes
	refs    map[string]referent
	secrets map[string]string // of keys, with the path of each
	shop    *seedShop
}

// find is the entry that a field at path refers to: one of the same shop and
// of the kind that what names. It is nil where there is none, or no ref.
func find[T any](l *linker, path string, ref store.Opt[string], what string) (of T) {
	if !ref.Set {
		return of
	}
	r, known := l.refs[ref.V]
	found, fits := r.of.(T)
	switch {
	case !known:
		l.add(path, fmt.Sprintf("%q is no ref of this file; it must be that of %s", ref.V, what))
	case r.what != what || !fits:
		l.add(path, fmt.Sprintf("%q is %s, %s; it must be %s", ref.V, r.what, r.path, what))
	case r.shop != l.shop:
		l.add(path, fmt.Sprintf("%q is %s of another shop, %s", ref.V, what, r.path))
	default:
		return found
	}
	return of
}

// findAll is find for a list of refs.
func findAll[T any](l *linker, path string, refs store.Opt[[]string], what string) (list []T) {
	for i, r := range refs.V {
		at := item(path, i)
		if slices.Contains(refs.V[:i], r) {
			l.add(at, fmt.Sprintf("%q is in the list twice", r))
			continue
		}
		list = append(list, find[T](l, at, store.Opt[string]{V: r, Set: true}, what))
	}
	return list
}

// details notes what a check of the store found in the entry at path; fields
// are what the seed calls those that have another name there.
func (l *linker) details(path string, list []store.Detail, fields map[string]string) {
	for _, d := range list {
		name, rest, dotted := strings.Cut(d.Field, ".")
		if other := fields[name]; other != "" {
			d.Field = other
			if dotted {
				d.Field += "." + rest
			}
		}
		l.add(join(path, d.Field), d.Message)
	}
}

func (l *linker) link() {
	l.details(l.shop.path, store.CheckTimezone(l.shop.F.Timezone), nil)
	l.when(l.shop.path, l.shop.F.when)
	for _, g := range l.shop.programs {
		l.program(g)
	}
	for _, k := range l.shop.keys {
		l.key(k)
	}
	for _, c := range l.shop.cards {
		l.card(c)
	}
	for _, w := range l.shop.webhooks {
		at := func(field string) string { return join(w.path, field) }
		w.program = find[*seedProgram](l, at("program"), w.F.Program, "a program")
		w.programs = findAll[*seedProgram](l, at("program_refs"), w.F.ProgramRefs, "a program")
		w.locations = findAll[*entry[locationFields]](l, at("location_refs"), w.F.LocationRefs, "a location")
		l.details(w.path, operation.WebhookFields{WebhookFields: w.F.WebhookFields}.Check(0), nil)
	}
	for _, a := range l.shop.activity {
		l.activity(a)
	}
}

// when notes an instant that is given in both ways.
func (l *linker) when(path string, w when) {
	if w.At.Set && w.Ago.Set {
		l.add(join(path, "ago"), "cannot be given beside at")
	}
}

func (l *linker) program(g *seedProgram) {
	at := func(field string) string { return join(g.path, field) }
	g.scope = findAll[*entry[locationFields]](l, at("scoped_location_refs"), g.F.ScopedLocationRefs, "a location")
	f := g.F.ProgramFields
	f.ScopedLocationIDs = g.F.ScopedLocationRefs // refs here, ids once there are any; the rules are the same
	l.details(g.path, f.Check(0), map[string]string{"scoped_location_ids": "scoped_location_refs"})
	if !store.Stamps(g.F.Type.V) {
		if g.F.MinSpendCents.Set {
			l.add(at("min_spend_cents"), "does not apply to programs of type "+g.F.Type.V)
		}
		if len(g.prizes) > 0 {
			l.add(at("prizes"), "do not apply to programs of type "+g.F.Type.V)
		}
	}
}

// key holds a key's secret to the form that its class and shop demand.
func (l *linker) key(k *seedKey) {
	at := join(k.path, "key")
	k.locations = findAll[*entry[locationFields]](l, join(k.path, "location_refs"), k.F.LocationRefs, "a location")
	for i, scope := range k.F.Scopes.V {
		if !slices.Contains(store.Scopes, scope) {
			l.add(item(join(k.path, "scopes"), i), "must be one of "+strings.Join(store.Scopes, ", "))
		}
	}
	if !k.F.Secret.Set {
		return
	}
	prefix := map[string]string{"api": "tsk_", "mcp": "tmk_"}[k.F.Class.Or("api")] + l.shop.F.Mode.Or("test") + "_"
	other, taken := l.secrets[k.F.Secret.V]
	switch {
	case taken && other == "":
		l.add(at, "is a demo key of the first shop")
	case taken:
		l.add(at, "is the key of "+other)
	case !strings.HasPrefix(k.F.Secret.V, prefix):
		l.add(at, fmt.Sprintf("must begin with %s: the class is %s and the shop is %s", prefix, k.F.Class.Or("api"), l.shop.F.Mode.Or("test")))
	}
	l.secrets[k.F.Secret.V] = k.path
}

func (l *linker) card(c *seedCard) {
	at := func(field string) string { return join(c.path, field) }
	l.when(c.path, c.F.when)
	c.program = find[*seedProgram](l, at("program"), c.F.Program, "a program")
	c.counter = find[*entry[locationFields]](l, at("at_location"), c.F.AtLocation, "a location")
	if c.program != nil && c.program.F.Draft.V {
		l.add(at("program"), fmt.Sprintf("%q is a draft, which has no cards", c.F.Program.V))
	}
	if c.F.ExpiresAt.Set && c.F.ExpiresIn.Set {
		l.add(at("expires_in"), "cannot be given beside expires_at")
	}
}

func (l *linker) activity(a *seedActivity) {
	at := func(field string) string { return join(a.path, field) }
	l.when(a.path, a.F.when)
	if !a.F.At.Set && !a.F.Ago.Set {
		l.add(at("at"), "is required, or ago")
	}
	l.action(a)
	a.location = find[*entry[locationFields]](l, at("location"), a.F.Location, "a location")
	a.card = find[*seedCard](l, at("card"), a.F.Card, "a card")
	if a.F.Reverse.Set {
		l.reversal(a)
	} else if !a.F.Card.Set {
		l.add(at("card"), "is required")
	}
	if a.F.Redeem.Set && a.card != nil && a.card.program != nil {
		a.prize = l.prize(at("redeem"), a.F.Redeem.V, a.card.program)
	}
	if a.location == nil && !a.F.Location.Set && !a.F.Reverse.Set {
		if len(l.shop.locations) > 1 {
			l.add(at("location"), "is required: the shop has several")
		}
		a.location = l.shop.locations[0]
	}
	if a.card != nil {
		a.card.activity = append(a.card.activity, a)
	}
}

// action holds an activity to exactly one of the actions.
func (l *linker) action(a *seedActivity) {
	at := func(field string) string { return join(a.path, field) }
	given := a.actions()
	switch {
	case len(given) == 0:
		l.add(a.path, "must have one of stamp, redeem, top_up, spend, use and reverse")
	case len(given) > 1:
		l.add(at(given[1]), "cannot be given beside "+given[0])
	}
	if a.F.Use.Set && !a.F.Use.V {
		l.add(at("use"), "must be true, or left out")
	}
	if a.F.SpendCents.Set && !a.F.Stamp.Set {
		l.add(at("spend_cents"), "is only for a stamp")
	}
}

// actions are the names of the actions that an activity has.
func (a *seedActivity) actions() (given []string) {
	for _, x := range []struct {
		name string
		set  bool
	}{{"stamp", a.F.Stamp.Set}, {"redeem", a.F.Redeem.Set}, {"top_up", a.F.TopUp.Set}, {"spend", a.F.Spend.Set}, {"use", a.F.Use.Set}, {"reverse", a.F.Reverse.Set}} {
		if x.set {
			given = append(given, x.name)
		}
	}
	return given
}

// reversal takes card and location from the activity that is reversed; where
// they are given all the same they must be those.
func (l *linker) reversal(a *seedActivity) {
	at := func(field string) string { return join(a.path, field) }
	a.reverses = find[*seedActivity](l, at("reverse"), a.F.Reverse, "an activity")
	o := a.reverses
	if o == nil {
		return
	}
	if o.F.Reverse.Set {
		l.add(at("reverse"), fmt.Sprintf("%q is a reversal itself", a.F.Reverse.V))
		return
	}
	if a.F.Card.Set && a.F.Card.V != o.F.Card.V {
		l.add(at("card"), "must be that of the reversed activity")
	}
	if a.F.Location.Set && o.F.Location.Set && a.F.Location.V != o.F.Location.V {
		l.add(at("location"), "must be that of the reversed activity")
	}
}

// prize finds one by its ref or name on the ladder of a program.
func (l *linker) prize(path, text string, g *seedProgram) (found *entry[prizeFields]) {
	for _, z := range g.prizes {
		if z.F.Ref.Set && z.F.Ref.V == text {
			return z
		}
	}
	n := 0
	for _, z := range g.prizes {
		if z.F.Name.V == text {
			found = z
			n++
		}
	}
	switch n {
	case 0:
		l.add(path, fmt.Sprintf("%q is neither the ref nor the name of a prize of %s", text, g.path))
	case 1:
		return found
	default:
		l.add(path, fmt.Sprintf("%q is the name of %d prizes; give the ref of one", text, n))
	}
	return nil
}
