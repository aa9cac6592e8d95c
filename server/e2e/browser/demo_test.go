//go:build browser

package browser

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/store"
)

// A demo is a server with the demo shop after some weeks with customers, tills, webhooks and
// people of each role. The visits are to its pages.
type demo struct {
	*servertest.Server
	name  func(string) string // what things are called
	ids   map[string]string   // of things, by the names that the visits use
	shops map[string]int64    // keys of more shops, and of people by "user" and the name
}

// plainNames leaves names as they are.
func plainNames(name string) string { return name }

// startDemo starts the server. It begins in February, so that there are some weeks to
// look back on, and stands still at noon on the first of March in Rome.
func startDemo(t *testing.T, name func(string) string) *demo {
	t.Helper()
	s := servertest.Start(t, func(c *app.Config) {
		c.Dev.Clock = app.NewClock(time.Date(2026, 2, 11, 9, 0, 0, 0, time.UTC))
	})
	d := &demo{Server: s, name: name, ids: map[string]string{"unknown": "unknown"}, shops: map[string]int64{}}
	d.addPrograms()
	d.addWebhook()
	d.addCards()
	d.addDays()
	d.addTills()
	d.addStates()
	d.addPeople()
	d.addForms()
	// The page of tills says when they were last used. The pages of a till that tests open are
	// no later use, and each use is in the file before a page is read.
	d.Till(d.TillToken).Get("/me").Want(200)
	d.Control("POST", "/settle", nil)
	return d
}

// make posts to the REST API and keeps the id of what is made.
func (d *demo) make(as, path string, body fields) *servertest.Reply {
	d.T.Helper()
	r := d.Post(path, body).Want(http.StatusCreated)
	d.ids[as] = r.Str("id")
	return r
}

// write makes a change that no API makes.
func (d *demo) write(do func(*store.Tx) error) {
	d.T.Helper()
	servertest.Write(d.T, d.App.Store, do)
}

func (d *demo) addPrograms() {
	d.T.Helper()
	for kind, id := range d.ProgramIDs {
		d.ids["program "+kind] = id
	}
	d.ids["location"], d.ids["location 2"] = d.LocationIDs[0], d.LocationIDs[1]
	d.ids["shop"] = d.ShopID
	d.make("program draft", "/programs", fields{
		"type":            "standard",
		"name":            d.name("Iced coffee summer"),
		"description":     d.name("Six iced coffees, and a latte on us."),
		"total_stamps":    6,
		"icon_key":        "sun",
		"brand_color_hex": "#0F766E",
	})
	d.make("prize", "/programs/"+d.ids["program draft"]+"/prizes", fields{
		"threshold":   6,
		"name":        d.name("Iced latte"),
		"description": d.name("Until the end of August."),
	})
	d.make("program suspended", "/programs", fields{"type": "discount", "name": d.name("Students, 15% off"), "discount_percent": 15})
	d.Post("/programs/"+d.ids["program suspended"]+"/publish", nil).Want(200)
	d.Post("/programs/"+d.ids["program suspended"]+"/suspend", nil).Want(200)
	d.make("program empty", "/programs", fields{
		"type":             "access",
		"name":             d.name("Cellar club"),
		"access_image_url": "https://example.com/cellar.png",
	})
	standard := d.ids["program standard"]
	d.SQL("UPDATE programs SET name=?, description=? WHERE id=?", d.name("Coffee card"), d.name("Ten coffees, the next one is on us."),
		d.Row(store.KindProgram, standard))
	d.SQL("UPDATE prizes SET name=? WHERE name='Croissant'", d.name("Croissant"))
}

// addWebhook adds a webhook, and one that gets no events.
func (d *demo) addWebhook() {
	d.T.Helper()
	receiver := d.Control("POST", "/receiver", nil)
	d.ids["receiver"] = receiver.Str("id")
	hooks := "/programs/" + d.ids["program standard"] + "/webhooks"
	d.make("webhook", hooks, fields{"url": receiver.Str("url"), "events": []string{"card.*", "transaction.created"}})
	d.make("webhook silent", hooks, fields{
		"url":    receiver.Str("url") + "?long=" + strings.Repeat("path", 40),
		"events": []string{"program.*"},
	})
}

