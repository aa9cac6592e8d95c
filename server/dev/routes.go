package dev

import (
	"net/http"
	"slices"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// The kinds of routes.
var (
	get    = routeOf(http.MethodGet, http.StatusOK)
	create = routeOf(http.MethodPost, http.StatusCreated)
	act    = routeOf(http.MethodPost, http.StatusOK)
	erase  = routeOf(http.MethodPost, http.StatusNoContent)
	patch  = routeOf(http.MethodPatch, http.StatusOK)
	put    = routeOf(http.MethodPut, http.StatusOK)
	remove = routeOf(http.MethodDelete, http.StatusNoContent)
)

// The groups of the document.
const (
	stateGroup    = "State"
	journalGroup  = "Journal"
	faultGroup    = "Faults"
	receiverGroup = "Receivers"
	shopGroup     = "Shops and keys"
	tillGroup     = "Tills and staff"
	cardGroup     = "Programs and cards"
	phoneGroup    = "Phones with wallets"
)

// routes returns the routes of the control API that the document has.
func (c *Control) routes() []route {
	return slices.Concat(
		inGroup(stateGroup, c.stateRoutes()),
		inGroup(journalGroup, c.journalRoutes()),
		inGroup(faultGroup, c.faultRoutes()),
		inGroup(receiverGroup, c.receiverRoutes()),
		inGroup(shopGroup, c.shopRoutes()),
		inGroup(tillGroup, c.tillRoutes()),
		inGroup(cardGroup, c.cardRoutes()),
		inGroup(phoneGroup, c.phoneRoutes()),
	)
}

// stateRoutes returns the routes about the server as a whole.
func (c *Control) stateRoutes() []route {
	audit := bind(c, operation.ListAudit, func(_ httprouter.Params, q auditQuery) (int64, any, error) {
		shop, err := c.resolveShop(q.ShopID)
		return shop, q.PageQuery, err
	})
	return []route{
		act("/reset", "reset", "Reset the fixture",
			"Sets everything to what it was at the start: data, clock, keys, limits, faults, journal, receivers and mail. "+
				"Answers the ready line when it is done.",
			serve(c.reset)),
		act("/history", "fillHistory", "Fill the demo shop with a past",
			"Resets the fixture, as POST /dev/reset does, to a demo shop that had so many days of business until now. "+
				"Answers the ready line when it is done.",
			serve(c.fillHistory, store.Unprocessable)).wrapped(c.orHistoryForm),
		get("/clock", "getClock", "Read the clock", "", serve(c.getClock)),
		act("/clock", "moveClock", "Move the clock",
			"Stops at each instant at which something is due, does that, and answers when all is done. Give advance or now.",
			serve(c.moveClock)),
		act("/settle", "settle", "Send what is due", "Sends webhooks until nothing is due.", serve(c.settle)),
		get("/emails", "listEmails", "List the mail",
			"Mail that a server would have sent, oldest first, without that about deleted cards.",
			serve(c.emails)),
		get("/audit", "listAudit", "List the audit log", "Newest first.", audit),
	}
}

// journalRoutes returns the routes about what the server was asked.
func (c *Control) journalRoutes() []route {
	return []route{
		get("/requests", "listRequests", "Read the journal",
			"The newest requests or attempts to deliver webhooks that the query chooses, oldest first.",
			serve(c.Journal.list)),
		remove("/requests", "clearRequests", "Empty the journal", "", serve(c.Journal.clear)),
	}
}

// faultRoutes returns the routes about faults.
func (c *Control) faultRoutes() []route {
	return []route{
		create("/faults", "addFault", "Add a fault",
			"The next requests to the REST and till APIs that match fail or take long. "+
				"Of several faults that match, the one that was added first is applied.",
			serve(c.Faults.add, store.Unprocessable)),
		get("/faults", "listFaults", "List the faults",
			"Those that are still to be applied, in the order in which they are tried.",
			serve(c.Faults.show)),
		remove("/faults", "clearFaults", "Remove all faults",
			"Does not affect requests that a fault delays already.",
			serve(c.Faults.clear)),
	}
}

// receiverRoutes returns the routes about receivers of webhooks.
func (c *Control) receiverRoutes() []route {
	rs := c.Receivers
	return []route{
		create("/receiver", "createReceiver", "Create a receiver",
			"Makes a target for webhooks in the server itself. "+
				"POST to its url is recorded, and answered as the receiver says.",
			serve(rs.create, store.Unprocessable)),
		get("/receiver/:id", "getReceiver", "Read what a receiver got",
			"In the order of X-Service-Sequence, then of event_id, then of arrival. "+
				"With wait it answers as soon as so many requests are there, or after timeout_ms with those that are.",
			serve(rs.show, store.NotFound)).wrapped(c.lasting),
		put("/receiver/:id", "updateReceiver", "Set how a receiver answers",
			"From the next request on. Absent fields get their default.",
			serve(rs.update, store.NotFound)),
		remove("/receiver/:id/requests", "clearReceiver", "Empty a receiver", "", serve(rs.clear, store.NotFound)),
		act("/receiver/:id/replay", "replayReceiver", "Send what a receiver got to a URL",
			"One request after the other, with the body and headers that came. "+
				"The answer says what became of each. It ends after a minute.",
			serve(rs.replay, store.NotFound, store.Unprocessable)).wrapped(c.lasting),
	}
}

// shopRoutes returns the routes about shops, their keys and their people.
func (c *Control) shopRoutes() []route {
	newShop := bind(c, createShop, func(_ httprouter.Params, b store.ShopFields) (int64, any, error) { return 0, b, nil })
	updateShop := bind(c, operation.UpdateShop, func(p httprouter.Params, b operation.ShopPatch) (int64, any, error) {
		shop, err := c.Store.ResolveShop(p.ByName("id"))
		return shop, b, err
	})
	newKey := bind(c, operation.CreateKey, func(_ httprouter.Params, b keyBody) (int64, any, error) {
		shop, err := c.resolveShop(b.ShopID)
		return shop, b.KeyFields, err
	})
	return []route{
		create("/shops", "createShop", "Create a shop",
			"With a location, a key of every scope and a till, and no programs.", newShop),
		patch("/shops/:id", "updateShop", "Update a shop", "", updateShop),
		create("/keys", "createKey", "Create a key",
			"The secret is key. Without scopes an API key has all of them.", newKey),
		patch("/keys/:id", "limitKey", "Set the rate limit of a key",
			"From its next request on, with a full bucket, until a reset or another start.",
			serve(c.setKeyLimit, store.NotFound)),
		create("/keys/:id/rotate", "rotateKey", "Rotate a key", "", c.onResource(store.KindKey, operation.RotateKey)),
		act("/keys/:id/revoke", "revokeKey", "Revoke a key", "", c.onResource(store.KindKey, operation.RevokeKey)),
		act("/sign-in", "signIn", "Sign a person in",
			"Begins a session of one of the demo shop's people without a password. "+
				"Sets the cookie of the session and answers it.",
			serve(c.signInJSON(nil), store.NotFound)).wrapped(c.signIn),
	}
}

// tillRoutes returns the routes about locations, tills and staff.
func (c *Control) tillRoutes() []route {
	newLocation := bind(c, operation.CreateLocation, func(_ httprouter.Params, b locationBody) (int64, any, error) {
		shop, err := c.resolveShop(b.ShopID)
		return shop, seed.LocationFields(b.LocationFields), err
	})
	ofDevice := func(_ httprouter.Params, b operation.DeviceFields) (int64, any, error) {
		shop, err := c.Store.Owner(store.KindLocation, b.LocationID.V)
		return shop, deviceFields(b), err
	}
	newStaff := bind(c, operation.CreateStaff, func(_ httprouter.Params, b staffBody) (int64, any, error) {
		if ids := b.LocationIDs.V; len(ids) > 0 && !b.ShopID.Set {
			shop, err := c.Store.Owner(store.KindLocation, ids[0])
			return shop, b.StaffFields, err
		}
		shop, err := c.resolveShop(b.ShopID)
		return shop, b.StaffFields, err
	})
	staff := func(op *kernel.Operation) action { return c.onResource(store.KindStaff, op) }
	return []route{
		create("/locations", "createLocation", "Create a location",
			"Its tills ask for the staff_pin if there is one.", newLocation),
		create("/devices", "createDevice", "Create a till",
			"It accepts the ids of cards unless accept_card_ids is false.",
			bind(c, operation.CreateDevice, ofDevice)),
		act("/devices/:id/revoke", "revokeDevice", "Revoke a till", "", c.onResource(store.KindDevice, operation.RevokeDevice)),
		create("/pairings", "createPairing", "Create a pairing",
			"A link and a code by which a phone becomes a till, once, within ten minutes.",
			bind(c, operation.CreatePairing, ofDevice)),
		create("/staff", "createStaff", "Create a member of staff",
			"In the shop of shop_id, by default that of the first location, or the demo shop.", newStaff),
		patch("/staff/:id", "updateStaff", "Update a member of staff", "", staff(operation.UpdateStaff)),
		act("/staff/:id/pin", "setStaffPIN", "Set the PIN of a member of staff", "", staff(operation.SetStaffMemberPIN)),
		act("/staff/:id/disable", "disableStaff", "Disable a member of staff", "", staff(operation.DisableStaff)),
		act("/staff/:id/enable", "enableStaff", "Enable a member of staff", "", staff(operation.EnableStaff)),
	}
}

// cardRoutes returns the routes about programs and cards.
func (c *Control) cardRoutes() []route {
	program := func(op *kernel.Operation) action { return c.onResource(store.KindProgram, op) }
	card := func(op *kernel.Operation) action { return c.onResource(store.KindCard, op) }
	return []route{
		patch("/programs/:id", "updateProgramSettings", "Set what only people set of a program", "",
			program(operation.UpdateProgramSettings)),
		remove("/programs/:id", "deleteProgram", "Delete a program", "", program(operation.DeleteProgram)),
		create("/programs/:id/enroll", "enrollCard", "Issue a card by web enrolment", "", program(operation.EnrollCard)),
		act("/cards/:id/lock", "lockCard", "Lock a card", "", card(operation.LockCard)),
		act("/cards/:id/unlock", "unlockCard", "Unlock a card", "", card(operation.UnlockCard)),
		act("/cards/:id/archive", "archiveCard", "Archive a card", "", card(operation.ArchiveCard)),
		act("/cards/:id/reissue", "reissueCard", "Reissue a card", "Replaces its codes and its install link.",
			card(operation.ReissueCard)),
		erase("/cards/:id/delete", "deleteCard", "Erase a card and the person's data", "", card(operation.EraseCard)),
	}
}

// phoneRoutes returns the routes about phones with wallets.
func (c *Control) phoneRoutes() []route {
	return []route{
		create("/wallet/phones", "addToPhone", "Add a card to a phone",
			"The phone downloads the pass of the card, as from the card's page, checks it as strictly as an iPhone does, and registers "+
				"for its changes. When the server wakes it, it reads the pass again.",
			serve(c.addToPhone, store.NotFound, store.Unprocessable)).wrapped(c.lasting),
		get("/wallet/phones", "listPhones", "List the phones", "In the order in which they were made.", serve(c.listPhones)),
		get("/wallet/phones/:id", "getPhone", "Read what a phone has",
			"With arrived it answers as soon as passes have arrived so many times, or after timeout_ms.",
			serve(c.getPhone, store.NotFound)).wrapped(c.lasting),
	}
}
