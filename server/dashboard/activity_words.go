package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"

	"punchcard/server/web"
)

// actorTypes are the kinds of those who act.
var actorTypes = []struct {
	kind     string
	one, all web.Text
}{
	{"user", "Person", "People"},
	{"api_key", "Key", "Keys"},
	{"device", "Till", "Tills"},
	{"holder", "Card holder", "Card holders"},
	{"system", "The server", "The server itself"},
}

// An actionGroup is a subject of actions.
type actionGroup struct {
	family     string
	label, all web.Text
}

// actionGroups are the subjects of actions, in the order of the filter.
var actionGroups = []actionGroup{
	{"transaction", "At the till", "Everything at the till"},
	{"card", "Cards", "Everything about cards"},
	{"cards", "Lists of cards", "Everything about lists of cards"},
	{"import", "Imports", "Everything about imports"},
	{"program", "Programs", "Everything about programs"},
	{"prize", "Prizes", "Everything about prizes"},
	{"location", "Locations", "Everything about locations"},
	{"device", "Tills", "Everything about tills"},
	{"staff", "Staff", "Everything about staff"},
	{"key", "Keys", "Everything about keys"},
	{"webhook", "Webhooks", "Everything about webhooks"},
	{"wallet", "Wallets", "Everything about wallets"},
	{"user", "People", "Everything about people"},
	{"shop", "Shop", "Everything about the shop"},
	{"statistics", "Statistics", "Everything about statistics"},
}

// actionWords say what each action did.
var actionWords = []struct {
	action string
	text   web.Text
}{
	{"transaction.stamp", "Gave stamps"},
	{"transaction.redemption", "Redeemed a prize"},
	{"transaction.topup", "Topped up a card"},
	{"transaction.spend", "Took a payment"},
	{"transaction.discount", "Gave a discount"},
	{"transaction.access", "Let a card in"},
	{"transaction.reversal", "Reversed a transaction"},
	{"transaction.expiry", "Noted an expiry"},
	{"transaction.adjustment", "Adjusted a card"},
	{"card.issue", "Issued a card"},
	{"card.install", "Installed a card"},
	{"card.install_link", "Made a new card link"},
	{"card.update", "Changed a card"},
	{"card.contact", "Changed a contact"},
	{"card.ask_correction", "Asked for a correction"},
	{"card.ask_erasure", "Asked to be erased"},
	{"card.close_correction", "Closed a request for a correction"},
	{"card.close_erasure", "Closed a request to be erased"},
	{"import.upload", "Uploaded a file of cards"},
	{"import.start", "Imported cards"},
	{"import.undo", "Undid an import"},
	{"import.discard", "Deleted a file of cards"},
	{"card.reissue", "Reissued a card"},
	{"card.lock", "Locked a card"},
	{"card.unlock", "Unlocked a card"},
	{"card.archive", "Archived a card"},
	{"card.delete", "Erased a card"},
	{"card.merge", "Merged two cards"},
	{"card.export", "Downloaded the data of a card"},
	{"card.request_links", "Somebody asked for the links of lost cards"},
	{"card.mail_refused", "A mail about a card was refused"},
	{"card.search", "Searched for cards"},
	{"cards.export", "Downloaded the list of cards"},
	{"card.test_push", "Sent a test push"},
	{"wallet.apple_request", "Made a request for Apple Wallet"},
	{"wallet.apple_certificate", "Set the certificate for Apple Wallet"},
	{"wallet.apple_remove", "Switched Apple Wallet off"},
	{"wallet.google_set", "Set the account for Google Wallet"},
	{"wallet.google_remove", "Switched Google Wallet off"},
	{"shop.export", "Exported all data of the shop"},
	{"cards.run", "Began a change of many cards"},
	{"cards.run_stop", "Stopped a change of many cards"},
	{"program.create", "Created a program"},
	{"program.update", "Changed a program"},
	{"program.publish", "Published a program"},
	{"program.unpublish", "Unpublished a program"},
	{"program.suspend", "Suspended a program"},
	{"program.unsuspend", "Ended the suspension of a program"},
	{"program.update_enrolment", "Changed the form for new cards"},
	{"program.delete", "Deleted a program"},
	{"prize.create", "Added a prize"},
	{"prize.update", "Changed a prize"},
	{"prize.delete", "Deleted a prize"},
	{"location.create", "Created a location"},
	{"location.update", "Changed a location"},
	{"location.disable", "Disabled a location"},
	{"location.enable", "Enabled a location"},
	{"location.set_pin", "Set the PIN of a location"},
	{"location.pin_locked", "Wrong PINs locked a location"},
	{"device.offer_pairing", "Made a pairing code"},
	{"device.pairing_lock", "Wrong pairing codes locked an address"},
	{"device.create", "Created a till"},
	{"device.revoke", "Revoked a till"},
	{"device.pin_locked", "Wrong PINs locked a till"},
	{"staff.create", "Added a member of staff"},
	{"staff.update", "Changed a member of staff"},
	{"staff.set_pin", "Set the PIN of a member of staff"},
	{"staff.disable", "Disabled a member of staff"},
	{"staff.enable", "Enabled a member of staff"},
	{"staff.sign_in", "Signed in at a till"},
	{"staff.sign_out", "Signed out at a till"},
	{"key.create", "Created a key"},
	{"key.rotate", "Rotated a key"},
	{"key.revoke", "Revoked a key"},
	{"key.revoke_all", "Revoked all keys"},
	{"webhook.create", "Created a webhook"},
	{"webhook.update", "Changed a webhook"},
	{"webhook.test", "Sent a test to a webhook"},
	{"webhook.redeliver", "Sent an event to a webhook again"},
	{"webhook.disable", "Turned off a failing webhook"},
	{"webhook.delete", "Deleted a webhook"},
	{"user.sign_in", "Signed in"},
	{"user.sign_in_failed", "Failed to sign in"},
	{"user.lock", "Failures locked the sign-in"},
	{"user.sign_out", "Signed out"},
	{"user.sign_out_everywhere", "Signed out everywhere"},
	{"user.create", "Created an account"},
	{"user.create_refused", "Tried to create an account that exists"},
	{"user.invite", "Invited a person"},
	{"user.cancel_invitation", "Cancelled an invitation"},
	{"user.join", "Joined the shop"},
	{"user.set_role", "Changed a role"},
	{"user.remove", "Removed a person"},
	{"user.update", "Changed a profile"},
	{"user.change_password", "Changed the password"},
	{"user.request_reset", "Asked for a new password"},
	{"user.create_reset_link", "Made a link for a new password"},
	{"user.reset_password", "Set a new password by a link"},
	{"user.set_up_totp", "Set up the second factor"},
	{"user.remove_totp", "Removed the second factor"},
	{"user.new_recovery_codes", "Made new recovery codes"},
	{"user.use_recovery_code", "Used a recovery code"},
	{"user.disable", "Disabled an account"},
	{"user.enable", "Enabled an account"},
	{"user.mail_refused", "A mail about an account was refused"},
	{"shop.create", "Created the shop"},
	{"shop.update", "Changed the shop"},
	{"shop.delete", "Deleted a shop"},
	{"shop.begin_move", "Began to move the shop to another server"},
	{"shop.correct_move", "Corrected the address of the shop"},
	{"shop.abort_move", "Aborted the move of the shop"},
	{"shop.move", "Moved the shop to another server"},
	{"statistics.rebuild", "Counted the statistics again"},
}