// holders are customers, of whom the first firstHolders come on the first day.
var holders = []string{
	"Ada Lovelace", "Bruno Belcourt", "Carla Wexley", "Davide Kestrel", "Elena Marchetti", "Fausto Abarca", "Greta Vandermaas",
	"Hassan Okonjo", "Ines Brandolin", "Jakob Oduya", "Kalina Sandvik", "Luca Moretti", "Marta Ferrano", "Nils Pallister",
	"Odile Takeda", "Paolo Dallimore", "Quirin Lindqvist", "Rosa Esposti",
}

const firstHolders = 5

// issueTo issues a card of the coffee program to a customer.
func (d *demo) issueTo(i int) {
	d.T.Helper()
	body := fields{"holder_name": d.name(holders[i])}
	if i%2 == 0 {
		body["holder_email"] = strings.ToLower(strings.ReplaceAll(holders[i], " ", ".")) + "@example.com"
	}
	if i%3 == 0 {
		body["external_ref"] = fmt.Sprintf("member-%d", 100+i)
	}
	r := d.make(fmt.Sprintf("card %d", i), "/programs/"+d.ids["program standard"]+"/cards", body)
	d.ids[fmt.Sprintf("link %d", i)] = path.Base(r.Str("install_url"))
	d.ids[fmt.Sprintf("page %d", i)] = path.Base(d.CardPage(r.Str("install_url")))
}

// addCards issues a card of each program, and cards of the coffee program to the first
// customers. The others come later.
func (d *demo) addCards() {
	d.T.Helper()
	for i := range firstHolders {
		d.issueTo(i)
	}
	d.ids["card"], d.ids["link"] = d.ids["card 0"], d.ids["link 0"]
	d.Install(d.ids["card"])
	for _, kind := range []string{"private", "discount", "access", "prepaid"} {
		r := d.make("card "+kind, "/programs/"+d.ids["program "+kind]+"/cards", fields{
			"holder_name":  d.name("Stefano Sandvik"),
			"holder_email": "stefano@example.com",
		})
		d.ids["page "+kind] = path.Base(d.CardPage(r.Str("install_url")))
	}
}

// addDays lets some weeks pass, in which cards are issued and used. The receiver of the
// webhook fails for a day.
func (d *demo) addDays() {
	d.T.Helper()
	till, other := d.Till(d.TillToken), d.NewDevice(d.ids["location 2"])
	prize := d.Get("/programs/" + d.ids["program standard"] + "/prizes").Want(200).IDs()[0]
	for day := range 18 {
		for i := range min(len(holders), firstHolders+day) {
			if d.ids[fmt.Sprintf("card %d", i)] == "" {
				d.issueTo(i)
			}
			if (i*7+day*5)%(3+i%5) != 0 {
				continue
			}
			at, card := till, "/cards/"+d.ids[fmt.Sprintf("card %d", i)]
			if (i+day)%3 == 0 {
				at = other
			}
			at.Post(card+"/stamps", fields{"count": 1 + (i*day)%2}).Want(201)
			if (i+day)%2 == 0 {
				at.Post(card+"/redemptions", fields{"prize_id": prize}) // refused without enough stamps
			}
			d.Advance(fmt.Sprintf("%dm", 31+17*((i+day)%4)))
		}
		till.Post("/cards/"+d.ids["card prepaid"]+"/topups", fields{"amount_cents": 1500}).Want(201)
		till.Post("/cards/"+d.ids["card prepaid"]+"/spends", fields{"amount_cents": 1180 + 10*day}).Want(201)
		till.Post("/cards/"+d.ids["card access"]+"/uses", nil).Want(201)
		d.Control("POST", "/settle", nil)
		if status := map[int]int{15: 500, 16: 200}[day]; status != 0 {
			d.Control("PUT", "/receiver/"+d.ids["receiver"], fields{"status": status})
		}
		now := d.App.Store.Now().Std()
		d.Advance(now.Truncate(24 * time.Hour).Add(32 * time.Hour).Sub(now).String())
	}
	d.Advance("2h")
	card := d.ids["card"]
	till.Post("/cards/"+card+"/stamps", fields{"count": 3}).Want(201)
	other.Post("/cards/"+d.ids["card 3"]+"/stamps", nil).Want(201)
	d.Advance("40m")
	d.ids["transaction"] = till.Post("/cards/"+card+"/stamps", fields{"count": 1}).Want(201).Str("transaction.id")
	d.Advance("20m")
	d.Control("POST", "/settle", nil)
	log := "/programs/" + d.ids["program standard"] + "/webhooks/" + d.ids["webhook"] + "/deliveries"
	d.ids["delivery"] = d.Get(log).Want(200).Str("items.0.id")
	d.ids["delivery failed"] = d.Get(log + "?status=failed").Want(200).Str("items.0.id")
}

