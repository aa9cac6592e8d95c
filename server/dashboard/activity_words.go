package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"

	"punchcard/server/web"
)

// actorTypes are the kinds of those who act.
var actorTypes = []struct{ kind, one, all string }{
	{"user", web.Text("Person"), web.Text("People")},
	{"api_key", web.Text("Key"), web.Text("Keys")},
	{"device", web.Text("Till"), web.Text("Tills")},
	{"holder", web.Text("Card holder"), web.Text("Card holders")},
	{"system", web.Text("The server"), web.Text("The server itself")},
}

// An actionGroup is a subject of actions.
type actionGroup struct{ family, label, all string }

// actionGroups are the subjects of actions, in the order of the filter.
var actionGroups = []actionGroup{
	{"transaction", web.Text("At the till"), web.Text("Everything at the till")},
	{"card", web.Text("Cards"), web.Text("Everything about cards")},
	{"cards", web.Text("Lists of cards"), web.Text("Everything about lists of cards")},
	{"program", web.Text("Programs"), web.Text("Everything about programs")},
	{"prize", web.Text("Prizes"), web.Text("Everything about prizes")},
	{"location", web.Text("Locations"), web.Text("Everything about locations")},
	{"device", web.Text("Tills"), web.Text("Everything about tills")},
	{"staff", web.Text("Staff"), web.Text("Everything about staff")},
	{"key", web.Text("Keys"), web.Text("Everything about keys")},
	{"webhook", web.Text("Webhooks"), web.Text("Everything about webhooks")},
	{"user", web.Text("People"), web.Text("Everything about people")},
	{"shop", web.Text("Shop"), web.Text("Everything about the shop")},
	{"statistics", web.Text("Statistics"), web.Text("Everything about statistics")},
}

// actionWords say what each action did.
var actionWords = []struct{ action, text string }{
	{"transaction.stamp", web.Text("Gave stamps")},
	{"transaction.redemption", web.Text("Redeemed a prize")},
	{"transaction.topup", web.Text("Topped up a card")},
	{"transaction.spend", web.Text("Took a payment")},
	{"transaction.discount", web.Text("Gave a discount")},
	{"transaction.access", web.Text("Let a card in")},
	{"transaction.reversal", web.Text("Reversed a transaction")},
	{"transaction.expiry", web.Text("Noted an expiry")},
	{"card.issue", web.Text("Issued a card")},
	{"card.install", web.Text("Installed a card")},
	{"card.install_link", web.Text("Made a new card link")},
	{"card.update", web.Text("Changed a card")},
	{"card.reissue", web.Text("Reissued a card")},
	{"card.lock", web.Text("Locked a card")},
	{"card.unlock", web.Text("Unlocked a card")},
	{"card.archive", web.Text("Archived a card")},
	{"card.delete", web.Text("Erased a card")},
	{"card.export", web.Text("Downloaded the data of a card")},
	{"card.request_links", web.Text("Somebody asked for the links of lost cards")},
	{"card.mail_refused", web.Text("A mail about a card was refused")},
	{"card.search", web.Text("Searched for cards")},
	{"cards.export", web.Text("Downloaded the list of cards")},
	{"program.create", web.Text("Created a program")},
	{"program.update", web.Text("Changed a program")},
	{"program.publish", web.Text("Published a program")},
	{"program.unpublish", web.Text("Unpublished a program")},
	{"program.suspend", web.Text("Suspended a program")},
	{"program.unsuspend", web.Text("Ended the suspension of a program")},
	{"program.update_enrolment", web.Text("Changed the form for new cards")},
	{"program.delete", web.Text("Deleted a program")},
	{"prize.create", web.Text("Added a prize")},
	{"prize.update", web.Text("Changed a prize")},
	{"prize.delete", web.Text("Deleted a prize")},
	{"location.create", web.Text("Created a location")},
	{"location.update", web.Text("Changed a location")},
	{"location.disable", web.Text("Disabled a location")},
	{"location.enable", web.Text("Enabled a location")},
	{"location.set_pin", web.Text("Set the PIN of a location")},
	{"location.pin_locked", web.Text("Wrong PINs locked a location")},
	{"device.offer_pairing", web.Text("Made a pairing code")},
	{"device.pairing_lock", web.Text("Wrong pairing codes locked an address")},
	{"device.create", web.Text("Created a till")},
	{"device.revoke", web.Text("Revoked a till")},
	{"device.pin_locked", web.Text("Wrong PINs locked a till")},
	{"staff.create", web.Text("Added a member of staff")},
	{"staff.set_pin", web.Text("Set the PIN of a member of staff")},
	{"staff.disable", web.Text("Disabled a member of staff")},
	{"staff.enable", web.Text("Enabled a member of staff")},
	{"staff.sign_in", web.Text("Signed in at a till")},
	{"staff.sign_out", web.Text("Signed out at a till")},
	{"key.create", web.Text("Created a key")},
	{"key.rotate", web.Text("Rotated a key")},
	{"key.revoke", web.Text("Revoked a key")},
	{"key.revoke_all", web.Text("Revoked all keys")},
	{"webhook.create", web.Text("Created a webhook")},
	{"webhook.update", web.Text("Changed a webhook")},
	{"webhook.test", web.Text("Sent a test to a webhook")},
	{"webhook.redeliver", web.Text("Sent an event to a webhook again")},
	{"webhook.disable", web.Text("Turned off a failing webhook")},
	{"webhook.delete", web.Text("Deleted a webhook")},
	{"user.sign_in", web.Text("Signed in")},
	{"user.sign_in_failed", web.Text("Failed to sign in")},
	{"user.lock", web.Text("Failures locked the sign-in")},
	{"user.sign_out", web.Text("Signed out")},
	{"user.sign_out_everywhere", web.Text("Signed out everywhere")},
	{"user.create", web.Text("Created an account")},
	{"user.create_refused", web.Text("Tried to create an account that exists")},
	{"user.invite", web.Text("Invited a person")},
	{"user.cancel_invitation", web.Text("Cancelled an invitation")},
	{"user.join", web.Text("Joined the shop")},
	{"user.set_role", web.Text("Changed a role")},
	{"user.remove", web.Text("Removed a person")},
	{"user.update", web.Text("Changed a profile")},
	{"user.change_password", web.Text("Changed the password")},
	{"user.request_reset", web.Text("Asked for a new password")},
	{"user.create_reset_link", web.Text("Made a link for a new password")},
	{"user.reset_password", web.Text("Set a new password by a link")},
	{"user.set_up_totp", web.Text("Set up the second factor")},
	{"user.remove_totp", web.Text("Removed the second factor")},
	{"user.new_recovery_codes", web.Text("Made new recovery codes")},
	{"user.use_recovery_code", web.Text("Used a recovery code")},
	{"user.disable", web.Text("Disabled an account")},
	{"user.enable", web.Text("Enabled an account")},
	{"user.mail_refused", web.Text("A mail about an account was refused")},
	{"shop.create", web.Text("Created the shop")},
	{"shop.update", web.Text("Changed the shop")},
	{"statistics.rebuild", web.Text("Counted the statistics again")},
}

