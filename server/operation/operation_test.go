package operation_test

import (
	"context"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// admits lists who may invoke each operation: the scope that a key needs (key), the scope that
// an assistant's key needs (mcp), the least role of a person, whether any person who is signed
// in may (account), also one who must set up a second factor first (enrolling) or has not given
// it yet (pending), the other kinds of callers, and whether a person must have given the
// password a short while ago (proof).
var admits = map[string]string{
	"getMe":         "key *",
	"listLocations": "key locations:read, mcp locations:read, viewer", "getLocation": "viewer", "updateLocationSettings": "manager", "updateLocation": "key locations:write, mcp locations:write, manager", "disableLocation": "key locations:write, mcp locations:write, manager",
	"enableLocation": "key locations:write, mcp locations:write, manager", "createLocation": "owner", "setStaffPIN": "manager",
	"listStaff": "viewer", "createStaff": "manager, proof", "setStaffMemberPIN": "manager, proof", "disableStaff": "manager", "enableStaff": "manager",
	"listPrograms": "key programs:read, mcp programs:read, viewer", "createProgram": "key programs:write, manager", "getProgram": "key programs:read, mcp programs:read, viewer", "updateProgram": "key programs:write, manager",
	"publishProgram": "key programs:write, mcp programs:write, manager", "unpublishProgram": "key programs:write, mcp programs:write, manager", "suspendProgram": "key programs:write, mcp programs:write, manager",
	"unsuspendProgram": "key programs:write, mcp programs:write, manager", "updateProgramSettings": "manager", "deleteProgram": "manager",
	"getProgramForm": "viewer", "setProgramLogo": "manager", "removeProgramLogo": "manager", "getLogo": "holder, viewer",
	"getProgramImpact": "mcp programs:write, viewer", "createProgramWithPrizes": "mcp programs:write, manager", "orderPrizes": "manager",
	"listPrizes": "key programs:read, viewer", "createPrize": "key programs:write, manager", "updatePrize": "key programs:write, manager", "deletePrize": "key programs:write, manager",
	"issueCard": "key cards:write, mcp cards:write, manager", "listCards": "key cards:read, viewer", "getCard": "key cards:read, viewer", "updateCard": "key cards:write, mcp cards:write, manager",
	"reissueCard": "key cards:write, mcp cards:write, manager", "createInstallLink": "key cards:write, manager", "enrollCard": "operator",
	"lockCard": "manager", "unlockCard": "manager", "archiveCard": "manager", "eraseCard": "manager, proof", "searchCards": "viewer",
	"getCardOverview": "viewer", "listCardTransactions": "viewer", "getLedgerEntry": "viewer", "listCardAudit": "manager", "exportCard": "owner, proof", "exportCards": "owner, proof", "reverseByPerson": "manager", "issueBlankCards": "manager",
	"listTransactions": "key transactions:read, mcp transactions:read, viewer",
	"listWebhooks":     "key webhooks:read, viewer", "createWebhook": "key webhooks:write, manager, proof", "getWebhook": "key webhooks:read, viewer", "updateWebhook": "key webhooks:write, manager",
	"deleteWebhook": "key webhooks:write, manager", "listDeliveries": "key webhooks:read, viewer", "testWebhook": "key webhooks:write, manager", "redeliver": "key webhooks:write, manager",
	"getProgramStats": "key analytics:read, mcp analytics:read, viewer", "getAnalyticsSummary": "key analytics:read, mcp analytics:read, viewer", "getHeatmap": "key analytics:read, mcp analytics:read, viewer",
	"getCardTypes": "key analytics:read, mcp analytics:read, viewer", "getCardTypeStats": "key analytics:read, mcp analytics:read, viewer", "getToday": "viewer", "getDayReport": "viewer", "getPeriod": "viewer", "getHealth": "operator", "makeBackup": "operator", "sendTestMail": "operator", "downloadBackup": "operator, proof",
	"getDevice": "device", "openStaffSession": "device", "closeStaffSession": "device", "listDeviceTransactions": "device", "searchAtTill": "device",
	"createPairing": "manager, proof", "acceptPairing": "visitor",
	"getDeviceDay": "device", "lookupCard": "device", "issueCardAtCounter": "device", "stampCard": "device", "redeemPrize": "device", "topUpCard": "device",
	"spendFromCard": "device", "useCard": "device", "reverseTransaction": "device",
	"showCardPage": "holder", "watchCard": "holder", "showHolderCard": "holder", "installCard": "holder",
	"showJoinPage": "holder", "join": "holder", "showLostPage": "holder", "requestCardLinks": "holder", "getEnrolment": "viewer", "updateEnrolment": "manager", "getPoster": "viewer",
	"createShop": "operator", "openShop": "operator", "listShops": "operator", "updateShop": "operator", "createKey": "owner, proof", "listKeys": "owner", "rotateKey": "owner, proof", "revokeKey": "owner, proof",
	"revokeAllKeys": "owner, proof", "createDevice": "manager, proof", "listDevices": "viewer", "revokeDevice": "manager", "listAudit": "manager",
	"createChosenKey": "owner, proof", "listKeyInfos": "owner", "listActivity": "manager", "listActivityActors": "manager",
	"listShopWebhooks": "viewer", "getShopWebhook": "viewer", "listWebhookLog": "viewer", "getDelivery": "viewer",
	"signIn": "visitor", "confirmSignIn": "pending", "signOut": "account, enrolling, pending", "signOutEverywhere": "account", "listSessions": "account", "endSession": "account",
	"prove": "account, enrolling", "selectShop": "account, enrolling", "signInAs": "system",
	"changePassword": "account", "getProfile": "account, enrolling", "updateProfile": "account", "startTOTP": "account, enrolling, proof", "confirmTOTP": "account, enrolling, proof",
	"removeTOTP": "account, proof", "newRecoveryCodes": "account, proof",
	"showLink": "account, visitor", "setUpOperator": "visitor", "createInvited": "visitor", "acceptInvitation": "account, proof", "resetPassword": "visitor", "requestReset": "visitor",
	"listPeople": "owner", "invitePerson": "owner, proof", "cancelInvitation": "owner, proof", "setRole": "owner, proof", "removePerson": "owner, proof",
	"listUsers": "operator", "disableUser": "operator, proof", "enableUser": "operator, proof", "createResetLink": "operator, proof", "signOutUser": "operator, proof",
	"getShop": "viewer", "updateShopSettings": "owner",
	"getOverview": "mcp *", "findCards": "mcp cards:read", "countTransactions": "mcp transactions:read", "checkIDs": "mcp *", "getSeenCard": "mcp cards:read", "comparePeriods": "mcp analytics:read, viewer", "listWebhookReports": "mcp webhooks:read, viewer",
	"updateProgramAndPrizes": "mcp programs:write", "draftWebhook": "mcp webhooks:write", "pauseWebhook": "mcp webhooks:write", "testActiveWebhook": "mcp webhooks:write", "redeliverToActive": "mcp webhooks:write",
}

// shop is a new store with the demo shop, and a kernel on it.
type shop struct {
	*testing.T
	*kernel.Kernel
	*seed.Ready
	st     *store.Store
	key    *store.Identity
	device *store.TillIdentity
}

// open returns a new shop. The store is closed at the end of the test.
func open(t *testing.T) shop {
	st, err := store.Open(filepath.Join(t.TempDir(), "test.db"), store.Options{IDSecret: seed.IDSecret, PublicURL: "https://cards.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s := shop{T: t, st: st, Kernel: kernel.New(st, kernel.Config{Fields: app.DefaultLimits().Fields()})}
	if s.Ready, err = seed.Demo(st, ""); err != nil {
		t.Fatal(err)
	}
	if s.key, _, err = st.Identify(store.Hash(seed.APIKey)); err != nil {
		t.Fatal(err)
	}
	if s.device, err = st.IdentifyTill(store.Hash(seed.TillToken)); err != nil {
		t.Fatal(err)
	}
	return s
}

// person returns a person with a role in the demo shop.
func (s shop) person(role kernel.Role) kernel.Caller {
	return kernel.Caller{Kind: kernel.Person, Role: role, Actor: store.Actor{Type: "user", Name: "ada"}, Access: store.Access{Shop: s.Shop()}}
}

// signedIn returns a person with a session and a role in the demo shop. change makes the
// session another one.
func (s shop) signedIn(role string, change func(*store.SessionIdentity)) kernel.Caller {
	now := s.st.Now()
	id := &store.SessionIdentity{Session: 1, User: 1, Shop: s.Shop(), Role: role, CreatedAt: now, UsedAt: now, ProvedAt: now}
	if role == "operator" {
		id.Role, id.Operator = store.RoleOwner, true
	}
	if change != nil {
		change(id)
	}
	return kernel.SessionCaller(id)
}

// TestCallers invokes every operation as every kind of caller. Exactly those that
// admits does not list are refused as unauthorized, or with the code that says what
// their session lacks.
func TestCallers(t *testing.T) {
	t.Parallel()
	s := open(t)
	var ids []string
	for _, op := range operation.All() {
		ids = append(ids, op.ID)
		want := strings.Split(admits[op.ID], ", ")
		scope, mcpScope := "", ""
		for _, w := range want {
			if rest, ok := strings.CutPrefix(w, "key "); ok {
				scope = rest
			}
			if rest, ok := strings.CutPrefix(w, "mcp "); ok {
				mcpScope = rest
			}
		}
		withScope, without, mcp, mcpWithout := *s.key, *s.key, *s.key, *s.key
		withScope.Scopes, mcp.Scopes = []string{scope}, []string{mcpScope}
		without.Scopes = slices.DeleteFunc(slices.Clone(store.Scopes), func(have string) bool { return have == scope })
		mcpWithout.Scopes = slices.DeleteFunc(slices.Clone(store.Scopes), func(have string) bool { return have == mcpScope })
		mcp.Class, mcpWithout.Class = "mcp", "mcp"
		as := func(id *store.Identity) kernel.Caller {
			c := kernel.KeyCaller(id)
			c.Epoch = 0 // operations of this test revoke keys
			return c
		}
		device := kernel.DeviceCaller(s.device, nil)
		device.Epoch = 0
		atLeast := func(role string) bool {
			roles := []string{"viewer", "manager", "owner", "operator"}
			return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(roles[:slices.Index(roles, role)+1], w) })
		}
		has := func(w string) bool { return slices.Contains(want, w) }
		signed := func(role string) bool { return has("account") || role != "" && atLeast(role) }
		for name, c := range map[string]struct {
			caller kernel.Caller
			may    bool
		}{
			"a visitor":                    {kernel.VisitorCaller(netip.Addr{}), has("visitor")},
			"a signed-in person":           {s.signedIn("", nil), signed("")},
			"a signed-in viewer":           {s.signedIn("viewer", nil), signed("viewer")},
			"a signed-in manager":          {s.signedIn("manager", nil), signed("manager")},
			"a signed-in owner":            {s.signedIn("owner", nil), signed("owner")},
			"a signed-in operator":         {s.signedIn("operator", nil), signed("operator")},
			"an operator without a code":   {s.signedIn("operator", func(id *store.SessionIdentity) { id.Pending = true }), has("pending")},
			"an operator who must enrol":   {s.signedIn("operator", func(id *store.SessionIdentity) { id.MustEnrol = true }), has("enrolling")},
			"both":                         {s.signedIn("operator", func(id *store.SessionIdentity) { id.MustEnrol, id.Pending = true, true }), has("pending")},
			"an operator after 15 minutes": {s.signedIn("operator", func(id *store.SessionIdentity) { id.ProvedAt -= 15 * 60_000 }), signed("operator") && !has("proof")},
			"an operator before that":      {s.signedIn("operator", func(id *store.SessionIdentity) { id.ProvedAt -= 15*60_000 - 5_000 }), signed("operator")},
			"nobody":                       {kernel.Caller{}, false},
			"an unknown kind":              {kernel.Caller{Kind: 99, Role: kernel.Operator}, false},
			"a key with the scope":         {as(&withScope), scope != ""},
			"a key with all others":        {as(&without), scope == kernel.AnyKey},
			"an MCP key with the scope":    {as(&mcp), mcpScope != ""},
			"an MCP key with all others":   {as(&mcpWithout), mcpScope == kernel.AnyKey},
			"a device":                     {device, slices.Contains(want, "device")},
			"a person without a role":      {s.person(kernel.NoRole), false},
			"a viewer":                     {s.person(kernel.Viewer), atLeast("viewer")},
			"a manager":                    {s.person(kernel.Manager), atLeast("manager")},
			"an owner":                     {s.person(kernel.Owner), atLeast("owner")},
			"an operator":                  {s.person(kernel.Operator), atLeast("operator")},
			"a holder":                     {kernel.HolderCaller(), slices.Contains(want, "holder")},
			"the system":                   {kernel.Caller{Kind: kernel.System, Actor: store.Actor{Type: "system"}}, slices.Contains(want, "system")},
			"a role that is no person's":   {kernel.Caller{Kind: kernel.Holder, Role: kernel.Operator}, slices.Contains(want, "holder")},
		} {
			_, err := s.Invoke(t.Context(), c.caller, op, kernel.Args{})
			refused := err != nil && slices.Contains([]store.Code{store.Unauthorized, store.TOTPRequired, store.ProofRequired}, kernel.AsError(err, kernel.StatusOf).Code)
			if refused == c.may {
				t.Errorf("%s by %s: allowed %t, got %v", op.ID, name, c.may, err)
			}
		}
	}
	if known := slices.Sorted(maps.Keys(admits)); !slices.Equal(slices.Sorted(slices.Values(ids)), known) {
		t.Errorf("the operations are %q, the table has %q", ids, known)
	}
}

// TestNoCallers checks that nobody may invoke an operation without Callers.
func TestNoCallers(t *testing.T) {
	t.Parallel()
	s := open(t)
	op := kernel.NewOperation(kernel.Of[struct{}, kernel.None]{
		ID: "forgotten",
		Write: func(*store.Tx, *kernel.Call, struct{}) (kernel.None, error) {
			t.Error("the operation was executed")
			return kernel.None{}, nil
		},
	})
	for kind := range kernel.CallerKind(20) {
		c := kernel.Caller{Kind: kind, Role: kernel.Operator, Key: s.key, Device: s.device}
		if _, err := s.Invoke(t.Context(), c, op, kernel.Args{}); code(err) != store.Unauthorized {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

// TestFieldsFromGo checks that fields which the program itself passes to an
// operation are validated like those of a request.
func TestFieldsFromGo(t *testing.T) {
	t.Parallel()
	s := open(t)
	program := map[string]string{"id": s.ProgramIDs["standard"]}
	good := store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"card.*"})}
	for want, change := range map[string]func(*store.WebhookFields){
		"":                                  func(*store.WebhookFields) {},
		"events.0 invalid_value":            func(f *store.WebhookFields) { f.Events.V = []string{"no.such.event"} },
		"events too_short":                  func(f *store.WebhookFields) { f.Events.V = nil },
		"events required":                   func(f *store.WebhookFields) { f.Events = store.Opt[[]string]{} },
		"events mutually_exclusive":         func(f *store.WebhookFields) { f.Events.V = []string{"transaction.created", "card.used"} },
		"url required":                      func(f *store.WebhookFields) { f.URL = store.Opt[string]{} },
		"url invalid_format":                func(f *store.WebhookFields) { f.URL.V = "no url" },
		"url invalid_value":                 func(f *store.WebhookFields) { f.URL.V = "http://hooks.example.com/" },
		"description too_long":              func(f *store.WebhookFields) { f.Description = store.Given(strings.Repeat("x", 501)) },
		"http_method invalid_value":         func(f *store.WebhookFields) { f.HTTPMethod = store.Given("TRACE") },
		"bearer_token invalid_format":       func(f *store.WebhookFields) { f.BearerToken = store.Given("a b") },
		"description invalid_value":         func(f *store.WebhookFields) { f.Description = store.Given("\xff") },
		"custom_headers.Host invalid_value": func(f *store.WebhookFields) { f.CustomHeaders = store.Given(map[string]string{"Host": "x"}) },
		"program_ids.0 invalid_value":       func(f *store.WebhookFields) { f.ProgramIDs = store.Given([]string{"prg_x"}) },
		"payload_version invalid_value":     func(f *store.WebhookFields) { f.PayloadVersion = store.Given("v3") },
		"custom_headers.X-Ö invalid_format": func(f *store.WebhookFields) { f.CustomHeaders = store.Given(map[string]string{"X-Ö": "x"}) },
	} {
		f := good
		f.Events.V = slices.Clone(good.Events.V)
		change(&f)
		_, err := kernel.Do[store.CreatedWebhook](t.Context(), s.Kernel, s.person(kernel.Manager), operation.CreateWebhook, kernel.Args{Params: program, Fields: operation.WebhookFields{WebhookFields: f}})
		if got := details(err); got != want {
			t.Errorf("want %q, got %q (%v)", want, got, err)
		}
	}
	_, err := kernel.Do[store.UpdatedWebhook](t.Context(), s.Kernel, s.person(kernel.Manager), operation.UpdateWebhook,
		kernel.Args{Params: program, Fields: operation.WebhookPatch{WebhookPatch: store.WebhookPatch{WebhookFields: store.WebhookFields{PayloadVersion: store.Given("v1"), Active: store.Opt[bool]{Set: true, Null: true}}}}})
	if got := details(err); got != "active invalid_type, payload_version not_allowed" {
		t.Errorf("a PATCH: %q (%v)", got, err)
	}
	// The store accepts no URL that was not checked.
	err = s.st.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
		_, err := tx.CreateWebhook(store.Access{Shop: s.Shop()}, s.ProgramIDs["standard"], good)
		return err
	}})
	if _, refused := store.AsError(err); err == nil || refused {
		t.Errorf("a URL that was not checked: %v", err)
	}
}

