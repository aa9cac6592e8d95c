package seed

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"time"

	"punchcard/store"
)

// Clock is a clock that Apply sets, also to earlier times.
type Clock interface {
	Now() time.Time
	Set(time.Time)
}

// errLate means that the store's time is not the one that Apply set.
var errLate = errors.New("the database was written to before the seed, or its clock is not the seed's")

// Apply writes the seed into a store whose Options.Now is the clock's Now. The time
// of the clock at the call is the start. Apply sets the clock to the time of each
// write, and back to the start when it returns.
//
// The store must be new: its time never goes back, so after a write it accepts no
// older ones. The ready line has no origin; see Ready.At. Errors have the form of
// those of Parse. After an error the store is incomplete and must not be used.
func (f *File) Apply(st *store.Store, clock Clock) (*Ready, error) {
	now := clock.Now()
	defer clock.Set(now)
	a := f.application(st, store.TimeOf(now))
	steps, err := a.plan()
	if err != nil {
		return nil, err
	}
	if has, err := hasShops(st); err != nil || has {
		return nil, cmp.Or(err, fmt.Errorf("%s: has shops already; a seed fills an empty database only", st.Path()))
	}
	for _, x := range steps {
		clock.Set(x.at.Std())
		err := write(st, func(tx *store.Tx) (err error) {
			if tx.Now != x.at {
				return errLate
			}
			tx.Limits.InstallLinkTTL = st.Limits().InstallLinkTTL
			a.path = x.self().path
			a.ids[x.self().n], err = x.write(a, tx)
			return err
		})
		if err != nil {
			return nil, a.writeError(err)
		}
	}
	r, err := readyLine(st)
	if err != nil {
		return nil, err
	}
	r.Refs = map[string]string{}
	for ref, o := range f.refs {
		r.Refs[ref] = a.ids[o.self().n]
	}
	return r, nil
}

// application is the state of applying a seed to one store.
type application struct {
	problems
	st    *store.Store
	start store.Time
	ids   []string // public ids, by number of the object
	keys  []int64  // keys of shops, and of the tills of locations, by number of the object
	path  string   // of the object that is being written
}

func (f *File) application(st *store.Store, start store.Time) *application {
	return &application{
		problems: problems{file: f},
		st:       st,
		start:    start,
		ids:      make([]string, len(f.objects)),
		keys:     make([]int64, len(f.objects)),
	}
}

// writeError returns the error of a write with the line of the object.
func (a *application) writeError(err error) error {
	refused, ok := store.AsError(err)
	switch {
	case errors.Is(err, errLate):
		return fmt.Errorf("%s: %w", a.st.Path(), err)
	case !ok:
		a.add(a.path, "")
		return fmt.Errorf("%v%w", a.err(), err)
	case len(refused.Details) == 0:
		a.add(a.path, refused.Message)
	default:
		a.details(a.path, refused.Details)
	}
	return a.err()
}

// till returns the till of a location, as an actor and as a device.
func (a *application) till(l *location) (store.Actor, store.Till) {
	key, _ := a.st.Key(store.KindLocation, a.ids[l.n])
	till := store.Till{Shop: a.keys[l.shop.n], Location: key, Device: a.keys[l.n], AcceptsCardIDs: true}
	return store.Actor{Type: "device", Key: till.Device}, till
}

// access returns unrestricted access to an object's shop.
func (a *application) access(o object) store.Access {
	return store.Access{Shop: a.keys[o.self().shop.n]}
}

// id returns the public id of the object with a ref.
func (a *application) id(ref string) string { return a.ids[a.file.refs[ref].self().n] }

// idsOf returns the public ids of the objects with the refs.
func (a *application) idsOf(refs store.Opt[[]string]) (ids store.Opt[[]string]) {
	for _, ref := range refs.V {
		ids = store.Given(append(ids.V, a.id(ref)))
	}
	return ids
}

// write creates the shop.
func (s *shop) write(a *application, tx *store.Tx) (string, error) {
	key, made, err := tx.CreateShop(ShopFields(s.ShopFields))
	a.keys[s.n] = key
	return made.ID, err
}

// write creates the location and its till. The till of the first shop's first location
// is the demo till. After the first shop's last location it creates the demo keys.
func (l *location) write(a *application, tx *store.Tx) (string, error) {
	shop := a.access(l).Shop
	made, err := tx.CreateLocation(
		shop,
		LocationFields(store.LocationFields{LocationPatch: l.LocationPatch, StaffDemand: l.StaffDemand}),
		store.HashStaffPIN(l.StaffPIN.Value()),
	)
	if err != nil {
		return "", err
	}
	a.ids[l.n] = made.ID
	name, token := "Till", ""
	locations := a.file.shops[0].Locations.V
	if l == locations[0] {
		name, token = "Demo till", TillToken
	}
	d, _, err := tx.CreateDevice(shop, store.NewDevice{LocationID: made.ID, Name: name, AcceptsCardIDs: true, Secret: token})
	a.keys[l.n], _ = a.st.Key(store.KindDevice, d.ID)
	if err == nil && l == locations[len(locations)-1] {
		err = demoKeys(tx, shop, a.ids[locations[0].n])
	}
	return made.ID, err
}

