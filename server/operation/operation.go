// Package operation declares everything that a caller of the server can do. The
// REST API, the till API, the holder's pages, the control API of the fixture and
// the command line bind these operations; none of them has rules of its own.
package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// All returns every operation, in the order of the documents.
func All() []*kernel.Operation {
	return []*kernel.Operation{
		GetMe,
		ListLocations, UpdateLocation, DisableLocation, EnableLocation, CreateLocation, SetStaffPIN,
		ListPrograms, CreateProgram, GetProgram, UpdateProgram, PublishProgram, UnpublishProgram, SuspendProgram, UnsuspendProgram, SetMinSpend, DeleteProgram,
		ListPrizes, CreatePrize, UpdatePrize, DeletePrize,
		IssueCard, ListCards, GetCard, UpdateCard, ReissueCard, CreateInstallLink, EnrollCard, LockCard, UnlockCard, ArchiveCard, EraseCard,
		ListTransactions,
		ListWebhooks, CreateWebhook, GetWebhook, UpdateWebhook, DeleteWebhook, ListDeliveries, TestWebhook, Redeliver,
		GetProgramStats, GetAnalyticsSummary, GetHeatmap, GetCardTypes, GetCardTypeStats,
		GetDevice, LookupCard, IssueCardAtCounter, StampCard, RedeemPrize, TopUpCard, SpendFromCard, UseCard, ReverseTransaction,
		ShowHolderCard, InstallCard,
		CreateShop, ListShops, UpdateShop, CreateKey, ListKeys, RotateKey, RevokeKey, RevokeAllKeys, CreateDevice, ListDevices, RevokeDevice, ListAudit,
	}
}

// List is an answer that is a whole list.
type List[T any] struct {
	Data []T `json:"data"`
}

// reads admits keys with a scope, and everybody who may see the shop.
func reads(scope string) kernel.Callers {
	return kernel.Callers{APIKey: scope, Person: kernel.Viewer}
}

// manages admits keys with a scope, and the people who run the shop.
func manages(scope string) kernel.Callers {
	return kernel.Callers{APIKey: scope, Person: kernel.Manager}
}

// codes lists the refusals of an operation.
func codes(c ...store.Code) []store.Code { return c }
