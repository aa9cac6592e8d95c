// Package api binds the operations to the REST API below /api/public/v1.
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

func get(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodGet, Path: path, Status: http.StatusOK, Operation: op}
}

func create(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodPost, Path: path, Status: http.StatusCreated, Operation: op}
}

func patch(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodPatch, Path: path, Status: http.StatusOK, Operation: op}
}

// act returns the route of an action on an existing resource.
func act(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodPost, Path: path, Status: http.StatusOK, Operation: op}
}

// queue returns the route of an operation that takes effect after the answer.
func queue(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodPost, Path: path, Status: http.StatusAccepted, Operation: op}
}

func remove(path string, op *kernel.Operation) kernel.Route {
	return kernel.Route{Method: http.MethodDelete, Path: path, Status: http.StatusNoContent, Operation: op}
}
