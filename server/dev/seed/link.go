package seed

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// linker checks the rules that concern more than one object, and resolves refs.
type linker struct {
	problems
	secrets map[string]string // paths of the keys by secret; empty for demo keys
}

// link adds all objects to the file, and then links each of them.
func (l *linker) link() {
	addObjects(l, nil, "shops", l.file.shops)
	for _, s := range l.file.shops {
		addObjects(l, s, s.path+".locations", s.Locations.V)
		addObjects(l, s, s.path+".keys", s.Keys.V)
		addObjects(l, s, s.path+".programs", s.Programs.V)
		for _, g := range s.Programs.V {
			addObjects(l, s, g.path+".prizes", g.Prizes.V)
		}
		addObjects(l, s, s.path+".cards", s.Cards.V)
		addObjects(l, s, s.path+".webhooks", s.Webhooks.V)
		addObjects(l, s, s.path+".activity", s.Activity.V)
	}
	first := l.file.shops[0]
	l.require(first.Mode.Or("test") == "test", first, "mode", "must be test: the first shop has the demo keys, which are test keys")
	for _, o := range l.file.objects {
		o.link(l)
	}
}

// addObjects adds the objects of the list at path, in a shop, to the file.
func addObjects[T object](l *linker, in *shop, path string, list []T) {
	for i, o := range list {
		e, ref := o.self(), o.name()
		*e = entry{n: len(l.file.objects), path: join(path, strconv.Itoa(i)), shop: in}
		if s, ok := object(o).(*shop); ok {
			e.shop = s
		}
		l.file.objects = append(l.file.objects, o)
		if first, taken := l.file.refs[ref]; taken {
			l.require(false, o, "ref", "%q is taken by %s; a ref is there once in the whole file", ref, first.self().path)
		} else if ref != "" {
			l.file.refs[ref] = o
		}
	}
}

// find returns the object that a field of o refers to. If that is not a T in the
// shop of o it adds a problem and returns nil.
func find[T object](l *linker, o object, field string, ref store.Opt[string]) (none T) {
	other, known := l.file.refs[ref.V]
	switch found, ok := other.(T); {
	case !ref.Set:
	case !known:
		l.require(false, o, field, "%q is no ref of this file; it must be that of %s", ref.V, kind(found))
	case !ok:
		l.require(false, o, field, "%q is %s, %s; it must be %s", ref.V, kind(other), other.self().path, kind(found))
	case other.self().shop != o.self().shop:
		l.require(false, o, field, "%q is %s of another shop, %s", ref.V, kind(found), other.self().path)
	default:
		return found
	}
	return none
}

// kind returns what o is, such as "a card". o may be a nil pointer.
func kind(o object) string {
	name := reflect.TypeOf(o).Elem().Name()
	if name == "activity" {
		return "an activity"
	}
	return "a " + name
}

// findAll checks the refs of a list as find does.
func findAll[T object](l *linker, o object, field string, refs store.Opt[[]string]) {
	for i, ref := range refs.V {
		item := field + "." + strconv.Itoa(i)
		if slices.Contains(refs.V[:i], ref) {
			l.require(false, o, item, "%q is in the list twice", ref)
		} else {
			find[T](l, o, item, store.Given(ref))
		}
	}
}

// check adds a problem if the instant of o is given in both ways.
func (w when) check(l *linker, o object) {
	l.require(!w.At.Set || !w.Ago.Set, o, "ago", "cannot be given beside at")
}

func (s *shop) link(l *linker) {
	l.details(s.path, store.CheckTimezone(s.Timezone))
	s.when.check(l, s)
}

func (g *program) link(l *linker) {
	findAll[*location](l, g, "scoped_location_refs", g.ScopedLocationRefs)
	f := g.ProgramFields
	f.ScopedLocationIDs = g.ScopedLocationRefs // the rules for ids hold for refs too
	for _, d := range f.Check(0) {
		l.add(join(g.path, strings.Replace(d.Field, "scoped_location_ids", "scoped_location_refs", 1)), d.Message)
	}
	forStamps := func(given bool, field, verb string) {
		l.require(!given || store.CollectsStamps(g.Type.V), g, field, "%s not apply to programs of type %s", verb, g.Type.V)
	}
	forStamps(g.MinSpendCents.Set, "min_spend_cents", "does")
	forStamps(g.MaxStampsPerDay.Set, "max_stamps_per_day", "does")
	forStamps(g.WelcomeStamps.Set, "welcome_stamps", "does")
	forStamps(len(g.Prizes.V) > 0, "prizes", "do")
}

