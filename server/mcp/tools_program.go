package mcp

import (
	"fmt"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

const prizeSchema = `{"type":"array","items":{"type":"object","properties":{"threshold":{"type":"integer",
	"description":"Stamps; at most total_stamps."},"name":{"type":"string"},"description":{"type":"string"}},
	"required":["threshold","name"],"additionalProperties":false}}`

// programTools returns the tools that write programs.
func programTools() []*tool {
	return []*tool{
		{name: "create_program", title: "Draft a program", scope: "programs:write", writes: true, run: createProgram,
			doc: "Creates a card program with its prizes as an unpublished draft: no cards can be issued until " +
				"set_program_state publishes it. standard and private need total_stamps and icon_key, discount needs " +
				"discount_percent, access needs access_image_url, prepaid needs initial_balance_cents.",
			schema: `{"type":"object","properties":{"type":{"type":"string","enum":["standard","private","discount","access",
				"prepaid"]},"name":{"type":"string","maxLength":200},` +
				programSchema + `,"repeat_after_reset":{"type":"boolean"},"prizes":` +
				prizeSchema + `,"idempotency_key":{"type":"string"}},"required":["type","name"],"additionalProperties":false}`},
		{
			name:        "update_program",
			title:       "Change a program",
			scope:       "programs:write",
			writes:      true,
			destructive: true,
			run:         updateProgram,
			doc: "Changes fields of a program, adds prizes, or removes prizes that were never redeemed. A program of which " +
				"a card is installed on a phone is frozen. Removing prizes has to be confirmed: " + confirmDoc,
			schema: `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},` +
				programSchema + `,"repeat_after_reset":{"type":"boolean"},"add_prizes":` + prizeSchema +
				`,"remove_prizes":{"type":"array","items":{"type":"string"},"description":"Ids of prizes."},` +
				confirmSchema + `},"required":["id"],"additionalProperties":false}`,
		},
		{
			name:        "set_program_state",
			title:       "Publish or suspend a program",
			scope:       "programs:write",
			writes:      true,
			destructive: true,
			idempotent:  true,
			run:         setProgramState,
			doc: "publish: cards can be issued. unpublish: no new cards, existing ones go on working. suspend: existing " +
				"cards stop earning and redeeming. unsuspend: they go on. " + confirmDoc,
			schema: `{"type":"object","properties":{"id":{"type":"string"},"action":{"type":"string","enum":["publish",
				"unpublish","suspend","unsuspend"]},` + confirmSchema + `},"required":["id","action"],"additionalProperties":false}`,
		},
	}
}

const programSchema = `"description":{"type":"string","maxLength":2000},"category":{"type":"string"},
	"total_stamps":{"type":"integer","minimum":1,"maximum":1000},"icon_key":{"type":"string"},
	"discount_percent":{"type":"number"},"access_image_url":{"type":"string"},"initial_balance_cents":{"type":"integer",
	"minimum":0},"default_expire_after_days":{"type":"integer"},"stamps_expire_after_days":{"type":"integer"},
	"brand_color_hex":{"type":"string"},"location_scope":{"type":"string","enum":["all_locations","selected_locations"]},
	"scoped_location_ids":{"type":"array","items":{"type":"string"}}`

func createProgram(c *call) (any, error) {
	own, in := splitArgs[writeArgs](c)
	return change(c, operation.CreateProgramWithPrizes, in, own, programViewOf)
}

func updateProgram(c *call) (any, error) {
	own, in := splitArgs[resourceArgs](c)
	var changes operation.ProgramChanges
	in.Decode(&changes, operation.UpdateProgramAndPrizes.Mode, c.Kernel.Fields()) // the operation reports faults
	removed := len(changes.RemovePrizes.V)
	if removed == 0 && !own.ConfirmToken.Set {
		return change(c, operation.UpdateProgramAndPrizes, in, own.writeArgs, programViewOf)
	}
	impact := func() (string, error) {
		return fmt.Sprintf("Prizes that are removed, which no holder can redeem any more: %d.", removed), nil
	}
	return confirm(c, operation.UpdateProgramAndPrizes, in, own.writeArgs, impact, programViewOf)
}

// actionArgs are the arguments of set_program_state.
type actionArgs struct {
	resourceArgs
	Action store.Opt[string] `json:"action" req:"true" enum:"publish,unpublish,suspend,unsuspend"`
}

// programActions are the operations of the actions, and what they mean for cards in use: for
// one, for several, and for a number that the key may not know.
var programActions = map[string]struct {
	op                 *kernel.Operation
	one, many, unknown string
}{
	store.Publish: {
		operation.PublishProgram,
		"Cards can be issued from then on; 1 card is in use.",
		"Cards can be issued from then on; %d cards are in use.",
		"Cards can be issued from then on.",
	},
	store.Unpublish: {
		operation.UnpublishProgram,
		"No more cards are issued; 1 card goes on working.",
		"No more cards are issued; %d cards go on working.",
		"No more cards are issued; existing cards go on working.",
	},
	store.Suspend: {
		operation.SuspendProgram,
		"1 card stops earning and redeeming at once.",
		"%d cards stop earning and redeeming at once.",
		"Its cards stop earning and redeeming at once.",
	},
	store.Unsuspend: {
		operation.UnsuspendProgram,
		"1 card earns and redeems again.",
		"%d cards earn and redeem again.",
		"Its cards earn and redeem again.",
	},
}

func setProgramState(c *call) (any, error) {
	own, in := splitArgs[actionArgs](c)
	action, ok := programActions[own.Action.V]
	if !ok || in.own != nil {
		return nil, store.Invalid(in.own...)
	}
	impact := func() (string, error) {
		if c.caller.Access.Restricted { // the number tells of other locations
			return action.unknown, nil
		}
		im, err := do[store.ProgramImpact](c, operation.GetProgramImpact, kernel.Args{Params: in.params})
		if im.ActiveCards == 1 {
			return action.one, err
		}
		return fmt.Sprintf(action.many, im.ActiveCards), err
	}
	return confirm(c, action.op, in, own.writeArgs, impact, programViewOf)
}
