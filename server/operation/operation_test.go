package operation_test

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// signedIn returns a person with a session and a role in the demo shop. change makes the
// session another one.
func (h *harness) signedIn(role string, change func(*store.SessionIdentity)) kernel.Caller {
	now := h.st.Now()
	id := &store.SessionIdentity{Session: 1, User: 1, Shop: h.Shop(), Role: role, CreatedAt: now, UsedAt: now, ProvedAt: now}
	if role == "operator" {
		id.Role, id.Operator = store.RoleOwner, true
	}
	if change != nil {
		change(id)
	}
	return kernel.SessionCaller(id)
}

var update = flag.Bool("update", false, "write the golden file of the callers")

// callersOf says who may invoke an operation: the scope that a key needs (key), the scope that
// an assistant's key needs (mcp), the least role of a person, whether any person who is signed
// in may (account), also one who must set up a second factor first (enrolling) or has not given
// it yet (pending), the other kinds of callers, and whether a person must have given the
// password a short while ago (proof).
func callersOf(op *kernel.Operation) string {
	c := op.Callers
	var list []string
	for _, scope := range [][2]string{{"key ", c.APIKey}, {"mcp ", c.MCPKey}} {
		if scope[1] != "" {
			list = append(list, scope[0]+scope[1])
		}
	}
	if c.Person != kernel.NoRole {
		list = append(list, roles[c.Person-1])
	}
	for _, other := range []struct {
		name string
		may  bool
	}{
		{"account", c.Account}, {"enrolling", c.Enrolling}, {"pending", c.Pending}, {"device", c.Device}, {"holder", c.Holder},
		{"visitor", c.Visitor}, {"system", c.System}, {"proof", op.Proof},
	} {
		if other.may {
			list = append(list, other.name)
		}
	}
	return strings.Join(list, ", ")
}

var roles = []string{"viewer", "manager", "owner", "operator"}

