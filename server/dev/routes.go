package dev

import (
	"net/http"
	"reflect"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Prefix is the beginning of the paths of the control API.
const Prefix = "/dev"

// route is a route of the control API, with what its document says of it.
type route struct {
	kernel.Route
	handle httprouter.Handle
}

// text is what the document says of a route.
type text struct{ group, id, title, doc string }

// newRoute returns a route whose body or query is of type in, and whose answer of type out.
func newRoute(method, path string, status int, t text, in, out reflect.Type, op kernel.Operation, h httprouter.Handle) route {
	op.ID, op.Group, op.Title, op.Doc = t.id, t.group, t.title, t.doc
	return route{kernel.Route{Method: method, Path: path, Status: status, Operation: kernel.Described(op, in, out, method != http.MethodGet)}, h}
}

// serve returns a route that binds no operation. codes are its refusals.
func serve[B, R any](c *Control, method, path string, status int, t text, do func(*http.Request, httprouter.Params, B) (R, error), codes ...store.Code) route {
	return newRoute(method, path, status, t, reflect.TypeOf((*B)(nil)).Elem(), reflect.TypeOf((*R)(nil)).Elem(), kernel.Operation{Codes: codes}, handle(c.Kernel, status, do))
}

// bind returns a route that runs an operation as the operator, in the shop whose key the
// function shop returns. B is the type of the route's body; fields converts a body to the
// operation's fields. O is the type of the answer.
func bind[B, O any](c *Control, method, path string, status int, t text, op *kernel.Operation, shop func(httprouter.Params, B) (int64, error), fields func(B) any) route {
	return newRoute(method, path, status, t, reflect.TypeOf((*B)(nil)).Elem(), reflect.TypeOf((*O)(nil)).Elem(), kernel.Operation{Codes: append([]store.Code{store.NotFound}, op.Codes...), Mode: op.Mode},
		kernel.Handler[B, O]{Status: status, Mode: op.Mode, Do: func(r *http.Request, p httprouter.Params, b B) (out O, err error) {
			key, err := shop(p, b)
			if err != nil {
				return out, err
			}
			return kernel.Do[O](r.Context(), c.Kernel, operator(key), op, kernel.Args{Params: map[string]string{"id": p.ByName("id")}, Fields: fields(b)})
		}}.Handle(c.Kernel))
}

// onResource calls bind for an operation on the resource that the path names, in the
// shop that owns the resource. The body has the operation's fields.
func onResource[B, O any](c *Control, method, path string, status int, t text, kind store.Kind, op *kernel.Operation) route {
	return bind[B, O](c, method, path, status, t, op, func(p httprouter.Params, _ B) (int64, error) { return c.Store.Owner(kind, p.ByName("id")) }, sameFields)
}

// Routes returns the routes that the document of the control API has, in its order.
func Routes() (list []kernel.Route) {
	for _, r := range new(Control).routes() {
		list = append(list, r.Route)
	}
	return list
}

// The groups of the document.
const (
	stateGroup    = "State"
	journalGroup  = "Journal"
	faultGroup    = "Faults"
	receiverGroup = "Receivers"
	shopGroup     = "Shops and keys"
	tillGroup     = "Tills and staff"
	cardGroup     = "Programs and cards"
)

// routes returns the routes of the control API that the document has.
func (c *Control) routes() []route {
	return append(append(c.stateRoutes(), c.webhookRoutes()...), c.operatorRoutes()...)
}

// stateRoutes returns the routes about the server as a whole and about what it was asked.
func (c *Control) stateRoutes() []route {
	const get, post, remove, ok, created, none = http.MethodGet, http.MethodPost, http.MethodDelete, http.StatusOK, http.StatusCreated, http.StatusNoContent
	history := serve(c, post, "/history", ok, text{stateGroup, "fillHistory", "Fill the demo shop with a past", "Resets the fixture, as POST /dev/reset does, to a demo shop that had so many days of business until now. Answers the ready line when it is done."}, c.fillHistory, store.Unprocessable)
	history.handle = c.history // which takes a form too
	return []route{
		serve(c, post, "/reset", ok, text{stateGroup, "reset", "Reset the fixture", "Sets everything to what it was at the start: data, clock, keys, limits, faults, journal, receivers and mail. Answers the ready line when it is done."}, c.reset),
		history,
		serve(c, get, "/clock", ok, text{stateGroup, "getClock", "Read the clock", ""}, func(*http.Request, httprouter.Params, struct{}) (clockAnswer, error) { return c.clock(), nil }),
		serve(c, post, "/clock", ok, text{stateGroup, "moveClock", "Move the clock", "Stops at each instant at which something is due, does that, and answers when all is done. Give advance or now."}, c.moveClock),
		serve(c, post, "/settle", ok, text{stateGroup, "settle", "Send what is due", "Sends webhooks until nothing is due."}, c.settle),
		serve(c, get, "/emails", ok, text{stateGroup, "listEmails", "List the mail", "Mail that a server would have sent, oldest first, without that about deleted cards."}, c.emails),
		serve(c, get, "/audit", ok, text{stateGroup, "listAudit", "List the audit log", "Newest first."}, c.audit, store.NotFound),
		serve(c, get, "/requests", ok, text{journalGroup, "listRequests", "Read the journal", "The newest requests or attempts to deliver webhooks that the query chooses, oldest first."}, c.Journal.list),
		serve(c, remove, "/requests", none, text{journalGroup, "clearRequests", "Empty the journal", ""}, c.Journal.clear),
		serve(c, post, "/faults", created, text{faultGroup, "addFault", "Add a fault", "The next requests to the REST and till APIs that match fail or take long. Of several faults that match, the one that was added first is applied."}, c.Faults.add, store.Unprocessable),
		serve(c, get, "/faults", ok, text{faultGroup, "listFaults", "List the faults", "Those that are still to be applied, in the order in which they are tried."}, c.Faults.show),
		serve(c, remove, "/faults", none, text{faultGroup, "clearFaults", "Remove all faults", "Does not affect requests that a fault delays already."}, c.Faults.clear),
	}
}

// webhookRoutes returns the routes about receivers of webhooks.
func (c *Control) webhookRoutes() []route {
	const get, post, put, remove, ok, created, none = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.StatusOK, http.StatusCreated, http.StatusNoContent
	rs := c.Receivers
	show := serve(c, get, "/receiver/:id", ok, text{receiverGroup, "getReceiver", "Read what a receiver got", "In the order of X-Service-Sequence, then of event_id, then of arrival. With wait it answers as soon as so many requests are there, or after timeout_ms with those that are."}, rs.show, store.NotFound)
	show.handle = extendDeadline(maxReceiverWait, show.handle)
	replay := serve(c, post, "/receiver/:id/replay", ok, text{receiverGroup, "replayReceiver", "Send what a receiver got to a URL", "One request after the other, with the body and headers that came. The answer says what became of each. It ends after a minute."}, rs.replay, store.NotFound, store.Unprocessable)
	replay.handle = extendDeadline(maxReplay, replay.handle)
	return []route{
		serve(c, post, "/receiver", created, text{receiverGroup, "createReceiver", "Create a receiver", "Makes a target for webhooks in the server itself. POST to its url is recorded, and answered as the receiver says."}, rs.create, store.Unprocessable),
		show,
		serve(c, put, "/receiver/:id", ok, text{receiverGroup, "updateReceiver", "Set how a receiver answers", "From the next request on. Absent fields get their default."}, rs.update, store.NotFound),
		serve(c, remove, "/receiver/:id/requests", none, text{receiverGroup, "clearReceiver", "Empty a receiver", ""}, rs.clear, store.NotFound),
		replay,
	}
}

// operatorRoutes returns the routes that bind operations.
func (c *Control) operatorRoutes() []route {
	const post, patch, remove, ok, created, none = http.MethodPost, http.MethodPatch, http.MethodDelete, http.StatusOK, http.StatusCreated, http.StatusNoContent
	atLocation := func(_ httprouter.Params, b operation.DeviceFields) (int64, error) {
		return c.Store.Owner(store.KindLocation, b.LocationID.V)
	}
	ofStaff := func(_ httprouter.Params, b operation.StaffFields) (int64, error) {
		return c.Store.Owner(store.KindLocation, b.LocationID.V)
	}
	signIn := serve(c, post, "/sign-in", ok, text{shopGroup, "signIn", "Sign a person in", "Begins a session of one of the demo shop's people without a password. Sets the cookie of the session and answers it."}, c.signInJSON(nil), store.NotFound)
	signIn.handle = c.signIn // which takes a form too
	return []route{
		bind[store.ShopFields, shopAnswer](c, post, "/shops", created, text{shopGroup, "createShop", "Create a shop", "With a location, a key of every scope and a till, and no programs."}, createShop, noShop, sameFields),
		bind[operation.ShopPatch, store.Shop](c, patch, "/shops/:id", ok, text{shopGroup, "updateShop", "Update a shop", ""}, operation.UpdateShop, func(p httprouter.Params, _ operation.ShopPatch) (int64, error) {
			return c.Store.ResolveShop(p.ByName("id"))
		}, sameFields),
		bind[keyBody, operation.CreatedKey](c, post, "/keys", created, text{shopGroup, "createKey", "Create a key", "The secret is key. Without scopes an API key has all of them."}, operation.CreateKey, func(_ httprouter.Params, b keyBody) (int64, error) { return c.resolveShop(b.ShopID) }, func(b keyBody) any { return b.KeyFields }),
		serve(c, patch, "/keys/:id", ok, text{shopGroup, "limitKey", "Set the rate limit of a key", "From its next request on, with a full bucket, until a reset or another start."}, c.setKeyLimit, store.NotFound),
		onResource[operation.RotateFields, operation.CreatedKey](c, post, "/keys/:id/rotate", created, text{shopGroup, "rotateKey", "Rotate a key", ""}, store.KindKey, operation.RotateKey),
		onResource[struct{}, store.Key](c, post, "/keys/:id/revoke", ok, text{shopGroup, "revokeKey", "Revoke a key", ""}, store.KindKey, operation.RevokeKey),
		signIn,
		bind[locationBody, store.Location](c, post, "/locations", created, text{tillGroup, "createLocation", "Create a location", "Its tills ask for the staff_pin if there is one."}, operation.CreateLocation, func(_ httprouter.Params, b locationBody) (int64, error) { return c.resolveShop(b.ShopID) }, func(b locationBody) any { return seed.LocationFields(b.LocationFields) }),
		bind[operation.DeviceFields, operation.CreatedDevice](c, post, "/devices", created, text{tillGroup, "createDevice", "Create a till", "It accepts the ids of cards unless accept_card_ids is false."}, operation.CreateDevice, atLocation, func(b operation.DeviceFields) any { return deviceFields(b) }),
		onResource[struct{}, store.Device](c, post, "/devices/:id/revoke", ok, text{tillGroup, "revokeDevice", "Revoke a till", ""}, store.KindDevice, operation.RevokeDevice),
		bind[operation.DeviceFields, store.CreatedPairing](c, post, "/pairings", created, text{tillGroup, "createPairing", "Create a pairing", "A link and a code by which a phone becomes a till, once, within ten minutes."}, operation.CreatePairing, atLocation, func(b operation.DeviceFields) any { return deviceFields(b) }),
		bind[operation.StaffFields, store.StaffMember](c, post, "/staff", created, text{tillGroup, "createStaff", "Create a member of staff", ""}, operation.CreateStaff, ofStaff, sameFields),
		onResource[operation.MemberPINFields, store.StaffMember](c, post, "/staff/:id/pin", ok, text{tillGroup, "setStaffPIN", "Set the PIN of a member of staff", ""}, store.KindStaff, operation.SetStaffMemberPIN),
		onResource[struct{}, store.StaffMember](c, post, "/staff/:id/disable", ok, text{tillGroup, "disableStaff", "Disable a member of staff", ""}, store.KindStaff, operation.DisableStaff),
		onResource[struct{}, store.StaffMember](c, post, "/staff/:id/enable", ok, text{tillGroup, "enableStaff", "Enable a member of staff", ""}, store.KindStaff, operation.EnableStaff),
		onResource[store.ProgramSettings, store.ProgramDetail](c, patch, "/programs/:id", ok, text{cardGroup, "updateProgramSettings", "Set what only people set of a program", ""}, store.KindProgram, operation.UpdateProgramSettings),
		onResource[struct{}, kernel.None](c, remove, "/programs/:id", none, text{cardGroup, "deleteProgram", "Delete a program", ""}, store.KindProgram, operation.DeleteProgram),
		onResource[store.CardFields, operation.IssuedCard](c, post, "/programs/:id/enroll", created, text{cardGroup, "enrollCard", "Issue a card by web enrolment", ""}, store.KindProgram, operation.EnrollCard),
		onResource[struct{}, store.CardDetail](c, post, "/cards/:id/lock", ok, text{cardGroup, "lockCard", "Lock a card", ""}, store.KindCard, operation.LockCard),
		onResource[struct{}, store.CardDetail](c, post, "/cards/:id/unlock", ok, text{cardGroup, "unlockCard", "Unlock a card", ""}, store.KindCard, operation.UnlockCard),
		onResource[struct{}, store.CardDetail](c, post, "/cards/:id/archive", ok, text{cardGroup, "archiveCard", "Archive a card", ""}, store.KindCard, operation.ArchiveCard),
		onResource[store.ReissueFields, operation.IssuedCard](c, post, "/cards/:id/reissue", ok, text{cardGroup, "reissueCard", "Reissue a card", "Replaces its codes and its install link."}, store.KindCard, operation.ReissueCard),
		onResource[struct{}, kernel.None](c, post, "/cards/:id/delete", none, text{cardGroup, "deleteCard", "Erase a card and the person's data", ""}, store.KindCard, operation.EraseCard),
	}
}
