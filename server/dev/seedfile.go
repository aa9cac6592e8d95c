package dev

import (
	"fmt"
	"io"
	"os"
	"time"

	"punchcard/store"
)

// maxSeed is the size of the largest seed file, in bytes.
const maxSeed = 16 << 20

// SeedFile is the content of a fixture as a file describes it: shops with their
// locations, programs, cards and what happened to them. It is checked as far
// as that goes without a store, and never changes: it can be applied to any
// number of stores, one after the other or at once.
type SeedFile struct {
	// Now is where the fixture's clock stands at the start unless the caller
	// says otherwise; zero where the file does not say.
	Now time.Time

	file  source
	shops []*seedShop
	refs  map[string]referent
}

// seedShop is one shop of a seed with all that belongs to it.
type seedShop struct {
	entry[shopFields]
	locations []*entry[locationFields]
	programs  []*seedProgram
	keys      []*seedKey
	cards     []*seedCard
	webhooks  []*seedWebhook
	activity  []*seedActivity
}

type seedProgram struct {
	entry[programFields]
	prizes []*entry[prizeFields]
	scope  []*entry[locationFields]
}

type seedKey struct {
	entry[keyFields]
	locations []*entry[locationFields]
}

type seedCard struct {
	entry[cardFields]
	program  *seedProgram
	counter  *entry[locationFields] // nil: not issued at one
	activity []*seedActivity
}

type seedWebhook struct {
	entry[webhookFields]
	program   *seedProgram
	programs  []*seedProgram
	locations []*entry[locationFields]
}

type seedActivity struct {
	entry[activityFields]
	location *entry[locationFields]
	card     *seedCard
	prize    *entry[prizeFields] // of a redemption
	reverses *seedActivity
}

// entry is one object of the file.
type entry[F any] struct {
	path string // such as shops.0.cards.3
	F    F
}

// ReadSeed reads a seed file. Its errors are those of ParseSeed, with the path
// as the file's name.
func ReadSeed(path string) (*SeedFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSeed+1))
	if err != nil {
		return nil, err
	}
	return ParseSeed(path, raw)
}