// addTills adds tills, one of which is revoked, and staff, of whom one is disabled.
func (d *demo) addTills() {
	d.T.Helper()
	for _, name := range []string{"Counter 1", "Counter 2", "Old till"} {
		r := d.Control("POST", "/devices", fields{"location_id": d.ids["location 2"], "name": d.name(name)})
		d.ids["till"] = r.Str("id")
	}
	d.SQL("UPDATE devices SET revoked_at=? WHERE id=?", int64(d.App.Store.Now()), d.Row(store.KindDevice, d.ids["till"]))
	d.ids["till"] = d.Control("POST", "/devices", fields{"location_id": d.ids["location"], "name": d.name("Kitchen")}).Str("id")
	d.Patch("/locations/"+d.ids["location"], fields{"name": d.name("Centrale")}).Want(200)
	for _, name := range []string{"Alan", "Ada", "Grace"} {
		r := d.Control("POST", "/staff", fields{"name": d.name(name), "pin": "2468", "location_ids": []string{d.ids["location"]}})
		d.ids["staff"] = r.Str("id")
		if name == "Alan" {
			d.Control("POST", "/staff/"+d.ids["staff"]+"/disable", nil)
		}
	}
}

// addStates puts cards and locations into their other states.
func (d *demo) addStates() {
	d.T.Helper()
	d.ids["card locked"], d.ids["card archived"], d.ids["card erased"] = d.ids["card 5"], d.ids["card 6"], d.ids["card 7"]
	d.Control("POST", "/cards/"+d.ids["card locked"]+"/lock", nil)
	d.Control("POST", "/cards/"+d.ids["card archived"]+"/archive", nil)
	d.Control("POST", "/cards/"+d.ids["card erased"]+"/delete", nil)
	d.write(func(tx *store.Tx) error {
		run, err := tx.StartCardRun(d.Shop(), store.RunFields{
			Action: store.Given("lock"), CardIDs: store.Given([]string{d.ids["card locked"], d.ids["card archived"]}),
		}, store.Total{})
		d.ids["run"] = run.ID
		return err
	})
	d.addImports()
	d.ids["location closed"] = d.Control("POST", "/locations", fields{
		"name":         d.name("Kiosk in the park"),
		"city":         "Torino",
		"country_code": "IT",
	}).Str("id")
	d.Post("/locations/"+d.ids["location closed"]+"/disable", nil).Want(200)
	for as, name := range map[string]string{"key": "Reporting", "key rotated": "Cash register", "key revoked": "Newsletter of last year"} {
		d.ids[as] = d.Control("POST", "/keys", fields{"name": d.name(name), "scopes": []string{"cards:read", "analytics:read"}}).Str("id")
	}
	d.Control("POST", "/keys/"+d.ids["key rotated"]+"/rotate", nil)
	d.Control("POST", "/keys/"+d.ids["key revoked"]+"/revoke", nil)
}