// TestCallers compares the callers of all operations with testdata/callers.txt, and invokes every
// operation as every kind of caller. Exactly those that may not are refused as unauthorized, or
// with the code that says what their session lacks.
func TestCallers(t *testing.T) {
	h := openHarness(t)
	key, till := h.key(), h.tillIdentity()
	pending := h.signedIn("operator", func(id *store.SessionIdentity) { id.Pending = true })
	enrolling := h.signedIn("operator", func(id *store.SessionIdentity) { id.MustEnrol = true })
	both := h.signedIn("operator", func(id *store.SessionIdentity) { id.MustEnrol, id.Pending = true, true })
	late := h.signedIn("operator", func(id *store.SessionIdentity) { id.ProvedAt -= 15 * 60_000 })
	inTime := h.signedIn("operator", func(id *store.SessionIdentity) { id.ProvedAt -= 15*60_000 - 5_000 })
	var lines []string
	for _, op := range operation.Declared() {
		lines = append(lines, op.ID+": "+callersOf(op)+"\n")
		want := op.Callers
		as := func(class string, scopes ...string) kernel.Caller {
			id := *key
			id.Class, id.Scopes = class, scopes
			c := kernel.KeyCaller(&id)
			c.Epoch = 0 // operations of this test revoke keys
			return c
		}
		except := func(scope string) []string {
			return slices.DeleteFunc(slices.Clone(store.Scopes), func(have string) bool { return have == scope })
		}
		device := kernel.DeviceCaller(till, nil)
		device.Epoch = 0
		atLeast := func(role kernel.Role) bool { return want.Person != kernel.NoRole && role >= want.Person }
		signed := func(role kernel.Role) bool { return want.Account || atLeast(role) }
		for name, c := range map[string]struct {
			caller kernel.Caller
			may    bool
		}{
			"a visitor":                    {kernel.VisitorCaller(netip.Addr{}), want.Visitor},
			"a signed-in person":           {h.signedIn("", nil), signed(kernel.NoRole)},
			"a signed-in viewer":           {h.signedIn("viewer", nil), signed(kernel.Viewer)},
			"a signed-in manager":          {h.signedIn("manager", nil), signed(kernel.Manager)},
			"a signed-in owner":            {h.signedIn("owner", nil), signed(kernel.Owner)},
			"a signed-in operator":         {h.signedIn("operator", nil), signed(kernel.Operator)},
			"an operator without a code":   {pending, want.Pending},
			"an operator who must enrol":   {enrolling, want.Enrolling},
			"both":                         {both, want.Pending},
			"an operator after 15 minutes": {late, signed(kernel.Operator) && !op.Proof},
			"an operator before that":      {inTime, signed(kernel.Operator)},
			"nobody":                       {kernel.Caller{}, false},
			"an unknown kind":              {kernel.Caller{Kind: 99, Role: kernel.Operator}, false},
			"a key with the scope":         {as("api", want.APIKey), want.APIKey != ""},
			"a key with all others":        {as("api", except(want.APIKey)...), want.APIKey == kernel.AnyKey},
			"an MCP key with the scope":    {as("mcp", want.MCPKey), want.MCPKey != ""},
			"an MCP key with all others":   {as("mcp", except(want.MCPKey)...), want.MCPKey == kernel.AnyKey},
			"a device":                     {device, want.Device},
			"a person without a role":      {h.withRole(kernel.NoRole), false},
			"a viewer":                     {h.withRole(kernel.Viewer), atLeast(kernel.Viewer)},
			"a manager":                    {h.withRole(kernel.Manager), atLeast(kernel.Manager)},
			"an owner":                     {h.withRole(kernel.Owner), atLeast(kernel.Owner)},
			"an operator":                  {h.withRole(kernel.Operator), atLeast(kernel.Operator)},
			"a holder":                     {kernel.HolderCaller(), want.Holder},
			"the system":                   {kernel.Caller{Kind: kernel.System, Actor: store.Actor{Type: "system"}}, want.System},
			"a role that is no person's":   {kernel.Caller{Kind: kernel.Holder, Role: kernel.Operator}, want.Holder},
		} {
			_, err := h.Invoke(t.Context(), c.caller, op, kernel.Args{})
			refused := slices.Contains([]store.Code{store.Unauthorized, store.TOTPRequired, store.ProofRequired}, refusal(err))
			if refused == c.may {
				t.Errorf("%s by %s: allowed %t, got %v", op.ID, name, c.may, err)
			}
		}
	}
	slices.Sort(lines)
	const golden = "testdata/callers.txt"
	if *update {
		noError(t, os.WriteFile(golden, []byte(strings.Join(lines, "")), 0o644))
	}
	if known, err := os.ReadFile(golden); err != nil || string(known) != strings.Join(lines, "") {
		t.Errorf("the callers are not those of %s (%v):\n%s", golden, err, lines)
	}
}

// TestNoCallers checks that nobody may invoke an operation without Callers.
func TestNoCallers(t *testing.T) {
	h := openHarness(t)
	op := kernel.NewOperation(kernel.Operation{
		ID: "forgotten",
		Write: kernel.Write(func(*store.Tx, *kernel.Call, struct{}) (kernel.None, error) {
			t.Error("the operation was executed")
			return kernel.None{}, nil
		}),
	})
	for kind := range kernel.CallerKind(20) {
		c := kernel.Caller{Kind: kind, Role: kernel.Operator, Key: h.key(), Device: h.tillIdentity()}
		h.want(store.Unauthorized, fmt.Sprint("kind ", kind), c, op, "", nil)
	}
}