// actionText says what an action did.
func (v *visit) actionText(action string) string {
	for _, a := range actionWords {
		if a.action == action {
			return v.T(a.text)
		}
	}
	return action
}

// detailWords are the names of facts about actions.
var detailWords = map[string]web.Text{
	"successor":            "New key",
	"keys":                 "Number of keys",
	"consecutive_failures": "Failures in a row",
	"delivery_id":          "Delivery",
	"rotated":              "New secret",
	"from":                 "Before",
	"to":                   "Now",
	"role":                 "Role",
	"left":                 "Codes left",
	"rule":                 "Rule",
	"seconds":              "Seconds",
	"smtp_code":            "Answer of the mail server",
	"rows":                 "Rows",
	"merged":               "Merged card",
	"merged_with":          "Merged with",
	"run":                  "Change of many cards",
	"action":               "Change",
}

// valueWords are the values of such facts that are words.
var valueWords = map[string]web.Text{
	"owner": "Owner", "manager": "Manager", "viewer": "Viewer", "operator": "Operator",
	"account": "Account", "address": "Address",
}

// detailFact returns a fact about an action.
func (v *visit) detailFact(name string, value any) web.Fact {
	f := web.Fact{Label: strings.ReplaceAll(name, "_", " ")}
	if word, ok := detailWords[name]; ok {
		f.Label = v.T(word)
	}
	switch value := value.(type) {
	case bool:
		f.Value = v.T("No")
		if value {
			f.Value = v.T("Yes")
		}
	case json.Number:
		f.Value = value.String()
	case string:
		f.Value = value
		if word, ok := valueWords[value]; ok {
			f.Value = v.T(word)
		}
	default:
		f.Value = fmt.Sprint(value)
	}
	return f
}