// addImports adds a file that waits to be imported, and an import that has ended.
func (d *demo) addImports() {
	shop := d.Shop()
	var cards store.ImportParts
	row := store.ImportRow{Line: 2}
	row.Stamps, row.HolderName = store.Given[int64](3), store.Given(d.name("Imma Portata"))
	cards.Add(row)
	o := store.ImportOptions{ProgramID: store.Given(d.ids["program standard"]), AllowUnkeyed: store.Given(true)}
	fault := store.ImportFault{Line: 3, Detail: store.Detail{Field: "phone", Code: "invalid_format", Message: "must not be negative"}}
	report := store.ImportReport{Rows: 2, Faulty: 1, Faults: []store.ImportFault{fault}}
	d.write(func(tx *store.Tx) error {
		file := store.ImportFile{Name: store.Some(d.name("members.csv"))}
		run, err := tx.StartImport(shop, file, o, &cards, report)
		d.ids["import done"] = run.ID
		return err
	})
	for more := true; more; {
		d.write(func(tx *store.Tx) (err error) {
			more, err = tx.ContinueImports()
			return err
		})
	}
	var rows store.ImportParts
	rows.Add(store.RawRow{Line: 2, Cells: []string{d.name("Ada Byron"), "ada@example.org", "7", "4006381333931"}})
	rows.Add(store.RawRow{Line: 3, Cells: []string{d.name("Bart"), "nobody", "99"}})
	d.write(func(tx *store.Tx) error {
		file := store.ImportFile{Name: store.Some(d.name("customers.csv")), Columns: []string{"Name", "Email", "Stamps", "Barcode"}}
		run, err := tx.UploadImport(shop, file, &rows)
		d.ids["import"] = run.ID
		return err
	})
}

// addPeople adds more people and shops, and the links of people.
func (d *demo) addPeople() {
	d.T.Helper()
	d.ids["other shop"] = d.Control("POST", "/shops", fields{"name": d.name("Caffè della Stazione")}).Str("shop_id")
	strict := d.Control("POST", "/shops", fields{"name": d.name("Pizzeria da Gino")}).Str("shop_id")
	d.shops["strict"] = d.Row(store.KindShop, strict)
	d.SQL("UPDATE shops SET require_totp=1 WHERE id=?", d.shops["strict"])
	d.SQL("UPDATE shops SET name=? WHERE id=?", d.name("Caffè Centrale"), d.Shop())
	d.SQL("UPDATE users SET totp_secret=zeroblob(20) WHERE email=?", seed.ManagerEmail)
	d.write(func(tx *store.Tx) error {
		shop := d.Shop()
		user := func(name string, shop int64, role string) (int64, error) {
			key, err := tx.AddUser(store.NewUser{Email: strings.ToLower(name) + "@demo.test", Name: d.name(name), Language: "en"})
			if err == nil && role != "" {
				err = tx.AddMember(key, shop, role)
			}
			return key, err
		}
		for _, p := range []struct {
			name, role string
			shop       int64
		}{
			{"Disabled", store.RoleViewer, shop}, {"Stranger", "", 0}, {"Enrolling", store.RoleOwner, d.shops["strict"]},
			{"Forgetful", store.RoleManager, shop},
		} {
			key, err := user(p.name, p.shop, p.role)
			if err != nil {
				return err
			}
			d.shops["user "+p.name] = key
		}
		reset, err := tx.NewResetLink(d.shops["user Forgetful"])
		d.ids["reset link"] = path.Base(reset.URL)
		return err
	})
	servertest.Write(d.T, d.Beside(), func(tx *store.Tx) error { // as a server without mail, which shows the links
		invite := func(name, email string) error {
			l, err := tx.Invite(d.Shop(), email, store.RoleManager)
			d.ids[name], d.ids[name+" link"] = l.ID, l.Token
			return err
		}
		return errors.Join(invite("invitation", "new.colleague@example.com"), invite("own invitation", "stranger@demo.test"))
	})
	d.SQL("UPDATE users SET disabled_at=? WHERE email='disabled@demo.test'", int64(d.App.Store.Now()))
	noError(d.T, d.App.Store.View(0, func(v *store.View) (err error) {
		for name, email := range map[string]string{
			"person":        seed.ManagerEmail,
			"user disabled": "disabled@demo.test",
			"owner":         seed.OwnerEmail,
		} {
			if d.ids[name], err = v.UserByEmail(email); err != nil {
				return err
			}
		}
		return nil
	}))
}

