package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ListPrograms lists the programs of the shop.
var ListPrograms = declare(kernel.Operation{
	ID:    "listPrograms",
	Group: programs,
	Title: "List programs",
	Doc: "Newest first, unpublished ones and all types included. Programs are shop-wide: a location-restricted key sees the " +
		"same.",
	Callers: assisted(readers("programs")),
	Read:    query((*store.View).Programs),
})

// CreateProgram creates an unpublished program.
var CreateProgram = declare(kernel.Operation{
	ID:    "createProgram",
	Group: programs,
	Title: "Create a program",
	Doc: "The program is created unpublished. Stamp programs (`standard`, `private`) need total_stamps and icon_key, `discount` " +
		"needs discount_percent, `access` needs access_image_url, `prepaid` needs initial_balance_cents; a field that belongs " +
		"to another type is `not_allowed`, unless it is null (or, for repeat_after_reset, false). Images are supplied as URLs. " +
		"The localisations, stamps_expire_after_days, visible_in_catalog and border_enabled are stored but shown by no answer.",
	Callers: writers("programs"),
	Write:   withFields((*store.Tx).CreateProgram),
})

// GetProgram returns one program with its prizes.
var GetProgram = declare(kernel.Operation{
	ID:      "getProgram",
	Group:   programs,
	Title:   "Read a program",
	Callers: assisted(readers("programs")),
	Codes:   notFound,
	Read:    byID((*store.View).Program),
})

// GetProgramImpact says how many cards a change of a program's state concerns.
var GetProgramImpact = declare(kernel.Operation{
	ID:      "getProgramImpact",
	Group:   programs,
	Title:   "Read what a change of a program's state concerns",
	Callers: kernel.Callers{MCPKey: "programs:write", Person: kernel.Viewer},
	Codes:   notFound,
	Read:    byID((*store.View).ProgramImpact),
})

// NewProgram are the fields of CreateProgramWithPrizes.
type NewProgram struct {
	store.ProgramFields
	store.ProgramSettings
	Prizes store.Opt[[]*store.PrizeFields] `json:"prizes" max:"100" doc:"In their order. Stamp programs only."`
}

// CreateProgramWithPrizes creates an unpublished program with its settings and prizes,
// or nothing at all.
var CreateProgramWithPrizes = declare(kernel.Operation{
	ID:      "createProgramWithPrizes",
	Group:   programs,
	Title:   "Create a program with its prizes",
	Callers: kernel.Callers{MCPKey: "programs:write", Person: kernel.Manager},
	Codes:   unprocessable,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f NewProgram) (d store.ProgramDetail, err error) {
		if d, err = tx.CreateProgram(c.Access, f.ProgramFields); err != nil {
			return d, err
		}
		for _, z := range f.Prizes.V {
			if _, err = tx.AddPrize(c.Access, d.ID, *z); err != nil {
				return d, err
			}
		}
		return tx.UpdateProgramSettings(c.Access.Shop, d.ID, f.ProgramSettings)
	}),
})

// CopyProgram copies a program into another shop. A person who is signed in must manage both.
var CopyProgram = declare(kernel.Operation{
	ID:      "copyProgram",
	Group:   programs,
	Title:   "Copy a program into another shop",
	Doc:     "With its prizes, texts, logo and settings, unpublished and for all locations, without its form for new cards.",
	Callers: manager,
	Codes:   notFoundOrUnprocessable,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.ProgramTarget) (d store.ProgramDetail, err error) {
		to, _ := tx.Key(store.KindShop, f.Shop.V)
		if !c.Manages(to) {
			return d, kernel.Refuse(store.NotFound, "No such shop, or you do not manage it.")
		}
		return tx.CopyProgram(c.Access.Shop, c.Param("id"), to)
	}),
})

// UpdateProgram changes a program's fields.
var UpdateProgram = declare(kernel.Operation{
	ID:    "updateProgram",
	Group: programs,
	Title: "Update a program",
	Doc: "Once a card of the program was installed the template is frozen: any named field is program_has_installed_cards. " +
		"total_stamps below a prize's threshold is unprocessable_entity. Going back to all_locations forgets " +
		"scoped_location_ids. A restricted key that names location_scope or scoped_location_ids gets 403.",
	Callers: writers("programs"),
	Codes:   codes{store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable},
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateProgram),
})

// The actions that change a program's state.
var (
	PublishProgram = programAction(
		store.Publish, "Publish a program",
		"Unpublished becomes published: cards can be issued. Published: no change. Suspended: conflict.",
	)
	UnpublishProgram = programAction(
		store.Unpublish, "Unpublish a program",
		"Published becomes unpublished; existing cards keep working. Unpublished: no change. Suspended: conflict.",
	)
	SuspendProgram = programAction(
		store.Suspend, "Suspend a program",
		"Published becomes suspended: existing cards stop earning and redeeming. Suspended: no change. Unpublished: conflict.",
	)
	UnsuspendProgram = programAction(
		store.Unsuspend, "Unsuspend a program",
		"Suspended becomes published: earning and redeeming resume; nothing is replayed. Published: no change. Unpublished: conflict.",
	)
)

// programAction returns the operation of an action that changes a program's state.
func programAction(action, title, doc string) *kernel.Operation {
	return declare(kernel.Operation{
		ID:      action + "Program",
		Group:   programs,
		Title:   title,
		Doc:     doc,
		Callers: assisted(writers("programs")),
		Codes:   notFoundOrConflict,
		Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.ProgramDetail, error) {
			return tx.ProgramAction(c.Access, c.Param("id"), action)
		}),
	})
}

// UpdateProgramSettings changes what only people set of a program, also of a frozen one.
var UpdateProgramSettings = declare(kernel.Operation{
	ID:      "updateProgramSettings",
	Group:   programs,
	Title:   "Set the purchase that a stamp demands, the stamps of a day, and those of a new card",
	Callers: manager,
	Codes:   notFoundOrUnprocessable,
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateProgramSettings),
})

// DeleteProgram deletes a program and archives its cards.
var DeleteProgram = declare(kernel.Operation{
	ID:      "deleteProgram",
	Group:   programs,
	Title:   "Delete a program",
	Callers: manager,
	Codes:   notFound,
	Write:   removal((*store.Tx).DeleteProgram),
})