func (k *key) link(l *linker) {
	findAll[*location](l, k, "location_refs", k.LocationRefs)
	for i, scope := range k.Scopes.V {
		l.require(slices.Contains(store.Scopes, scope), k, "scopes."+strconv.Itoa(i), "must be one of %s", strings.Join(store.Scopes, ", "))
	}
	if !k.Secret.Set {
		return
	}
	class, mode := k.Class.Or("api"), k.shop.Mode.Or("test")
	prefix := map[string]string{"api": "tsk_", "mcp": "tmk_"}[class] + mode + "_"
	other, taken := l.secrets[k.Secret.V]
	switch {
	case taken && other == "":
		l.require(false, k, "key", "is a demo key of the first shop")
	case taken:
		l.require(false, k, "key", "is the key of %s", other)
	default:
		l.require(
			strings.HasPrefix(k.Secret.V, prefix),
			k, "key", "must begin with %s: the class is %s and the shop is %s", prefix, class, mode,
		)
	}
	l.secrets[k.Secret.V] = k.path
}

func (c *card) link(l *linker) {
	c.when.check(l, c)
	g := find[*program](l, c, "program", c.Program)
	l.require(g == nil || !g.Draft.V, c, "program", "%q is a draft, which has no cards", c.Program.V)
	c.counter = find[*location](l, c, "at_location", c.AtLocation)
	l.require(!c.ExpiresAt.Set || !c.ExpiresIn.Set, c, "expires_in", "cannot be given beside expires_at")
}

func (w *webhook) link(l *linker) {
	find[*program](l, w, "program", w.Program)
	findAll[*program](l, w, "program_refs", w.ProgramRefs)
	findAll[*location](l, w, "location_refs", w.LocationRefs)
	l.details(w.path, operation.WebhookFields{WebhookFields: w.WebhookFields}.Check(0))
}

func (x *activity) link(l *linker) {
	x.when.check(l, x)
	l.require(x.At.Set || x.Ago.Set, x, "at", "is required, or ago")
	x.linkAction(l)
	x.location = find[*location](l, x, "location", x.Location)
	x.card = find[*card](l, x, "card", x.Card)
	if x.Reverse.Set {
		x.linkReversal(l)
		return
	}
	l.require(x.Card.Set, x, "card", "is required")
	if x.Redeem.Set && x.card != nil {
		x.linkPrize(l)
	}
	if !x.Location.Set {
		l.require(len(x.shop.Locations.V) == 1, x, "location", "is required: the shop has several")
		x.location = x.shop.Locations.V[0]
	}
}

// linkAction sets the action and checks that there is exactly one.
func (x *activity) linkAction(l *linker) {
	for _, action := range []struct {
		name  string
		given bool
	}{
		{"stamp", x.Stamp.Set}, {"redeem", x.Redeem.Set}, {"top_up", x.TopUp.Set},
		{"spend", x.Spend.Set}, {"use", x.Use.Set}, {"reverse", x.Reverse.Set},
	} {
		if !action.given {
			continue
		}
		l.require(x.action == "", x, action.name, "cannot be given beside %s", x.action)
		x.action = action.name
	}
	l.require(x.action != "", x, "", "must have one of stamp, redeem, top_up, spend, use and reverse")
	l.require(!x.Use.Set || x.Use.V, x, "use", "must be true, or left out")
	l.require(!x.SpendCents.Set || x.Stamp.Set, x, "spend_cents", "is only for a stamp")
}

// linkReversal checks that the card and the location of a reversal, if given, are
// those of the reversed activity.
func (x *activity) linkReversal(l *linker) {
	o := find[*activity](l, x, "reverse", x.Reverse)
	x.reverses = o
	if o == nil {
		return
	}
	if o.Reverse.Set {
		l.require(false, x, "reverse", "%q is a reversal itself", x.Reverse.V)
		return
	}
	l.require(!x.Card.Set || x.Card.V == o.Card.V, x, "card", "must be that of the reversed activity")
	l.require(!x.Location.Set || !o.Location.Set || x.Location.V == o.Location.V, x, "location", "must be that of the reversed activity")
}

// linkPrize sets the redeemed prize, which is given by its ref or its name.
func (x *activity) linkPrize(l *linker) {
	g, ok := l.file.refs[x.card.Program.V].(*program)
	if !ok { // which is a problem of the card
		return
	}
	named := 0
	for _, z := range g.Prizes.V {
		if z.Ref.V == x.Redeem.V {
			x.prize = z
			return
		}
		if z.Name.V == x.Redeem.V {
			x.prize = z
			named++
		}
	}
	l.require(named > 0, x, "redeem", "%q is neither the ref nor the name of a prize of %s", x.Redeem.V, g.path)
	l.require(named < 2, x, "redeem", "%q is the name of %d prizes; give the ref of one", x.Redeem.V, named)
}