// addForms lets customers make cards of some programs.
func (d *demo) addForms() {
	d.T.Helper()
	d.write(func(tx *store.Tx) error {
		shop := d.Shop()
		for as, f := range map[string]struct{ program, slug, consent string }{
			"slug": {
				"program standard", "coffee-card",
				"We keep your name and your email address for as long as you have the card.\nYou can have them erased at any time.",
			},
			"slug closed": {"program suspended", "students", ""},
			"slug bare":   {"program discount", "friends", ""},
		} {
			d.ids[as] = f.slug
			fields := store.EnrolmentFields{Enabled: store.Given(true), Slug: store.Given(f.slug), MaxCards: store.Given[int64](500)}
			if f.consent != "" {
				fields.Consent = store.Given(d.name(f.consent))
				fields.PrivacyURL = store.Given("https://example.com/privacy")
				fields.Name, fields.Phone = store.Given(store.FieldRequired), store.Given(store.FieldOptional)
			}
			if as == "slug bare" {
				fields.Name, fields.Email = store.Given(store.FieldOff), store.Given(store.FieldOff)
			}
			if _, err := tx.UpdateEnrolment(shop, d.ids[f.program], fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// openForm lets customers make cards of a program at an address.
func (d *demo) openForm(program, slug string) {
	d.T.Helper()
	d.write(func(tx *store.Tx) error {
		_, err := tx.UpdateEnrolment(d.Shop(), program, store.EnrolmentFields{
			Enabled:  store.Given(true),
			Slug:     store.Given(slug),
			MaxCards: store.Given[int64](500),
		})
		return err
	})
}

// signIn returns the cookie of a session: of the demo shop's owner, who is the operator
// too, its manager, who has a second factor, or its viewer; of a "stranger", who belongs
// to no shop; of an owner who is "enrolling", since the shop demands a second factor; or
// of a manager of whom the sign-in still wants the code ("pending"). For "till" it is the
// cookie of the demo till.
func (d *demo) signIn(as string) *http.Cookie {
	d.T.Helper()
	n := store.NewSession{}
	switch as {
	case "till":
		return kernel.DeviceCookie("", d.TillToken)
	case "stranger":
		n.User = d.shops["user Stranger"]
	case "enrolling":
		n.User, n.Shop = d.shops["user Enrolling"], d.shops["strict"]
	case "pending":
		n.User, n.Pending = d.Row(store.KindUser, d.ids["person"]), true
	default:
		return signIn(d.Server, as)
	}
	var token string
	d.write(func(tx *store.Tx) (err error) {
		_, token, err = tx.BeginSession(n)
		return err
	})
	return &http.Cookie{Name: "punchcard", Value: token}
}

// signIn returns the cookie of a session of the demo shop's owner, manager or viewer.
func signIn(s *servertest.Server, as string) *http.Cookie {
	s.T.Helper()
	r := s.Fetch(http.MethodPost, s.Origin+"/dev/sign-in", []byte(`{"as":"`+as+`"}`), http.Header{"Content-Type": {"application/json"}})
	c, err := http.ParseSetCookie(r.Header.Get("Set-Cookie"))
	if err != nil {
		s.T.Fatalf("%s as %s: %d %s: %v", r.What, as, r.Status, r.Body, err)
	}
	return c
}
