package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CreateShop creates a shop. What its fields do not set is enabled.
var CreateShop = declare(kernel.Operation{
	ID:      "createShop",
	Group:   shops,
	Title:   "Create a shop",
	Callers: operator,
	Codes:   codes{store.Conflict},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.ShopFields) (sh store.Shop, err error) {
		_, sh, err = tx.CreateShop(f)
		return sh, err
	}),
})

// NewShopFields are the fields of OpenShop.
type NewShopFields struct {
	Name     store.Opt[string] `json:"name" req:"true" min:"1" max:"200" format:"line"`
	Timezone store.Opt[string] `json:"timezone" req:"true" min:"1" max:"64"`
	Currency store.Opt[string] `json:"currency" min:"3" max:"3" doc:"ISO 4217. Default EUR."`
	Language store.Opt[string] `json:"language" enum:"en,it,es,fr,de,pt" doc:"Of the shop's pages and mail. Default en."`
	Country  store.Opt[string] `json:"country_code" format:"country" doc:"Two letters A-Z, ISO 3166-1."`
}

// fields returns the fields of the shop.
func (f NewShopFields) fields() store.ShopFields {
	return store.ShopFields{Name: f.Name, Timezone: f.Timezone, Currency: f.Currency, Language: f.Language, CountryCode: f.Country}
}

// Check validates the time zone and the currency.
func (f NewShopFields) Check(now store.Time) []store.Detail { return f.fields().Check(now) }

// OpenShop creates a shop of which an operator knows the name. The session of the operator
// looks at it from then on.
var OpenShop = declare(kernel.Operation{
	ID:      "openShop",
	Group:   shops,
	Title:   "Open a shop",
	Doc:     "The session of the operator looks at it from then on.",
	Callers: operator,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f NewShopFields) (sh store.Shop, err error) {
		key, sh, err := tx.CreateShop(f.fields())
		if err != nil || c.Session == nil {
			return sh, err
		}
		return sh, tx.SelectShop(&store.SessionIdentity{Session: c.Session.Session, Shops: []store.ShopRole{{Shop: key, ID: sh.ID}}}, sh.ID)
	}),
})

// ListShops lists all shops, oldest first.
var ListShops = declare(kernel.Operation{
	ID:      "listShops",
	Group:   shops,
	Title:   "List the shops",
	Callers: operator,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (List[store.Shop], error) {
		return list(v.Shops())
	}),
})

// ShopPatch are the fields of UpdateShop.
type ShopPatch struct {
	store.ShopFields
	Reason store.Opt[string] `json:"reason" min:"1" max:"200" format:"line" doc:"Why subscription_state changes, for subscription.state_changed. Default empty."`
	Yes    store.Opt[bool]   `json:"yes" doc:"Change public_url although passes on phones keep the present one for ever."`
}

// UpdateShop changes a shop's plan, subscription or limits.
var UpdateShop = declare(kernel.Operation{
	ID:      "updateShop",
	Group:   shops,
	Title:   "Update a shop",
	Callers: operator,
	Codes:   notFoundOrConflict,
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ShopPatch) (store.Shop, error) {
		if err := tx.CheckPasses(c.Access.Shop, f.PublicURL, f.Yes.V); err != nil {
			return store.Shop{}, err
		}
		return tx.UpdateShop(c.Access.Shop, f.ShopFields, f.Reason.V)
	}),
})

// GetForgetting returns which cards are erased within a month, since nobody has shown them for long.
var GetForgetting = declare(kernel.Operation{
	ID:      "getForgetting",
	Group:   shops,
	Title:   "List the cards that are erased soon",
	Doc:     "Since they were not seen for forget_after_months of the shop.",
	Callers: viewer,
	Read:    ofCaller((*store.View).Forgetting),
})

// DeleteShop deletes the shop with all that it has.
var DeleteShop = declare(kernel.Operation{
	ID:    "deleteShop",
	Group: shops,
	Title: "Delete the shop",
	Doc: "Nothing of it can be reached from then on. Its rows are erased in small steps. The accounts of its people stay. " +
		"Backups keep what they have.",
	Callers: owner,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.ShopName) (store.Shop, error) {
		return tx.DeleteShop(c.Access.Shop, f.Name.V)
	}),
})

// The steps by which a shop is moved to a file of its own; see [backup.Split].
var (
	BeginMove = declare(kernel.Operation{
		ID:      "beginMove",
		Group:   shops,
		Title:   "Begin to move the shop",
		Doc:     "Its writes are refused from then on. A shop that moves or has moved to the address stays as it is.",
		Callers: operator,
		Codes:   notFoundOrConflict,
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.MoveFields) (store.Move, error) {
			return tx.BeginMove(c.Access.Shop, f.MovedTo.V)
		}),
	})
	CorrectMove = declare(kernel.Operation{
		ID:      "correctMove",
		Group:   shops,
		Title:   "Correct the address that the shop has moved to",
		Callers: operator,
		Codes:   notFoundOrConflict,
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.MoveFields) (store.Move, error) {
			return tx.CorrectMove(c.Access.Shop, f.MovedTo.V)
		}),
	})
	AbortMove = declare(kernel.Operation{
		ID:      "abortMove",
		Group:   shops,
		Title:   "Abort the move of the shop",
		Callers: operator,
		Codes:   notFoundOrConflict,
		Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.Move, error) {
			return tx.AbortMove(c.Access.Shop)
		}),
	})
	FinishMove = declare(kernel.Operation{
		ID:      "finishMove",
		Group:   shops,
		Title:   "Finish the move of the shop",
		Doc:     "Everything about the shop leads to its new address from then on.",
		Callers: operator,
		Codes:   notFoundOrConflict,
		Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.MoveEnd) (store.Move, error) {
			return tx.FinishMove(c.Access.Shop, f.Began.V)
		}),
	})
)

// ListAudit lists the audit log of the shop.
var ListAudit = declare(kernel.Operation{
	ID:      "listAudit",
	Group:   shops,
	Title:   "List the audit log",
	Doc:     "Newest first.",
	Callers: manager,
	Read:    query((*store.View).AuditLog),
})
