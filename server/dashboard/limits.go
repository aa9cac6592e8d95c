package dashboard

import (
	"punchcard/server/operation"
	"punchcard/server/web"
)

// limitWords says what each limit is, by the flag that sets it.
var limitWords = map[string]web.Text{
	"--api-key-max-per-shop":             "Usable API keys of a shop",
	"--mcp-key-max-per-shop":             "Usable MCP keys of a shop",
	"--credential-rotation-grace-hours":  "Hours that a rotated key keeps working; 0 ends it at once",
	"--api-key-rate-limit-per-minute":    "Requests of a key per minute; 0 is unlimited",
	"--till-rate-limit-per-minute":       "Requests of a till per minute; 0 is unlimited",
	"--public-api-max-page-size":         "Entries on the largest page of a list",
	"--idempotency-dedupe-window-hours":  "Hours that an idempotency key is remembered",
	"--idempotency-key-max-length":       "Characters of an idempotency key",
	"--webhook-max-per-shop":             "Webhooks of a shop",
	"--webhook-delivery-attempts":        "Attempts to deliver an event to a webhook",
	"--webhook-backoff-base":             "Wait after the first failed attempt; it doubles with each further one",
	"--webhook-delivery-timeout-ms":      "Milliseconds that an attempt may take",
	"--webhook-max-consecutive-failures": "Failed deliveries in a row that switch a webhook off",
	"--webhook-delivery-retention-days":  "Days that the log of deliveries is kept",
	"--webhook-max-custom-headers":       "Headers of its own that a webhook may have",
	"--webhook-custom-headers-max-bytes": "Bytes of all these headers of a webhook",
	"--delivery-log-max-limit":           "Entries on the largest page of the log of deliveries",
	"--prize-max-thresholds":             "Numbers of stamps of a program at which there is a prize",
	"--prize-max-options":                "Prizes to choose from at one number of stamps",
	"--prize-name-max-length":            "Characters of a prize's name",
	"--prize-description-max-length":     "Characters of a prize's description",
	"--localization-max-length":          "Characters of a name or description in another language",
	"--connections-per-address":          "Connections at once of one address; further ones are closed; 0 is unlimited",
	"--mail-per-hour":                    "Mails of a shop per hour; further ones wait; 0 is unlimited",
	"--holder-streams":                   "Pages of cards that are kept up to date at the same time",
	"--dashboard-streams":                "Pages of the dashboard that are kept up to date at the same time",
	"--mcp-key-rate-limit-per-minute":    "Calls of an MCP key per minute; 0 is unlimited",
	"--mcp-key-daily-call-budget":        "Calls of an MCP key per day; 0 is unlimited",
}

func showLimits(v *visit) error {
	if err := v.require(operation.GetHealth); err != nil {
		return err
	}
	limits := v.Status().Limits
	for i := range limits {
		limits[i].Help = v.T(limitWords[limits[i].Flag])
	}
	return v.render("health_limits", healthPage{
		Frame:  v.frame("Health", healthPath),
		Tabs:   v.healthTabs(""),
		Status: Status{Limits: limits},
	})
}
