package dashboard_test

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// newStaff adds a member of staff to a location of a shop and returns the id.
func (s *demo) newStaff(shopID, location, name string) (id string) {
	s.T.Helper()
	shop := require.Must(s.App.Store.ResolveShop(shopID))
	m := require.Must(kernel.Do[store.StaffMember](
		s.T.Context(),
		kernel.New(s.App.Store, kernel.Config{}),
		kernel.OperatorCaller("test", shop),
		operation.CreateStaff,
		kernel.Args{Fields: operation.StaffFields{
			LocationIDs: store.Given([]string{location}), Name: store.Given(name), PIN: store.Given("2468")}},
	))
	return m.ID
}

func TestStaffPages(t *testing.T) {
	s := start(t)
	at := "/dashboard/staff/" + s.newStaff(s.ShopID, s.LocationIDs[0], "Ada")
	manager := s.as("manager")
	if !manager.get("/dashboard/locations").link("/dashboard/staff") {
		t.Error("no tab leads to the staff")
	}
	form := manager.open("/dashboard/new/staff")
	form.set("name", "", "pin", "1357").refused("name")
	form.set("name", "Bob", "pin", "12").refused("pin", "4 to 8 digits")
	form.set("name", "Bob", "pin", "1357").sendTwice().next().has("Bob", "The member of staff was added", "Centrale", "All locations")

	till := s.Till(s.TillToken)
	enter := object{"staff_id": strings.TrimPrefix(at, "/dashboard/staff/"), "pin": "2468"}
	card := s.Issue(s.ProgramIDs["access"], nil)
	session := till.Post("/session", enter).Want(201).Str("token")
	till.Post("/cards/"+card+"/uses", nil, "X-Staff-Session", session).Want(201)
	manager.get("/dashboard/card/" + card).has("Demo till · Ada")
	manager.get("/dashboard/report").has("By member of staff", "Ada")
	manager.get(at+"/edit").
		has("Edit Ada").
		form().
		set("location_ids", s.LocationIDs[1]).
		sendTwice().
		next().
		has("The member of staff was saved.", "Stazione")
	till.Post("/session", enter).Want(404)
	manager.fill(at+"/edit", "name", "Ada L.", "location_ids", "").next().has("Ada L.").lacks("Stazione")
	till.Post("/session", enter).Want(201)
	manager.get(at+"/pin").has("New PIN for Ada L.").form().set("pin", "9753").send().next().has("The PIN was saved.")
	till.Post("/session", enter).Want(401)
	manager.get(at + "/disable").has("Disable Ada L.?").form().sendTwice().next().has("The member of staff is disabled")
	if len(till.Get("/me").Want(200).At("staff").([]any)) != 1 {
		t.Error("the till lists a person who is disabled")
	}
	manager.get("/dashboard/staff").press(at + "/enable").next().has("can sign in again")
	if s.as("viewer").get("/dashboard/staff").has("Ada").link("/dashboard/new/staff") {
		t.Error("a viewer is offered to add a person")
	}
}

// TestPairingPage checks that the form of a new till, sent by Enter, makes a pairing, whose
// link and code are shown once.
func TestPairingPage(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	form := manager.get("/dashboard/new/till").has("Pair a phone or tablet").form("/dashboard/new/till/pair")
	enter := form.find(func(n *html.Node) bool { return n.Data == "button" && textOf(n) == "Pair a phone or tablet" })
	if first := form.find(func(n *html.Node) bool {
		return n.Data == "button" && textOf(n) == "Create a token" ||
			n == enter
	}); first != enter ||
		has(enter, "formaction") {
		t.Error("Enter does not pair a phone or tablet")
	}
	form.set("location_id", "").refused("location_id")
	page := form.set("location_id", s.LocationIDs[0], "name", "Phone").send().shows("/till/pair/", "shown only now", "Phone")
	if page.find(func(n *html.Node) bool { return n.Data == "svg" && attribute(n, "aria-label") == "QR code" }) == nil {
		t.Error("the page has no QR code")
	}
	code := page.setting("code")
	s.Unchanged(func() { form.send().shows("were shown once").lacks(code) })
	k := kernel.New(s.App.Store, kernel.Config{})
	d := require.Must(kernel.Do[operation.CreatedDevice](
		t.Context(),
		k,
		kernel.VisitorCaller(netip.Addr{}),
		operation.AcceptPairing,
		kernel.Args{Fields: operation.PairingCodeFields{Code: store.Given(code)}},
	))
	s.Till(d.Token).Get("/me").WantOK(object{"device.name": "Phone"})
}