// TestWhoSeesLookups checks that only operators are told whether the host of a URL
// resolves.
func TestWhoSeesLookups(t *testing.T) {
	t.Parallel()
	s := open(t)
	code := ""
	k := kernel.New(s.st, kernel.Config{Fields: app.DefaultLimits().Fields(), CheckTarget: func(context.Context, string) *store.Detail {
		return &store.Detail{Field: "url", Code: code, Message: "Said to operators."}
	}})
	url := store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"*"})}
	args := kernel.Args{Params: map[string]string{"id": s.ProgramIDs["standard"]}, Fields: operation.WebhookFields{WebhookFields: url}}
	for _, caller := range []kernel.Caller{kernel.KeyCaller(s.key), s.person(kernel.Manager), s.person(kernel.Owner), s.person(kernel.Operator)} {
		var messages []string
		for _, code = range []string{"not_public", "unresolvable", "invalid_value"} {
			_, err := k.Invoke(t.Context(), caller, operation.CreateWebhook, args)
			e, ok := store.AsError(err)
			if !ok {
				t.Fatal(err)
			}
			messages = append(messages, e.Details[0].Code+" "+e.Details[0].Message)
		}
		const said = " Said to operators."
		told := caller.Role == kernel.Operator
		if (messages[0] == messages[1]) == told || told != (messages[1] == "unresolvable"+said) || messages[2] != "invalid_value"+said {
			t.Errorf("role %d is told %q", caller.Role, messages)
		}
	}
}