// TestFieldsFromGo checks that fields which the program itself passes to an
// operation are validated like those of a request.
func TestFieldsFromGo(t *testing.T) {
	h := openHarness(t)
	program := h.ProgramIDs["standard"]
	good := store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"card.*"})}
	for want, change := range map[string]func(*store.WebhookFields){
		"":                                  func(*store.WebhookFields) {},
		"events required":                   func(f *store.WebhookFields) { f.Events = store.Opt[[]string]{} },
		"url invalid_format":                func(f *store.WebhookFields) { f.URL.V = "no url" },
		"description invalid_value":         func(f *store.WebhookFields) { f.Description = store.Given("\xff") },
		"custom_headers.Host invalid_value": func(f *store.WebhookFields) { f.CustomHeaders = store.Given(map[string]string{"Host": "x"}) },
		"program_ids.0 invalid_value":       func(f *store.WebhookFields) { f.ProgramIDs = store.Given([]string{"prg_x"}) },
	} {
		f := good
		f.Events.V = slices.Clone(good.Events.V)
		change(&f)
		_, err := h.try(h.withRole(kernel.Manager), operation.CreateWebhook, program, operation.WebhookFields{WebhookFields: f})
		if got := details(err); got != want {
			t.Errorf("want %q, got %q (%v)", want, got, err)
		}
	}
	patch := store.WebhookFields{PayloadVersion: store.Given("v1"), Active: store.Opt[bool]{Set: true, Null: true}}
	_, err := h.try(
		h.withRole(kernel.Manager),
		operation.UpdateWebhook, program,
		operation.WebhookPatch{WebhookPatch: store.WebhookPatch{WebhookFields: patch}},
	)
	if got := details(err); got != "active invalid_type, payload_version not_allowed" {
		t.Errorf("a PATCH: %q (%v)", got, err)
	}
	// The store accepts no URL that was not checked.
	err = h.st.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
		_, err := tx.CreateWebhook(store.Access{Shop: h.Shop()}, program, good)
		return err
	}})
	if _, refused := store.AsError(err); err == nil || refused {
		t.Errorf("a URL that was not checked: %v", err)
	}
}

// TestWhoSeesLookups checks that only operators are told whether the host of a URL
// resolves.
func TestWhoSeesLookups(t *testing.T) {
	h := openHarness(t)
	code := ""
	k := kernel.New(h.st, kernel.Config{Fields: app.DefaultLimits().Fields(), CheckTarget: func(context.Context, string) *store.Detail {
		return &store.Detail{Field: "url", Code: code, Message: "Said to operators."}
	}})
	url := store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"*"})}
	in := args(h.ProgramIDs["standard"], operation.WebhookFields{WebhookFields: url})
	for _, caller := range []kernel.Caller{
		kernel.KeyCaller(h.key()), h.withRole(kernel.Manager), h.withRole(kernel.Owner), h.withRole(kernel.Operator),
	} {
		var messages []string
		for _, code = range []string{"not_public", "unresolvable", "invalid_value"} {
			_, err := k.Invoke(t.Context(), caller, operation.CreateWebhook, in)
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
	h := openHarness(t)
	ada := h.withRole(kernel.Manager)
	ada.Actor = store.Actor{Type: "user", Key: 7}
	h.ok(ada, operation.DisableLocation, h.LocationIDs[0], nil)
	if row := h.audit(h.Shop(), 1)[0]; row.Actor.Type != "user" || row.Actor.ID.V != h.st.ID(store.KindUser, 7) ||
		!strings.HasPrefix(row.Actor.ID.V, "usr_") {
		t.Errorf("%+v", row)
	}
}

// TestOneFunction checks that an operation with none or two of Read, Write and Prepare, or with a
// function for other fields or another answer, is refused when it is declared.
func TestOneFunction(t *testing.T) {
	t.Parallel()
	read := kernel.Read(func(*store.View, *kernel.Call, struct{}) (kernel.None, error) { return kernel.None{}, nil })
	write := kernel.Write(func(*store.Tx, *kernel.Call, struct{}) (kernel.None, error) { return kernel.None{}, nil })
	other := kernel.WriteBefore(func(*store.View, *kernel.Call, store.PageQuery) (func(*store.Tx) error, error) { return nil, nil })
	wrong := kernel.Complete(func(*operation.IssuedCard) error { return nil })
	for _, d := range []kernel.Operation{{}, {Read: read, Write: write}, {Read: read, WriteBefore: other},
		{Write: write, Complete: wrong}} {
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
