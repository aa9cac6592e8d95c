package operation_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// contacts are the fields of answers that viewers must not see in full.
var contacts = []string{"holder_email", "external_ref", "request_payload", "request_headers"}

// TestViewersSeeNoContacts checks that every answer that viewers get redacts all
// fields with contacts, and that redacting such an answer does not panic.
func TestViewersSeeNoContacts(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	redacted := 0
	var walk func(op string, of reflect.Type)
	walk = func(op string, of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case slices.Contains(contacts, name) && kernel.ViewersSee(f):
				t.Errorf("%s: viewers see the field %s of %s", op, name, of)
			case !kernel.ViewersSee(f):
				redacted++
			default:
				walk(op, f.Type)
			}
		}
	}
	for _, op := range operation.Declared() {
		if !op.Writes() && op.Callers.Person == kernel.Viewer && op.Out != nil {
			walk(op.ID, op.Out)
		}
	}
	if redacted == 0 {
		t.Error("no field is redacted")
	}
}

// TestViewersGetMaskedAnswers compares what viewers and managers see of the same cards
// and deliveries.
func TestViewersGetMaskedAnswers(t *testing.T) {
	h := openHarness(t)
	manager, program := h.withRole(kernel.Manager), h.ProgramIDs["standard"]
	hook := must[store.CreatedWebhook](
		h, manager, operation.CreateWebhook, program,
		operation.WebhookFields{
			WebhookFields: store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"*"})},
		},
	)
	card := must[operation.IssuedCard](
		h, manager, operation.IssueCard, program,
		store.CardFields{
			HolderName:  store.Given("Grace Hopper"),
			HolderEmail: store.Given("grace@navy.example"),
			ExternalRef: store.Given("grace@crm.example"),
		},
	)
	query := func(text string) kernel.Args {
		return args("", store.CardSearch{Q: store.Given(text)})
	}
	answer := func(role kernel.Role, op *kernel.Operation, in kernel.Args) string {
		r, err := h.Invoke(t.Context(), h.withRole(role), op, in)
		if err != nil {
			t.Fatal(op.ID, err)
		}
		return string(r.AppendJSON(nil))
	}
	for _, c := range []struct {
		op *kernel.Operation
		in kernel.Args
	}{
		{operation.GetCard, args(card.ID, nil)},
		{operation.ListCards, kernel.Args{}},
		{operation.SearchCards, query("grace")},
		{operation.SearchCards, query("grace@crm.example")},
	} {
		for _, role := range []kernel.Role{kernel.Manager, kernel.Owner, kernel.Operator} {
			if got := answer(role, c.op, c.in); !strings.Contains(got, `"grace@navy.example"`) ||
				!strings.Contains(got, `"grace@crm.example"`) {
				t.Errorf("%s by role %d: %s", c.op.ID, role, got)
			}
		}
		if got := answer(kernel.Viewer, c.op, c.in); strings.Contains(got, "grace@") || !strings.Contains(got, `"g***@n***.example"`) ||
			!strings.Contains(got, `"g***@c***.example"`) ||
			!strings.Contains(got, "Grace Hopper") {
			t.Errorf("%s by a viewer: %s", c.op.ID, got)
		}
	}
	// A search by beginnings would tell a viewer the address.
	for text, found := range map[string]bool{"grace@": false, "GRACE@navy.example": true} {
		if got := answer(kernel.Viewer, operation.SearchCards, query(text)); strings.Contains(got, card.ID) != found {
			t.Errorf("a viewer searches %q: %s", text, got)
		}
		if got := answer(kernel.Manager, operation.SearchCards, query(text)); !strings.Contains(got, card.ID) {
			t.Errorf("a manager searches %q: %s", text, got)
		}
	}
	deliveries := func(role kernel.Role) store.Delivery {
		return must[operation.DeliveryLog](h, h.withRole(role), operation.ListDeliveries, program+"/"+hook.ID, nil).Items[0]
	}
	full, seen := deliveries(kernel.Manager), deliveries(kernel.Viewer)
	if !strings.Contains(string(full.RequestPayload), "grace@navy.example") || string(seen.RequestPayload) != "{}" ||
		string(seen.RequestHeaders) != "{}" {
		t.Errorf("%s %s %s", full.RequestPayload, seen.RequestPayload, seen.RequestHeaders)
	}
	if full.RequestPayload = json.RawMessage("{}"); !reflect.DeepEqual(full, seen) {
		t.Errorf("a viewer sees %+v, a manager %+v", seen, full)
	}
}