// details lists the fields and codes of a refusal. It returns "" for no error, and the text of
// any other error.
func details(err error) string {
	if err == nil {
		return ""
	}
	e, ok := store.AsError(err)
	if !ok {
		return err.Error()
	}
	var list []string
	for _, d := range e.Details {
		list = append(list, d.Field+" "+d.Code)
	}
	return strings.Join(list, ", ")
}

// TestActorOfAPerson checks that writes by a person are audited with the person's id and not a
// key's.
func TestActorOfAPerson(t *testing.T) {
	t.Parallel()
	s := open(t)
	ada := s.person(kernel.Manager)
	ada.Actor = store.Actor{Type: "user", Key: 7}
	if _, err := s.Invoke(t.Context(), ada, operation.DisableLocation, kernel.Args{Params: map[string]string{"id": s.LocationIDs[0]}}); err != nil {
		t.Fatal(err)
	}
	page, err := kernel.Do[store.Page[store.AuditRow]](t.Context(), s.Kernel, ada, operation.ListAudit, kernel.Args{})
	if err != nil || len(page.Data) == 0 {
		t.Fatal(page, err)
	}
	if row := page.Data[0]; row.Actor.Type != "user" || row.Actor.ID.V != s.st.ID(store.KindUser, 7) || !strings.HasPrefix(row.Actor.ID.V, "usr_") {
		t.Errorf("%+v", row)
	}
}

// TestOneFunction checks that an operation with none or two of Read, Write and Prepare, or with a
// function for other fields or another answer, is refused when it is declared.
func TestOneFunction(t *testing.T) {
	t.Parallel()
	read := func(*store.View, *kernel.Call, struct{}) (kernel.None, error) { return kernel.None{}, nil }
	write := func(*store.Tx, *kernel.Call, struct{}) (kernel.None, error) { return kernel.None{}, nil }
	other := kernel.LookUp(func(*store.View, *kernel.Call, operation.PageQuery, func(string) bool) error { return nil })
	wrong := kernel.Complete(func(*operation.IssuedCard) error { return nil })
	for _, d := range []kernel.Of[struct{}, kernel.None]{{}, {Read: read, Write: write}, {Read: read, LookUp: other}, {Write: write, Complete: wrong}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the operation was declared")
				}
			}()
			kernel.NewOperation(d)
		}()
	}
}
