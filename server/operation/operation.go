// Package operation declares everything that a caller of the server can do. Every face calls
// these operations and adds no rules of its own: the REST API, the till API, the dashboard,
// the holder's pages, the tools for assistants, the control API of the fixture and the command
// line.
package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// All returns every operation, in the order of the documents.
func All() []*kernel.Operation {
	return []*kernel.Operation{
		GetMe,
		ListLocations, GetLocation, UpdateLocation, UpdateLocationSettings, DisableLocation, EnableLocation, CreateLocation, SetStaffPIN,
		ListStaff, CreateStaff, SetStaffMemberPIN, DisableStaff, EnableStaff,
		ListPrograms, CreateProgram, GetProgram, UpdateProgram, PublishProgram, UnpublishProgram, SuspendProgram, UnsuspendProgram, UpdateProgramSettings, DeleteProgram,
		GetProgramForm, GetProgramImpact, CreateProgramWithPrizes, GetEnrolment, UpdateEnrolment, GetPoster, SetProgramLogo, RemoveProgramLogo, GetLogo,
		ListPrizes, CreatePrize, UpdatePrize, DeletePrize, OrderPrizes,
		IssueCard, ListCards, GetCard, UpdateCard, ReissueCard, CreateInstallLink, EnrollCard, LockCard, UnlockCard, ArchiveCard, EraseCard,
		SearchCards, GetCardOverview, ListCardTransactions, GetLedgerEntry, ListCardAudit, ExportCard, ExportCards, ReverseByPerson, IssueBlankCards,
		ListTransactions,
		ListWebhooks, CreateWebhook, GetWebhook, UpdateWebhook, DeleteWebhook, ListDeliveries, TestWebhook, Redeliver,
		ListShopWebhooks, GetShopWebhook, ListWebhookLog, GetDelivery,
		GetProgramStats, GetAnalyticsSummary, GetHeatmap, GetCardTypes, GetCardTypeStats, GetToday, GetDayReport, GetPeriod, GetHealth, MakeBackup, DownloadBackup, SendTestMail,
		GetDevice, OpenStaffSession, CloseStaffSession, ListDeviceTransactions, GetDeviceDay, SearchAtTill, LookupCard, IssueCardAtCounter, StampCard, RedeemPrize, TopUpCard, SpendFromCard, UseCard, ReverseTransaction,
		ShowCardPage, WatchCard, ShowHolderCard, InstallCard, ShowJoinPage, Join, ShowLostPage, RequestCardLinks,
		CreateShop, OpenShop, ListShops, UpdateShop, CreateKey, ListKeys, RotateKey, RevokeKey, RevokeAllKeys, CreateDevice, ListDevices, RevokeDevice, CreatePairing, AcceptPairing, ListAudit, ListActivity, ListActivityActors,
		CreateChosenKey, ListKeyInfos,
		SignIn, ConfirmSignIn, SignOut, SignOutEverywhere, ListSessions, EndSession, Prove, SelectShop, SignInAs,
		ChangePassword, GetProfile, UpdateProfile, StartTOTP, ConfirmTOTP, RemoveTOTP, NewRecoveryCodes,
		ShowLink, SetUpOperator, CreateInvited, AcceptInvitation, ResetPassword, RequestReset,
		ListPeople, InvitePerson, CancelInvitation, SetRole, RemovePerson, ListUsers, DisableUser, EnableUser, CreateResetLink, SignOutUser,
		GetShop, UpdateShopSettings,
		GetOverview, FindCards, CountTransactions, CheckIDs, GetSeenCard, ComparePeriods, ListWebhookReports, UpdateProgramAndPrizes, DraftWebhook, PauseWebhook, TestActiveWebhook, RedeliverToActive,
	}
}

// List is an answer with a list that is not paginated.
type List[T any] struct {
	Data []T `json:"data"`
}

// The callers of operations that no key may invoke. A role includes those above it.
var (
	account  = kernel.Callers{Account: true}
	device   = kernel.Callers{Device: true}
	holder   = kernel.Callers{Holder: true}
	visitor  = kernel.Callers{Visitor: true}
	viewer   = kernel.Callers{Person: kernel.Viewer}
	manager  = kernel.Callers{Person: kernel.Manager}
	owner    = kernel.Callers{Person: kernel.Owner}
	operator = kernel.Callers{Person: kernel.Operator}
)

// The headings of the documents, under which operations are declared.
const (
	accounts     = "Accounts"
	analytics    = "Analytics"
	cards        = "Cards"
	devices      = "Devices"
	holderPage   = "Holder"
	keys         = "Keys"
	ledger       = "Ledger"
	locations    = "Locations"
	ownDevice    = "Device"
	people       = "People"
	prizes       = "Prizes"
	programs     = "Programs"
	sessions     = "Sessions"
	staff        = "Staff"
	shops        = "Shops"
	transactions = "Transactions"
	webhooks     = "Webhooks"
)

// readers returns keys with the scope to read a resource, and persons from Viewer on.
func readers(resource string) kernel.Callers {
	return kernel.Callers{APIKey: resource + ":read", Person: kernel.Viewer}
}

// writers returns keys with the scope to write a resource, and persons from Manager on.
func writers(resource string) kernel.Callers {
	return kernel.Callers{APIKey: resource + ":write", Person: kernel.Manager}
}

// assisted adds to callers the keys of assistants, which need the same scope as other keys.
func assisted(c kernel.Callers) kernel.Callers {
	c.MCPKey = c.APIKey
	return c
}

// byID returns the function of an operation that calls f with the caller's access
// and the id in the path.
func byID[O any](f func(*store.View, store.Access, string) (O, error)) func(*store.View, *kernel.Call, struct{}) (O, error) {
	return func(v *store.View, c *kernel.Call, _ struct{}) (O, error) { return f(v, c.Access, c.Param("id")) }
}

// withID does the same for a write, with the fields.
func withID[F, O any](f func(*store.Tx, store.Access, string, F) (O, error)) func(*store.Tx, *kernel.Call, F) (O, error) {
	return func(tx *store.Tx, c *kernel.Call, fields F) (O, error) { return f(tx, c.Access, c.Param("id"), fields) }
}

// inShop does the same for a write without fields that only persons make. It passes
// the key of their shop instead of the access.
func inShop[O any](f func(*store.Tx, int64, string) (O, error)) func(*store.Tx, *kernel.Call, struct{}) (O, error) {
	return func(tx *store.Tx, c *kernel.Call, _ struct{}) (O, error) { return f(tx, c.Access.Shop, c.Param("id")) }
}
