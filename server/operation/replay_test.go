package operation_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wire"
	"punchcard/store"
)

// TestErasureFindsAnyAnswer checks that erasing a card erases remembered answers
// with its data, whatever their form.
func TestErasureFindsAnyAnswer(t *testing.T) {
	h := openHarness(t)
	type greeting struct {
		Text  string   `json:"text"`
		Cards []string `json:"cards"`
	}
	callers := kernel.Callers{APIKey: kernel.AnyKey}
	greet := kernel.NewOperation(kernel.Operation{
		ID:      "greet",
		Callers: callers,
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, _ struct{}) (g greeting, err error) {
			issued, err := tx.IssueCard(c.Access, c.Param("id"), store.CardFields{HolderName: store.Given("Ada Lovelace")}, store.SourceAPI)
			return greeting{"Hello " + issued.HolderName.V, []string{issued.ID}}, err
		}),
	})
	again := kernel.NewOperation(kernel.Operation{
		ID:      "greetAgain",
		Callers: callers,
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, _ struct{}) (greeting, error) {
			tx.Touches(c.Param("card")) // since the operation does not read the card from the store
			return greeting{Text: "Hello again, Ada Lovelace"}, nil
		}),
	})
	key := kernel.KeyCaller(h.key())
	invoke := func(op *kernel.Operation, params map[string]string) (kernel.Result, error) {
		return h.Invoke(t.Context(), key, op, keyed{kernel.Args{Params: params}, op.ID})
	}
	first, err := invoke(greet, map[string]string{"id": h.ProgramIDs["standard"]})
	noError(t, err)
	var ids []string
	for _, c := range must[store.Page[store.Card]](h, h.server(), operation.ListCards, "", nil).Data {
		ids = append(ids, c.ID)
	}
	if len(ids) != 1 {
		t.Fatal(ids)
	}
	if _, err := invoke(again, map[string]string{"card": ids[0]}); err != nil {
		t.Fatal(err)
	}
	if r, err := invoke(greet, nil); err != nil || !r.Replayed || string(r.AppendJSON(nil)) != string(first.AppendJSON(nil)) ||
		!strings.Contains(string(r.AppendJSON(nil)), "Ada") {
		t.Fatalf("replayed %t %s, %v", r.Replayed, r.AppendJSON(nil), err)
	}
	h.ok(h.server(), operation.EraseCard, ids[0], nil)
	for _, op := range []*kernel.Operation{greet, again} {
		r, err := invoke(op, nil)
		if refusal(err) != store.NotFound || !r.Replayed {
			t.Errorf("%s: replayed %t %s, %v", op.ID, r.Replayed, r.AppendJSON(nil), err)
		}
	}
}

// TestAnswersOfSeveralPersons checks that an answer with the cards of several
// persons cannot be remembered: erasing one would have to erase the other's too.
func TestAnswersOfSeveralPersons(t *testing.T) {
	h := openHarness(t)
	issueTwo := kernel.NewOperation(kernel.Operation{
		ID:      "issueTwo",
		Callers: kernel.Callers{APIKey: kernel.AnyKey},
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
			for range 2 {
				if _, err := tx.IssueCard(c.Access, h.ProgramIDs["standard"], store.CardFields{}, store.SourceAPI); err != nil {
					return kernel.None{}, err
				}
			}
			return kernel.None{}, nil
		}),
	})
	if _, err := h.Invoke(t.Context(), kernel.KeyCaller(h.key()), issueTwo, keyed{kernel.Args{}, "two"}); err == nil {
		t.Error("the answer was remembered")
	}
	if _, err := h.Invoke(t.Context(), kernel.KeyCaller(h.key()), issueTwo, kernel.Args{}); err != nil {
		t.Errorf("without a key: %v", err)
	}
}

// keyed adds an idempotency key to an input.
type keyed struct {
	kernel.Args
	key string
}

func (k keyed) IdempotencyKey() (*kernel.IdempotencyKey, error) {
	return &kernel.IdempotencyKey{Value: k.key, Method: k.key, Success: 200, Status: kernel.StatusOf}, nil
}

// TestDoOfAReplay checks that Do returns the answer of a replay as a value.
func TestDoOfAReplay(t *testing.T) {
	h := openHarness(t)
	in := keyed{args(h.ProgramIDs["standard"], store.CardFields{HolderName: store.Given("Ada")}), "one"}
	issue := func() operation.IssuedCard {
		c, err := kernel.Do[operation.IssuedCard](context.Background(), h.Kernel, kernel.KeyCaller(h.key()), operation.IssueCard, in)
		noError(t, err)
		return c
	}
	if first, again := issue(), issue(); !reflect.DeepEqual(first, again) || !strings.HasPrefix(again.InstallQRSVG, "<svg") {
		t.Errorf("first %+v, then %+v", first, again)
	}
	in.Fields, in.key = nil, "two"
	key := kernel.KeyCaller(h.key())
	key.Epoch = 0 // suspending a program changes the epoch
	suspend := func() (store.ProgramDetail, error) {
		return kernel.Do[store.ProgramDetail](context.Background(), h.Kernel, key, operation.SuspendProgram, in)
	}
	first, err := suspend()
	noError(t, err)
	if again, err := suspend(); err != nil || string(wire.Append(nil, &first)) != string(wire.Append(nil, &again)) {
		t.Errorf("first %+v, then %+v, %v", first, again, err)
	}
}
