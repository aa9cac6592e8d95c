// Package operation declares everything that a caller of the server can do. The
// REST API, the till API, the holder's pages, the control API of the fixture and
// the command line call these operations and add no rules of their own.
package operation

import "punchcard/server/kernel"

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

// List is an answer with a list that is not paginated.
type List[T any] struct {
	Data []T `json:"data"`
}

// The callers of operations that no key may invoke.
var (
	devices   = kernel.Callers{Device: true}
	managers  = kernel.Callers{Person: kernel.Manager}
	owners    = kernel.Callers{Person: kernel.Owner}
	operators = kernel.Callers{Person: kernel.Operator}
	holders   = kernel.Callers{Holder: true}
)

// reads admits keys with the scope, and persons from Viewer on.
func reads(scope string) kernel.Callers {
	return kernel.Callers{APIKey: scope, Person: kernel.Viewer}
}

// manages admits keys with the scope, and persons from Manager on.
func manages(scope string) kernel.Callers {
	return kernel.Callers{APIKey: scope, Person: kernel.Manager}
}
