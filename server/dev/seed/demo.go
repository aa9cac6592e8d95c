package seed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

// IDSecret is the fixed secret that makes the ids of a fixture the same at each
// start.
var IDSecret = []byte("punchcard-dev-id")

// The demo shop's credentials are the same everywhere, so that commands can be
// pasted. Since they are public, dev listens on loopback addresses only.
var (
	APIKey           = demo("tsk_test_", "demo-key-with-every-scope")
	RestrictedAPIKey = demo("tsk_test_", "demo-key-of-the-first-location")
	MCPKey           = demo("tmk_test_", "demo-mcp-key")
	TillToken        = demo("tdk_test_", "demo-till-at-the-first-location")
)

// demo returns prefix and text, padded to the 43 characters of a secret.
func demo(prefix, text string) string {
	return prefix + text + strings.Repeat("0", 43-len(text))
}

// Ready is the line that dev prints when it is ready to serve.
type Ready struct {
	BaseURL          string            `json:"base_url"`
	Origin           string            `json:"origin"`
	ShopID           string            `json:"shop_id"`
	APIKey           string            `json:"api_key"`
	RestrictedAPIKey string            `json:"restricted_api_key"`
	MCPKey           string            `json:"mcp_key"`
	TillToken        string            `json:"till_token"`
	ProgramIDs       map[string]string `json:"program_ids"`
	LocationIDs      []string          `json:"location_ids"`
	OwnerEmail       string            `json:"owner_email"`
	OwnerPassword    string            `json:"owner_password"`
	DashboardURL     string            `json:"dashboard_url"`
	// Refs maps the refs of a seed file to public ids. It is nil without a seed.
	Refs map[string]string `json:"refs,omitempty"`

	shop int64 `json:"-"`
}

// Shop returns the demo shop's key in the store.
func (r *Ready) Shop() int64 { return r.shop }

// DemoProgram returns the id of the program of the demo card; empty if the shop has none.
func (r *Ready) DemoProgram() string {
	ids := r.ProgramIDs
	return cmp.Or(
		ids[store.ProgramStandard],
		ids[store.ProgramPrivate],
		ids[store.ProgramAccess],
		ids[store.ProgramDiscount],
		ids[store.ProgramPrepaid],
	)
}

// At returns the ready line of a server with another origin.
func (r *Ready) At(origin string) *Ready {
	c := *r
	c.BaseURL, c.Origin, c.DashboardURL = origin+"/api/public/v1", origin, origin+"/dashboard"
	return &c
}

// Demo creates the demo shop, unless the store has it already, and returns its
// ready line.
func Demo(st *store.Store, origin string) (*Ready, error) {
	r, err := readyLine(st)
	if err != nil {
		return nil, err
	}
	if r == nil {
		// The demo keys are public, so they must not get into the file of a real
		// shop.
		if has, err := hasShops(st); err != nil || has {
			return nil, cmp.Or(
				err,
				fmt.Errorf("%s: was not made by dev, which would add the public demo keys to it; serve it instead", st.Path()),
			)
		}
		if err := write(st, demoShop); err != nil {
			return nil, err
		}
		if r, err = readyLine(st); err != nil {
			return nil, err
		}
	} else if err := addWallet(st, r.shop); err != nil {
		return nil, err
	}
	r.LocationIDs = r.LocationIDs[:min(2, len(r.LocationIDs))]
	return r.At(origin), nil
}

// write makes a write of the server itself, which does not depend on the deployment's limits.
func write(st *store.Store, do func(*store.Tx) error) error {
	return st.SystemWrite(context.Background(), func(tx *store.Tx) error {
		tx.Limits = store.DefaultLimits()
		return do(tx)
	})
}

// hasShops reports whether there is any shop in the store.
func hasShops(st *store.Store) (bool, error) {
	shops, err := store.Read(st, (*store.View).Shops)
	return len(shops) > 0, err
}

// readyLine returns the ready line of the shop that has the demo keys, without an
// origin. It is nil if there is no such shop.
func readyLine(st *store.Store) (*Ready, error) {
	id, err := st.Identify(store.Hash(APIKey))
	if err != nil || id == nil {
		return nil, err
	}
	r := &Ready{
		APIKey:           APIKey,
		RestrictedAPIKey: RestrictedAPIKey,
		MCPKey:           MCPKey,
		TillToken:        TillToken,
		OwnerEmail:       OwnerEmail,
		OwnerPassword:    Password,
		ShopID:           id.ShopID,
		ProgramIDs:       map[string]string{},
		shop:             id.Shop,
	}
	return r, st.View(0, func(v *store.View) error {
		// The list is newest first, so the oldest program of each type stays.
		programs, err := all(func(q store.PageQuery) (store.Page[store.Program], error) {
			return v.Programs(id.Access, store.ProgramFilter{PageQuery: q})
		})
		for _, p := range programs {
			r.ProgramIDs[p.Type] = p.ID
		}
		if err != nil {
			return err
		}
		locations, err := all(func(q store.PageQuery) (store.Page[store.Location], error) { return v.Locations(id.Access, q) })
		for _, l := range slices.Backward(locations) {
			r.LocationIDs = append(r.LocationIDs, l.ID)
		}
		return err
	})
}

// all returns the items of all pages of a list.
func all[T any](page func(store.PageQuery) (store.Page[T], error)) (list []T, err error) {
	q := store.PageQuery{}
	for {
		p, err := page(q)
		list = append(list, p.Data...)
		if err != nil || !p.NextCursor.Valid {
			return list, err
		}
		q.Cursor = store.Given(p.NextCursor.V)
	}
}

const demoTimezone = "Europe/Rome"

