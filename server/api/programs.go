package api

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ProgramsQuery is the query of GET /programs.
type ProgramsQuery struct {
	store.PageQuery
	Type store.Opt[string] `json:"type" enum:"standard,private,discount,access,prepaid" doc:"Only programs of this type."`
}

var programs = []kernel.Route{
	get("/programs", "listPrograms", "Programs", "programs:read", "List programs",
		kernel.Read(func(v *store.View, c *kernel.Call, q ProgramsQuery) (store.Page[store.Program], error) {
			return v.Programs(c.Access, q.Type, q.PageQuery)
		}), doc("Newest first, unpublished ones and all types included. Programs are shop-wide: a location-restricted key sees the same.")),
	do(post, "/programs", "createProgram", "Programs", "programs:write", "Create a program", created,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.ProgramFields) (store.ProgramDetail, error) {
			return tx.CreateProgram(c.Access, b)
		}), doc("The program is created unpublished. Stamp programs (`standard`, `private`) need total_stamps and icon_key, `discount` needs discount_percent, `access` needs access_image_url, `prepaid` needs initial_balance_cents; a field that belongs to another type is `not_allowed`, unless it is null (or, for repeat_after_reset, false). Images are supplied as URLs. The localisations, stamps_expire_after_days, visible_in_catalog and border_enabled are stored but shown by no answer.")),
	get("/programs/:id", "getProgram", "Programs", "programs:read", "Read a program",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.ProgramDetail, error) {
			return v.Program(c.Access, c.Param("id"))
		}), codes(store.NotFound)),
	do(patch, "/programs/:id", "updateProgram", "Programs", "programs:write", "Update a program", ok,
		kernel.Write(wire.Patch, func(tx *store.Tx, c *kernel.Call, b store.ProgramFields) (store.ProgramDetail, error) {
			return tx.UpdateProgram(c.Access, c.Param("id"), b)
		}), codes(store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable), doc("Once a card of the program was installed the template is frozen: any named field is program_has_installed_cards. total_stamps below a prize's threshold is unprocessable_entity. Going back to all_locations forgets scoped_location_ids.")),
	action(store.Publish, "Publish a program", "Unpublished becomes published: cards can be issued. Published: no change. Suspended: conflict."),
	action(store.Unpublish, "Unpublish a program", "Published becomes unpublished; existing cards keep working. Unpublished: no change. Suspended: conflict."),
	action(store.Suspend, "Suspend a program", "Published becomes suspended: existing cards stop earning and redeeming. Suspended: no change. Unpublished: conflict."),
	action(store.Unsuspend, "Unsuspend a program", "Suspended becomes published: earning and redeeming resume; nothing is replayed. Published: no change. Unpublished: conflict."),
}

func action(name, title, text string) kernel.Route {
	return do(post, "/programs/:id/"+name, name+"Program", "Programs", "programs:write", title, ok,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.ProgramDetail, error) {
			return tx.ProgramAction(c.Access, c.Param("id"), name)
		}), codes(store.NotFound, store.Conflict), doc(text))
}

// Ladder is a program's prizes; not paginated.
type Ladder struct {
	Data []store.Prize `json:"data"`
}

var prizes = []kernel.Route{
	get("/programs/:id/prizes", "listPrizes", "Prizes", "programs:read", "List a program's prizes",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (Ladder, error) {
			p, err := v.Program(c.Access, c.Param("id"))
			return Ladder{p.Prizes}, err
		}), codes(store.NotFound), doc("In the order of (ordinal, id); not paginated.")),
	do(post, "/programs/:id/prizes", "createPrize", "Prizes", "programs:write", "Add a prize", created,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.PrizeFields) (store.Prize, error) {
			return tx.AddPrize(c.Access, c.Param("id"), b)
		}), codes(store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable), doc("Stamp programs only. The threshold must be reachable (not above total_stamps). Several prizes may share a threshold: the holder redeems one option of each.")),
	do(patch, "/programs/:id/prizes/:prizeId", "updatePrize", "Prizes", "programs:write", "Update a prize", ok,
		kernel.Write(wire.Patch, func(tx *store.Tx, c *kernel.Call, b store.PrizeFields) (store.Prize, error) {
			return tx.UpdatePrize(c.Access, c.Param("id"), c.Param("prizeId"), b)
		}), codes(store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable)),
	do(remove, "/programs/:id/prizes/:prizeId", "deletePrize", "Prizes", "programs:write", "Delete a prize", gone,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
			return kernel.None{}, tx.DeletePrize(c.Access, c.Param("id"), c.Param("prizeId"))
		}), codes(store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable), doc("A prize that was redeemed before stays: conflict.")),
}
