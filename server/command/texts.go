package command

// The help of flags of which the documents of their fields say less.
var (
	shopTexts = map[string]string{
		"name":               "Name of the shop.",
		"mode":               "live or test; the prefix of the shop's keys says which. Default: live.",
		"timezone":           "IANA time zone, such as Europe/Rome.",
		"country_code":       "Its country: two letters A-Z, such as IT.",
		"subscription_state": "active, past_due, suspended or cancelled.",
		"api_addon":          "Whether the shop has the Business API add-on.",
		"mcp_access":         "Whether the shop may use the MCP connector.",
		"grant_expires_at":   "Time until which the shop has API access without the add-on; none ends the access.",
		"included_locations": "Number of locations included in the plan.",
		"max_locations":      "Maximum number of locations; none for no limit.",
		"max_cards":          "Maximum number of live cards; none for no limit.",
		"forget_after_months": "Erase cards that were not seen for more months than this, with their persons' data; none for never. The " +
			"first are erased a month after it was set.",
		"public_url": "What links of the shop's cards and tills begin with: https and a host that no other shop has, such as " +
			"https://cards.example.com; none for the public URL of the server.",
		"reason": "Reason for the change of the subscription, which webhooks send; one line.",
	}
	locationTexts = map[string]string{
		"name":              "Name of the location.",
		"address":           "Street and number.",
		"lat":               "Latitude.",
		"lon":               "Longitude.",
		"require_staff_pin": "Require the staff PIN at the location's tills, which cannot write until set-pin sets one.",
		"require_staff": "Require a signed-in member of staff at the location's tills, which cannot write until somebody was added " +
			"with: punchcard staff add.",
	}
	staffTexts = map[string]string{
		"location_ids": "A location at whose tills the person works, by id or name. May be repeated. None given: all locations.",
		"name":         "Name of the person, which tills show.",
	}
	deviceTexts = map[string]string{
		"location_id": "The location of the device: its id or name.",
		"name":        "Name of the device. Default: Till.",
		"accept_card_ids": "Accept the ids of cards in writes, for cash registers that know their members. Otherwise writes need the " +
			"card's code.",
	}
	keyTexts = map[string]string{
		"name":         "What the key is for.",
		"class":        "api or mcp. Default: api.",
		"scopes":       "Scopes such as cards:read; default: every scope, of an MCP key those that read.",
		"location_ids": "Restrict the key to these locations, by id or name.",
		"expires_at":   "A time, a number of days such as 90d, or never. Default: never.",
	}
	programTexts = map[string]string{
		"enroll":             "Whether customers can make cards themselves, by the form at /join/SLUG.",
		"enroll_slug":        "The end of the form's address.",
		"enroll_name":        "Whether the form asks for a name: required, optional or off.",
		"enroll_email":       "The same for an email.",
		"enroll_phone":       "The same for a phone number.",
		"enroll_privacy_url": "Link to the privacy notice; none removes it.",
	}
	inviteTexts = map[string]string{
		"role": "owner, manager or viewer of the shop, or operator of the server with all its shops. Default: manager.",
	}
)