// wordsOf returns the words of an action.
func wordsOf(action string) (text string, ok bool) {
	for _, a := range actionWords {
		if a.action == action {
			return a.text, true
		}
	}
	return "", false
}

// actionText says what an action did.
func (v *visit) actionText(action string) string {
	if text, ok := wordsOf(action); ok {
		return v.print.T(text)
	}
	return action
}

// detailWords are the names of facts about actions.
var detailWords = map[string]string{
	"successor":            web.Text("New key"),
	"keys":                 web.Text("Number of keys"),
	"consecutive_failures": web.Text("Failures in a row"),
	"delivery_id":          web.Text("Delivery"),
	"rotated":              web.Text("New secret"),
	"from":                 web.Text("Before"),
	"to":                   web.Text("Now"),
	"role":                 web.Text("Role"),
	"left":                 web.Text("Codes left"),
	"rule":                 web.Text("Rule"),
	"seconds":              web.Text("Seconds"),
	"smtp_code":            web.Text("Answer of the mail server"),
	"rows":                 web.Text("Rows"),
}

// valueWords are the values of such facts that are words.
var valueWords = map[string]string{
	"owner": web.Text("Owner"), "manager": web.Text("Manager"), "viewer": web.Text("Viewer"), "operator": web.Text("Operator"),
	"account": web.Text("Account"), "address": web.Text("Address"),
}

// detailFact returns a fact about an action.
func (v *visit) detailFact(name string, value any) web.Fact {
	f := web.Fact{Label: strings.ReplaceAll(name, "_", " ")}
	if word, ok := detailWords[name]; ok {
		f.Label = v.print.T(word)
	}
	switch value := value.(type) {
	case bool:
		f.Value = v.print.T("No")
		if value {
			f.Value = v.print.T("Yes")
		}
	case json.Number:
		f.Value = value.String()
	case string:
		f.Value = value
		if word, ok := valueWords[value]; ok {
			f.Value = v.print.T(word)
		}
	default:
		f.Value = fmt.Sprint(value)
	}
	return f
}
