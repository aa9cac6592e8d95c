// Package api binds the operations to the REST API below /api/public/v1. Its Guard
// identifies callers by their API keys and limits the rate of each key. Package
// kernel makes all other checks; the tests of the whole API are in this package.
package api

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
)

// Prefix is the beginning of all paths of the API.
const Prefix = "/api/public/v1"

const (
	webhooksPath = "/programs/:id/webhooks"
	webhookPath  = webhooksPath + "/:webhookId"
)

// The kinds of routes.
var (
	get    = kernel.RouteOf(http.MethodGet, http.StatusOK)
	create = kernel.RouteOf(http.MethodPost, http.StatusCreated)
	patch  = kernel.RouteOf(http.MethodPatch, http.StatusOK)
	act    = kernel.RouteOf(http.MethodPost, http.StatusOK)       // an action on an existing resource
	queue  = kernel.RouteOf(http.MethodPost, http.StatusAccepted) // takes effect after the answer
	remove = kernel.RouteOf(http.MethodDelete, http.StatusNoContent)
)

// Routes returns the whole REST API, in the order of the documents.
func Routes() []kernel.Route {
	return []kernel.Route{
		get("/me", operation.GetMe),

		get("/locations", operation.ListLocations),
		patch("/locations/:id", operation.UpdateLocation),
		act("/locations/:id/disable", operation.DisableLocation),
		act("/locations/:id/enable", operation.EnableLocation),

		get("/programs", operation.ListPrograms),
		create("/programs", operation.CreateProgram),
		get("/programs/:id", operation.GetProgram),
		patch("/programs/:id", operation.UpdateProgram),
		act("/programs/:id/publish", operation.PublishProgram),
		act("/programs/:id/unpublish", operation.UnpublishProgram),
		act("/programs/:id/suspend", operation.SuspendProgram),
		act("/programs/:id/unsuspend", operation.UnsuspendProgram),

		get("/programs/:id/prizes", operation.ListPrizes),
		create("/programs/:id/prizes", operation.CreatePrize),
		patch("/programs/:id/prizes/:prizeId", operation.UpdatePrize),
		remove("/programs/:id/prizes/:prizeId", operation.DeletePrize),

		create("/programs/:id/cards", operation.IssueCard),
		get("/cards", operation.ListCards),
		get("/cards/:id", operation.GetCard),
		patch("/cards/:id", operation.UpdateCard),
		get("/cards/:id/contact", operation.GetContact),
		patch("/cards/:id/contact", operation.UpdateContact),
		act("/cards/:id/reissue", operation.ReissueCard),
		act("/cards/:id/install-link", operation.CreateInstallLink),

		get("/transactions", operation.ListTransactions),

		get(webhooksPath, operation.ListWebhooks),
		create(webhooksPath, operation.CreateWebhook),
		get(webhookPath, operation.GetWebhook),
		patch(webhookPath, operation.UpdateWebhook),
		remove(webhookPath, operation.DeleteWebhook),
		get(webhookPath+"/deliveries", operation.ListDeliveries),
		queue(webhookPath+"/test", operation.TestWebhook),
		queue(webhookPath+"/deliveries/:deliveryId/redeliver", operation.Redeliver),

		get("/programs/:id/stats", operation.GetProgramStats),
		get("/analytics/summary", operation.GetAnalyticsSummary),
		get("/analytics/heatmap", operation.GetHeatmap),
		get("/analytics/card-types", operation.GetCardTypes),
		get("/analytics/card-types/:type", operation.GetCardTypeStats),
	}
}
