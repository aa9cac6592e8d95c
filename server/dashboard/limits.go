package dashboard

import (
	"net/http"

	"punchcard/server/operation"
	"punchcard/server/web"
)

// limitWords says what each limit is, by the flag that sets it.
var limitWords = map[string]string{
	"--api-key-max-per-shop":             web.Text("Usable API keys of a shop"),
	"--mcp-key-max-per-shop":             web.Text("Usable MCP keys of a shop"),
	"--credential-rotation-grace-hours":  web.Text("Hours that a rotated key keeps working; 0 ends it at once"),
	"--api-key-rate-limit-per-minute":    web.Text("Requests of a key per minute; 0 is unlimited"),
	"--till-rate-limit-per-minute":       web.Text("Requests of a till per minute; 0 is unlimited"),
	"--public-api-max-page-size":         web.Text("Entries on the largest page of a list"),
	"--idempotency-dedupe-window-hours":  web.Text("Hours that an idempotency key is remembered"),
	"--idempotency-key-max-length":       web.Text("Characters of an idempotency key"),
	"--webhook-max-per-shop":             web.Text("Webhooks of a shop"),
	"--webhook-delivery-attempts":        web.Text("Attempts to deliver an event to a webhook"),
	"--webhook-backoff-base":             web.Text("Wait after the first failed attempt; it doubles with each further one"),
	"--webhook-delivery-timeout-ms":      web.Text("Milliseconds that an attempt may take"),
	"--webhook-max-consecutive-failures": web.Text("Failed deliveries in a row that switch a webhook off"),
	"--webhook-delivery-retention-days":  web.Text("Days that the log of deliveries is kept"),
	"--webhook-max-custom-headers":       web.Text("Headers of its own that a webhook may have"),
	"--webhook-custom-headers-max-bytes": web.Text("Bytes of all these headers of a webhook"),
	"--delivery-log-max-limit":           web.Text("Entries on the largest page of the log of deliveries"),
	"--prize-max-thresholds":             web.Text("Numbers of stamps of a program at which there is a prize"),
	"--prize-max-options":                web.Text("Prizes to choose from at one number of stamps"),
	"--prize-name-max-length":            web.Text("Characters of a prize's name"),
	"--prize-description-max-length":     web.Text("Characters of a prize's description"),
	"--localization-max-length":          web.Text("Characters of a name or description in another language"),
	"--connections-per-address":          web.Text("Connections at once of one address; further ones are closed; 0 is unlimited"),
	"--mail-per-hour":                    web.Text("Mails of a shop per hour; further ones wait; 0 is unlimited"),
	"--holder-streams":                   web.Text("Pages of cards that are kept up to date at the same time"),
	"--mcp-key-rate-limit-per-minute":    web.Text("Calls of an MCP key per minute; 0 is unlimited"),
	"--mcp-key-daily-call-budget":        web.Text("Calls of an MCP key per day; 0 is unlimited"),
}

func showLimits(v *visit) error {
	if err := v.require(operation.GetHealth); err != nil {
		return err
	}
	limits := v.Status().Limits
	for i := range limits {
		limits[i].Help = v.print.T(limitWords[limits[i].Flag])
	}
	return v.render(
		http.StatusOK,
		"health_limits",
		healthPage{Frame: v.frame(web.Text("Health"), healthPath), Tabs: v.healthTabs(""), Limits: limits},
	)
}