// write creates the key.
func (k *key) write(a *application, tx *store.Tx) (string, error) {
	f := k.KeyFields
	f.Secret = k.Secret.V
	f.LocationIDs = a.idsOf(k.LocationRefs)
	made, _, err := tx.CreateKey(a.access(k).Shop, f)
	return made.ID, err
}

// write creates the program with its prizes, and publishes it unless it is a
// draft.
func (g *program) write(a *application, tx *store.Tx) (string, error) {
	f := g.ProgramFields
	f.ScopedLocationIDs = a.idsOf(g.ScopedLocationRefs)
	made, err := tx.CreateProgram(a.access(g), f)
	if err != nil {
		return "", err
	}
	for _, z := range g.Prizes.V {
		a.path = z.path
		prize, err := tx.AddPrize(a.access(g), made.ID, z.PrizeFields)
		if err != nil {
			return "", err
		}
		a.ids[z.n] = prize.ID
	}
	a.path = g.path
	settings := store.ProgramSettings{MinSpendCents: g.MinSpendCents, MaxStampsPerDay: g.MaxStampsPerDay, WelcomeStamps: g.WelcomeStamps}
	if _, err := tx.UpdateProgramSettings(a.access(g).Shop, made.ID, settings); err != nil {
		return "", err
	}
	if !g.Draft.V {
		_, err = tx.ProgramAction(a.access(g), made.ID, store.Publish)
	}
	return made.ID, err
}

// write issues the card, at a counter or over the API, and installs it if the seed
// says so.
func (c *card) write(a *application, tx *store.Tx) (string, error) {
	f, program := c.CardFields, a.id(c.Program.V)
	f.ExpiresAt = c.expiry(a.start)
	var out store.IssuedCard
	var err error
	if c.counter == nil {
		out, err = tx.IssueCard(a.access(c), program, f, store.SourceAPI)
	} else {
		var at store.Till
		tx.Actor, at = a.till(c.counter)
		holder := store.HolderFields{HolderName: f.HolderName, HolderEmail: f.HolderEmail}
		fields := store.CounterFields{HolderFields: holder, ExternalRef: f.ExternalRef}
		out, err = tx.IssueAtCounter(at, program, fields)
		if err == nil && f.ExpiresAt.Set { // tills cannot set it
			_, err = tx.UpdateCard(a.access(c), out.ID, store.CardPatch{ExpiresAt: f.ExpiresAt})
		}
	}
	if err == nil && c.Installed.Set {
		a.path = join(c.path, "installed")
		_, err = tx.Install(path.Base(out.InstallURL), store.InstallFields{Platform: c.Installed})
	}
	return out.ID, err
}

// write writes the transaction of the activity.
func (x *activity) write(a *application, tx *store.Tx) (_ string, err error) {
	a.path = join(x.path, x.action)
	where := x.location
	if x.reverses != nil {
		where = x.reverses.location
	}
	var at store.Till
	tx.Actor, at = a.till(where)
	card := ""
	if x.card != nil {
		card = a.ids[x.card.n]
	}
	var out store.Stamped
	switch x.action {
	case "stamp":
		out, err = tx.Stamp(at, card, store.StampFields{Count: x.Stamp, SpendCents: x.SpendCents, Metadata: x.Metadata})
	case "redeem":
		out, err = tx.Redeem(at, card, store.RedeemFields{PrizeID: store.Given(a.ids[x.prize.n]), Metadata: x.Metadata})
	case "top_up":
		out, err = tx.TopUp(at, card, store.AmountFields{AmountCents: x.TopUp, Metadata: x.Metadata})
	case "spend":
		out, err = tx.Spend(at, card, store.AmountFields{AmountCents: x.Spend, Metadata: x.Metadata})
	case "use":
		out, err = tx.Use(at, card, store.UseFields{Metadata: x.Metadata})
	case "reverse":
		out, err = tx.Reverse(at, a.ids[x.reverses.n], store.UseFields{Metadata: x.Metadata})
	}
	return out.Transaction.ID, err
}

// lock is the step that locks a card.
type lock struct{ *card }

// write locks the card.
func (l lock) write(a *application, tx *store.Tx) (string, error) {
	a.path = join(l.path, "locked")
	tx.Actor = store.Actor{Type: "user", Name: "seed"}
	_, err := tx.SetCardLocked(a.access(l).Shop, a.ids[l.n], true)
	return a.ids[l.n], err
}

// write creates the webhook.
func (w *webhook) write(a *application, tx *store.Tx) (string, error) {
	tx.Actor = store.Actor{Type: "user", Name: "seed"}
	f := w.WebhookFields
	f.LocationIDs = a.idsOf(w.LocationRefs)
	f.ProgramIDs = a.idsOf(w.ProgramRefs)
	tx.CheckedTarget = f.URL.V // the sender checks the target at each delivery
	made, err := tx.CreateWebhook(a.access(w), a.id(w.Program.V), f)
	return made.ID, err
}