// demoShop creates the demo shop: a coffee shop with two locations and a program of
// every type.
func demoShop(tx *store.Tx) error {
	shop, _, err := tx.CreateShop(store.ShopFields{
		Name:              store.Given("Caffè Centrale"),
		Mode:              store.Given("test"),
		Timezone:          store.Given(demoTimezone),
		CountryCode:       store.Given("IT"),
		IncludedLocations: store.Given[int64](2),
	})
	if err != nil {
		return err
	}
	var first string
	for i, l := range []struct {
		name, address, postalCode string
		lat, lon                  float64
	}{
		{"Centrale", "Via Garibaldi 12", "10122", 45.0729, 7.6822},
		{"Stazione", "Corso Vittorio Emanuele II 58", "10121", 45.0621, 7.6785},
	} {
		made, err := tx.CreateLocation(shop, store.LocationFields{LocationPatch: store.LocationPatch{
			Name:        store.Given(l.name),
			Address:     store.Given(l.address),
			City:        store.Given("Torino"),
			PostalCode:  store.Given(l.postalCode),
			CountryCode: store.Given("IT"),
			Lat:         store.Given(l.lat),
			Lon:         store.Given(l.lon),
		}}, store.StaffPIN{})
		if err != nil {
			return err
		}
		if i == 0 {
			first = made.ID
		}
	}
	if err := demoKeys(tx, shop, first); err != nil {
		return err
	}
	till := store.NewDevice{LocationID: first, Name: "Demo till", AcceptsCardIDs: true, Secret: TillToken}
	if _, _, err := tx.CreateDevice(shop, till); err != nil {
		return err
	}
	return demoPrograms(tx, store.Access{Shop: shop})
}

// demoKeys creates the keys and the people of the ready line, and sets up the wallets. The restricted key is restricted to
// the location first.
func demoKeys(tx *store.Tx, shop int64, first string) error {
	for _, k := range []store.KeyFields{
		{Name: store.Given("Demo key"), Secret: APIKey},
		{Name: store.Given("Demo key of the first location"), LocationIDs: store.Given([]string{first}), Secret: RestrictedAPIKey},
		{Name: store.Given("Demo MCP key"), Class: store.Given("mcp"), Scopes: store.Given(store.Scopes), Secret: MCPKey},
	} {
		if _, _, err := tx.CreateKey(shop, k); err != nil {
			return err
		}
	}
	if err := demoWallet(tx, shop); err != nil {
		return err
	}
	return demoPeople(tx, shop)
}

// demoWallet sets up Apple and Google Wallet with what the phones of a fixture accept.
func demoWallet(tx *store.Tx, shop int64) error {
	d := wallettest.Demo()
	_, err := tx.SetAppleCertificate(shop, store.AppleWallet{
		PassType:     wallettest.DemoPassType,
		Team:         wallettest.DemoTeam,
		Organization: d.Certificate.Subject.Organization[0],
		Certificate:  d.Certificate.Raw,
		Key:          d.Key,
		NotAfter:     store.TimeOf(d.Certificate.NotAfter),
	})
	if err != nil {
		return err
	}
	_, err = tx.SetGoogleWallet(shop, store.GoogleWallet{
		Issuer:     wallettest.DemoIssuer,
		Account:    d.Account(),
		Email:      wallettest.DemoEmail,
		Publishing: true,
	})
	return err
}

// addWallet sets up the wallets of the demo shop in a file that an older version made without them.
func addWallet(st *store.Store, shop int64) error {
	set, err := store.Read(st, func(v *store.View) (bool, error) {
		return v.AppleWallet(shop).IsSet() || v.GoogleWallet(shop).IsSet(), nil
	})
	if err != nil || set {
		return err
	}
	return write(st, func(tx *store.Tx) error { return demoWallet(tx, shop) })
}

// demoPrograms creates and publishes the programs of the demo shop.
func demoPrograms(tx *store.Tx, a store.Access) error {
	ten := store.Given[int64](10)
	for _, p := range []struct {
		kind, name, category string
		f                    store.ProgramFields
		prizes               []store.PrizeFields
	}{
		{store.ProgramStandard, "Coffee card", "coffee",
			store.ProgramFields{
				Description:      store.Given("Ten coffees, the next one is on us."),
				TotalStamps:      ten,
				RepeatAfterReset: store.Given(true),
				IconKey:          store.Given("coffee"),
			},
			[]store.PrizeFields{
				{Threshold: store.Given[int64](5), Name: store.Given("Croissant")},
				{Threshold: ten, Name: store.Given("Free coffee")},
				{Threshold: ten, Name: store.Given("Slice of cake")},
			}},
		{store.ProgramPrivate, "Regulars", "coffee",
			store.ProgramFields{TotalStamps: ten, RepeatAfterReset: store.Given(true), IconKey: store.Given("star")}, nil},
		{store.ProgramDiscount, "Friends, 10% off", "coffee", store.ProgramFields{DiscountPercent: store.Given(10.0)}, nil},
		{store.ProgramAccess, "Reading room", "club",
			store.ProgramFields{AccessImageURL: store.Given("https://example.com/reading-room.png")}, nil},
		{store.ProgramPrepaid, "Prepaid card", "coffee", store.ProgramFields{InitialBalanceCents: store.Given[int64](0)}, nil},
	} {
		p.f.Type, p.f.Name, p.f.Category = store.Given(p.kind), store.Given(p.name), store.Given(p.category)
		made, err := tx.CreateProgram(a, p.f)
		if err != nil {
			return err
		}
		for _, z := range p.prizes {
			if _, err := tx.AddPrize(a, made.ID, z); err != nil {
				return err
			}
		}
		if _, err := tx.ProgramAction(a, made.ID, store.Publish); err != nil {
			return err
		}
	}
	return nil
}
