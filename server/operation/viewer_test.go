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
	for _, op := range operation.All() {
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
	t.Parallel()
	s := open(t)
	fields := store.CardFields{HolderName: store.Given("Grace Hopper"), HolderEmail: store.Given("grace@navy.example"), ExternalRef: store.Given("grace@crm.example")}
	program := map[string]string{"id": s.ProgramIDs["standard"]}
	hook, err := kernel.Do[store.CreatedWebhook](t.Context(), s.Kernel, s.person(kernel.Manager), operation.CreateWebhook,
		kernel.Args{Params: program, Fields: operation.WebhookFields{WebhookFields: store.WebhookFields{URL: store.Given("https://hooks.example.com/"), Events: store.Given([]string{"*"})}}})
	if err != nil {
		t.Fatal(err)
	}
	card, err := kernel.Do[operation.IssuedCard](t.Context(), s.Kernel, s.person(kernel.Manager), operation.IssueCard, kernel.Args{Params: program, Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	query := func(text string) kernel.Args {
		return kernel.Args{Fields: operation.SearchQuery{CardSearch: store.CardSearch{Q: store.Given(text)}}}
	}
	answer := func(role kernel.Role, op *kernel.Operation, in kernel.Args) string {
		r, err := s.Invoke(t.Context(), s.person(role), op, in)
		if err != nil {
			t.Fatal(op.ID, err)
		}
		return string(r.AppendJSON(nil))
	}
	for _, c := range []struct {
		op *kernel.Operation
		in kernel.Args
	}{
		{operation.GetCard, kernel.Args{Params: map[string]string{"id": card.ID}}},
		{operation.ListCards, kernel.Args{}},
		{operation.SearchCards, query("grace")},
		{operation.SearchCards, query("grace@crm.example")},
	} {
		for _, role := range []kernel.Role{kernel.Manager, kernel.Owner, kernel.Operator} {
			if got := answer(role, c.op, c.in); !strings.Contains(got, `"grace@navy.example"`) || !strings.Contains(got, `"grace@crm.example"`) {
				t.Errorf("%s by role %d: %s", c.op.ID, role, got)
			}
		}
		if got := answer(kernel.Viewer, c.op, c.in); strings.Contains(got, "grace@") || !strings.Contains(got, `"g***@n***.example"`) || !strings.Contains(got, `"g***@c***.example"`) || !strings.Contains(got, "Grace Hopper") {
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
		log, err := kernel.Do[operation.DeliveryLog](t.Context(), s.Kernel, s.person(role), operation.ListDeliveries, kernel.Args{Params: map[string]string{"id": program["id"], "webhookId": hook.ID}})
		if err != nil || len(log.Items) == 0 {
			t.Fatal(log, err)
		}
		return log.Items[0]
	}
	full, seen := deliveries(kernel.Manager), deliveries(kernel.Viewer)
	if !strings.Contains(string(full.RequestPayload), "grace@navy.example") || string(seen.RequestPayload) != "{}" || string(seen.RequestHeaders) != "{}" {
		t.Errorf("%s %s %s", full.RequestPayload, seen.RequestPayload, seen.RequestHeaders)
	}
	if full.RequestPayload = json.RawMessage("{}"); !reflect.DeepEqual(full, seen) {
		t.Errorf("a viewer sees %+v, a manager %+v", seen, full)
	}
}