// ParseSeed reads a seed of at most 16 MiB, strictly: unknown fields, wrong
// types, duplicates and references that lead nowhere are errors. An error has
// one line per mistake, at most 20, in the order of the file:
//
//	coffee.json:14: shops.0.programs.1.total_stamps: must be at most 1000
//
// What only the store can tell, Apply reports in the same form.
func ParseSeed(name string, raw []byte) (*SeedFile, error) {
	p := &seedParser{mistakes: mistakes{source: source{name, raw}}}
	s := &SeedFile{file: p.source}
	if len(raw) > maxSeed {
		return nil, fmt.Errorf("%s:1: $: must be at most 16 MiB", name)
	}
	if err := p.source.checkSyntax(); err != nil {
		return nil, err
	}
	s.read(p)
	// What refers to something that could not be read would be reported twice.
	if err := p.err(); err != nil {
		return nil, err
	}
	s.link(&p.mistakes)
	if err := p.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// read takes the file apart into its objects.
func (s *SeedFile) read(p *seedParser) {
	var top topFields
	lists := p.object(seedKinds.top, "", p.raw, &top)
	if top.Now.Set {
		s.Now = top.Now.V.Std()
	}
	for i, raw := range lists["shops"] {
		shop := &seedShop{entry: entry[shopFields]{path: item("shops", i)}}
		s.shops = append(s.shops, shop)
		shop.read(p, raw)
	}
}

func (s *seedShop) read(p *seedParser, raw []byte) {
	lists := p.object(seedKinds.shop, s.path, raw, &s.F)
	in := func(list string) string { return s.path + "." + list }
	s.locations = entries[locationFields](p, seedKinds.location, in("locations"), lists["locations"])
	for i, raw := range lists["programs"] {
		g := &seedProgram{entry: entry[programFields]{path: item(in("programs"), i)}}
		s.programs = append(s.programs, g)
		g.prizes = entries[prizeFields](p, seedKinds.prize, g.path+".prizes", p.object(seedKinds.program, g.path, raw, &g.F)["prizes"])
	}
	for _, e := range entries[keyFields](p, seedKinds.key, in("keys"), lists["keys"]) {
		s.keys = append(s.keys, &seedKey{entry: *e})
	}
	for _, e := range entries[cardFields](p, seedKinds.card, in("cards"), lists["cards"]) {
		s.cards = append(s.cards, &seedCard{entry: *e})
	}
	for _, e := range entries[webhookFields](p, seedKinds.webhook, in("webhooks"), lists["webhooks"]) {
		s.webhooks = append(s.webhooks, &seedWebhook{entry: *e})
	}
	for _, e := range entries[activityFields](p, seedKinds.activity, in("activity"), lists["activity"]) {
		s.activity = append(s.activity, &seedActivity{entry: *e})
	}
}

// entries reads the objects of a list that have no lists of their own.
func entries[F any](p *seedParser, k *seedKind, path string, items [][]byte) (list []*entry[F]) {
	for i, raw := range items {
		e := &entry[F]{path: item(path, i)}
		p.object(k, e.path, raw, &e.F)
		list = append(list, e)
	}
	return list
}

func item(list string, i int) string { return fmt.Sprintf("%s.%d", list, i) }

// ref is the name under which the entries of a seed refer to one another.
type ref struct {
	Ref store.Opt[string] `json:"ref" req:"true" min:"1" max:"64" pattern:"^[A-Za-z0-9_.-]+$" doc:"The entry's name in this file: others refer to it by this, and the ready line maps it to the public id. Once in the whole file."`
}

type optionalRef struct {
	Ref store.Opt[string] `json:"ref" min:"1" max:"64" pattern:"^[A-Za-z0-9_.-]+$" doc:"The entry's name in this file; the ready line maps it to the public id. Once in the whole file."`
}

// when is an instant, given in one of two ways.
type when struct {
	At  store.Opt[store.Time] `json:"at" doc:"The instant, from 1990 to the start."`
	Ago store.Opt[string]     `json:"ago" min:"2" max:"30" pattern:"^([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$" doc:"Instead of at: how long before the start, such as 72h, 21d or 3d4h30m; a day has 24 hours."`
}

type topFields struct {
	Schema store.Opt[string]     `json:"$schema" max:"2048" doc:"The address of this schema, for editors."`
	Now    store.Opt[store.Time] `json:"now" doc:"The start: where the clock stands at first, unless the command line sets it. Default: the real time."`
}

type shopFields struct {
	optionalRef
	when
	store.ShopFields
}

type locationFields struct {
	ref
	store.LocationPatch
	StaffPIN store.Opt[string] `json:"staff_pin" pattern:"^[0-9]{4,8}$" doc:"4 to 8 digits; asked for where require_staff_pin is true. It binds tills, not the activity of this file."`
}

type keyFields struct {
	ref
	store.KeyFields
	LocationRefs store.Opt[[]string] `json:"location_refs" min:"1" max:"1000" doc:"The only locations that the key reaches. Default: no restriction."`
	Secret       store.Opt[string]   `json:"key" pattern:"^t[sm]k_(live|test)_[A-Za-z0-9_-]{43}$" doc:"The whole secret, tsk_ for class api and tmk_ for class mcp, live or test as the shop is. Default: made at random and shown nowhere."`
}

type programFields struct {
	ref
	store.ProgramFields
	ScopedLocationRefs store.Opt[[]string] `json:"scoped_location_refs" max:"1000" doc:"Required and not empty with selected_locations."`
	MinSpendCents      store.Opt[int64]    `json:"min_spend_cents" min:"1" max:"100000000" doc:"Stamp programs: what a stamp's purchase must cost at least."`
	Draft              store.Opt[bool]     `json:"draft" doc:"True leaves the program unpublished; it can have no cards. Default false."`
}

type prizeFields struct {
	optionalRef
	store.PrizeFields
}

type cardFields struct {
	ref
	Program store.Opt[string] `json:"program" req:"true" min:"1" max:"64" doc:"The ref of a program of the same shop that is no draft."`
	when
	store.CardFields
	ExpiresIn  store.Opt[string] `json:"expires_in" min:"2" max:"30" pattern:"^([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$" doc:"Instead of expires_at: how long after the start, such as 720h or 30d."`
	AtLocation store.Opt[string] `json:"at_location" min:"1" max:"64" doc:"The ref of the location at whose counter the card was issued, active at once. Default: it was issued over the API, as an invitation."`
	Installed  store.Opt[string] `json:"installed" enum:"apple,google" doc:"The device family on which the card is installed, as soon as it is issued. Default: it is not."`
	Locked     store.Opt[bool]   `json:"locked" doc:"True locks the card at the start, after all activity. Default false."`
}

type webhookFields struct {
	ref
	Program store.Opt[string] `json:"program" req:"true" min:"1" max:"64" doc:"The ref of the program in whose path the webhook is addressed."`
	store.WebhookFields
	ProgramRefs  store.Opt[[]string] `json:"program_refs" max:"1000" doc:"Only events of these programs. Default: of all."`
	LocationRefs store.Opt[[]string] `json:"location_refs" max:"1000" doc:"Only events at these locations. Default: at all."`
}

type activityFields struct {
	optionalRef
	when
	Location   store.Opt[string] `json:"location" min:"1" max:"64" doc:"The ref of the location it happened at. Default: that of the reversed activity, or the shop's only location."`
	Card       store.Opt[string] `json:"card" min:"1" max:"64" doc:"The ref of the card that was presented. Required but for a reversal, where it follows from the reversed activity."`
	Stamp      store.Opt[int64]  `json:"stamp" min:"1" max:"100" doc:"So many stamps were given."`
	SpendCents store.Opt[int64]  `json:"spend_cents" min:"1" max:"100000000" doc:"With stamp: what was bought. Required where the program has min_spend_cents, else not allowed."`
	Redeem     store.Opt[string] `json:"redeem" min:"1" doc:"A prize of the card's program was redeemed: its ref, or its name where that is the only one of the name."`
	TopUp      store.Opt[int64]  `json:"top_up" min:"1" max:"100000000" doc:"A prepaid card was topped up by so many cents."`
	Spend      store.Opt[int64]  `json:"spend" min:"1" max:"100000000" doc:"So many cents of a prepaid card were spent."`
	Use        store.Opt[bool]   `json:"use" doc:"True: an access or discount card was used."`
	Reverse    store.Opt[string] `json:"reverse" min:"1" max:"64" doc:"An earlier activity was taken back: its ref."`
	store.Metadata
}
