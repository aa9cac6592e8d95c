package web

import "slices"

// refusals are what pages say of the refusals that they can receive. TestRefusals finds those without a text.
var refusals = slices.Concat(shopRefusals, webhookRefusals)

// shopRefusals are those about people, shops, programs and cards.
var shopRefusals = []refusal{
	// Addresses, forms and the server.
	{
		"Something went wrong on the server. Retry with the same Idempotency-Key.",
		"",
		Text("The server could not do this. Nothing was changed."),
	},
	{"No such path.", "", Text("There is no page at this address.")},
	{"The path does not take this method; see Allow.", "", Text("This address belongs to a form and shows nothing by itself.")},
	{"No such %v.", "", Text("What you are looking for was not found.")},
	{"There is no such backup.", "", Text("This backup does not exist any more.")},
	{"There is no such prize.", "", Text("This prize does not exist any more.")},
	{"The form is larger than 256 KiB.", "", Text("The form is too long. Shorten what you entered, and send it again.")},
	{"The form cannot be read.", "", Text("The form did not arrive whole. Send it again.")},
	{"The body is larger than %v.", "", Text("The form is too long. Shorten what you entered, and send it again.")},
	{"is not one of this page: open the form again", "", Text("This form is out of date. Open the page again and fill it in anew.")},
	{
		"This Idempotency-Key was used for another request.",
		"",
		Text("This form was sent already, with something else in it. If you want this too, send it again."),
	},
	{
		"An earlier request with this Idempotency-Key is still running.",
		"",
		Text("This form is being worked on already. Wait a moment, then look whether it was done."),
	},
	{"One or more fields are invalid; see details.", "", Text("Something that was sent is not valid. Go back and check it.")},
	{
		"The Host header must name this machine's loopback address, the host of --public-url or one that --allow-host names.",
		"",
		Text(
			"The pages of this shop are not shown at this address. Open them at the server’s own address. Whoever runs the server can permit another one with --allow-host.",
		),
	},
	{
		"A browser may send this request only from a page of this server.",
		"",
		Text("This form came from another website, so nothing was done. Open the page here and send it again."),
	},
	{
		"Use https: over plain http others can read what you send.",
		"",
		Text("Open this page with https. Over plain http others can read what you send."),
	},
	same("", Text("The server makes no backups. Start it with --backup-every and --backup-dir.")),
	{"The backup failed: %v", "", Text("The backup was not made. The reason is: {0}")},
	same("", Text("There is no mail server. Start the server with --smtp-url and --mail-from.")),
	{"The message was not sent: %v.", "", Text("The message was not sent. The reason is: {0}")},

	// People and sessions.
	{"The caller may not do this.", "", Text("Your role in this shop does not include this.")},
	{"Operators alone invite operators.", "", Text("Only operators can invite operators.")},
	{"Owners alone rotate the secret of a webhook.", "", Text("Only an owner of the shop can make a new secret for a webhook.")},
	{
		"Signing in needs https: a session over plain http could be read on the way.",
		"",
		Text("You cannot sign in over plain http, since others could read along. Open this page with https."),
	},
	same("", Text("The email or the password is wrong.")),
	{
		"The code is wrong, or was used already.",
		"totp",
		Text("The code is wrong, or it was used already. Enter the one that the app shows now."),
	},
	{
		"The code is wrong. Check the clock of the device that shows it.",
		"totp",
		Text("The code is wrong. Check the clock of the phone that shows it."),
	},
	{
		"Begin to set up the second factor first.",
		"",
		Text("Open this page again and scan the new code: the second factor was not begun, or was begun anew."),
	},
	{"There is no second factor.", "", Text("Your account has no second factor. Set one up first.")},
	same("", Text("Too many wrong passwords or codes. Try again later.")),
	same("", Text("Too many requests. Look into your mailbox, or try again later.")),
	{
		"This address has had as many messages as it may within a day.",
		"email",
		Text("This address has had as many messages today as it may. Try again tomorrow, or hand over a link yourself."),
	},
	{
		"The invitation is for another email than that of your account.",
		"",
		Text("This invitation is for another email than that of your account. Sign out, and open the link again."),
	},
	{
		"Confirm your mailbox first: ask for a link for a new password, which is mailed to you.",
		"",
		Text(
			"Show first that the mailbox is yours: ask for a link for a new password, which is mailed to you, and use it. Then open this link again.",
		),
	},
	{
		"Too many people sign in at this moment. Try again in a few seconds.",
		"",
		Text("Many people are signing in at this moment. Try again in a few seconds."),
	},
	same("", Text("The link was used already, or it has expired.")),
	{"This link is for something else.", "", Text("This link is for another page. Open it exactly as you received it.")},
	{"The account is disabled.", "", Text("The account is disabled. Enable it first.")},
	{"There is an account with this email already.", "email", Text("There is an account with this email already. Use another address.")},
	{"The person is an operator already.", "email", Text("This person is an operator already.")},
	{
		"The person belongs to the shop already.",
		"email",
		Text("This person belongs to the shop already. You can change the role in the list."),
	},
	same("", Text("The shop has no other owner. Make somebody else an owner first.")),
	same("", Text("There is no other operator. Invite one first.")),
	{"must be text", "", Text("Use letters, digits and signs only.")},
	{"must not be the email", "", Text("The password must not be the email address.")},
	{"must not be one of the commonest passwords", "", Text("This is one of the most common passwords. Choose another one.")},
	{"is required, or shop_id", "", Text("Enter the name of the shop.")},
	{"must not be given beside shop_id", "", Text("Choose a shop or name a new one, not both.")},
	{"must be the id of a shop of the file", "", Text("This shop does not exist any more. Choose another one.")},
	{"is required, or totp", "", Text("Enter your password, or a code.")},
	{"must not be given beside password", "", Text("Enter the password or a code, not both.")},

	// Shops, locations, staff and tills.
	{"The shop's subscription is %s.", "", Text("The shop’s subscription is not active, so this cannot be done.")},
	{
		"The shop has %d locations, which is its maximum.",
		"",
		Text("The shop has {0} location, and cannot have more.|The shop has {0} locations, and cannot have more."),
	},
	{
		"The location has %d members of staff, which is the maximum.",
		"",
		Text(
			"The location has {0} member of staff. Disable somebody first.|The location has {0} members of staff. Disable somebody first.",
		),
	},
	{"must be 4 to 8 digits from 0 to 9", "", Text("Enter 4 to 8 digits.")},
	{"must be an IANA time zone, such as Europe/Rome", "", Text("Choose a time zone from the list, such as Europe/Rome.")},
	{"must be a currency's code of ISO 4217, such as EUR", "", Text("Choose a currency, such as EUR.")},
	{"must be two letters from A to Z", "", Text("Enter the two capital letters of a country, such as IT.")},
	{"must be the id of a %s of this shop", "", Text("This does not exist any more. Choose something else.")},
	{
		"The pairing was used already, or it has expired. Make a new one in the dashboard.",
		"",
		Text("This link was used already, or it is older than ten minutes."),
	},

	// Programs and prizes.
	{"Cannot %s a program that is %s.", "", Text("The program’s state has changed, so this cannot be done. Look at the program again.")},
	{"Only stamp programs have prizes; this one is of type %s.", "", Text("Only stamp programs have prizes.")},
	{
		"The threshold %d is above the program's total_stamps of %d.",
		"threshold",
		Text("A prize at {0} stamps would never be reached: a full card has {1}. Choose a lower number."),
	},
	{
		"A program has at most %d distinct thresholds.",
		"threshold",
		Text("The prizes of a program can be due at {0} different numbers of stamps at most."),
	},
	{"A threshold has at most %d options.", "threshold", Text("At most {0} prizes can be due at the same number of stamps.")},
	{"The prize was redeemed before and stays in the ledger.", "", Text("Customers have redeemed this prize, so it cannot be deleted.")},
	same("", Text("The prizes of this program have changed meanwhile. Look at them again.")),
	{
		"total_stamps cannot be below the prize threshold %d.",
		"total_stamps",
		Text(
			"There is a prize at {0} stamp. Enter at least as many, or change the prize first.|There is a prize at {0} stamps. Enter at least as many, or change the prize first.",
		),
	},
	{
		"A card of this program is installed on a device; the program and its prizes are frozen.",
		"",
		Text("A card of this program is on a phone already, so the program and its prizes stay as they are."),
	},
	{"is not allowed for programs of type %s", "", Text("Programs of this kind do not have this. Leave it empty.")},
	{"is required for programs of type %s", "", Text("Fill in this field.")},
	{"must be empty with location_scope all_locations", "", Text("Choose no single locations if the program is for all of them.")},
	{"must name at least one location with location_scope selected_locations", "", Text("Choose at least one location, or all locations.")},
	same("enroll_slug", Text("Another form has this address. Choose another one.")),
	{
		"must be lower-case letters from a to z and digits, with single hyphens between them",
		"",
		Text("Use lower-case letters from a to z and digits, with single hyphens between them."),
	},
	{
		"must be 1 to 64 lower-case letters from a to z, digits and underscores",
		"",
		Text("Use lower-case letters from a to z, digits and underscores."),
	},
	same("", Text("The form for new cards has no address yet.")),
	{"is for cards of prepaid programs only", "", Text("Only prepaid cards begin with an amount. Leave this empty.")},
	same(
		"enroll",
		Text("Cards of this program begin with money, so customers cannot make them themselves. Set the balance of a new card to 0 first."),
	),
	same(
		"initial_balance_cents",
		Text(
			"Customers can make cards of this program themselves, so its cards cannot begin with money. Turn the form for new cards off first.",
		),
	),
	{"must be a PNG, JPEG or WebP picture", "", Text("Choose a picture in the format PNG, JPEG or WebP.")},
	{
		"must have at most %d million pixels, and sides of at most %d",
		"",
		Text("Choose a picture of at most {0} million pixels, and at most {1} on each side."),
	},
	{
		"is a JPEG with more than %d scans: save it again in another program",
		"",
		Text("This JPEG has more than {0} scans. Save it again in another program."),
	},
	{
		"is too slow to read: try again, or save it as a PNG first",
		"",
		Text("The picture takes too long to read. Try again, or save it as a PNG first."),
	},
	{"must have at most %d MiB", "", Text("Choose a file of at most {0} MB.")},
	{"must have at most %d bytes", "", Text("Choose a smaller file.")},

	// Cards.
	{"The program is suspended; no cards can be issued.", "", Text("The program is suspended. Resume it before you issue cards.")},
	{"The program is not published; no cards can be issued.", "", Text("The program is not published. Publish it before you issue cards.")},
	{"The program is suspended; its cards get no new links.", "", Text("The program is suspended. Resume it before you send new links.")},
	{
		"The shop has %d live cards, which is its maximum.",
		"",
		Text(
			"The shop has {0} card in use, which is its maximum. Archive cards that nobody uses.|The shop has {0} cards in use, which is its maximum. Archive cards that nobody uses.",
		),
	},
	{
		"This external_ref already has a live card in the program.",
		"external_ref",
		Text("There is a card of this program with this reference already. Enter another one."),
	},
	{"must be in the future", "", Text("Choose a time in the future.")},
	{"is required with send_email", "", Text("Enter an email address, so that the card can be sent.")},
	{
		"send_email needs a mail server, and none is configured.",
		"send_email",
		Text("This server sends no mail. Let the customer scan the QR code instead."),
	},
	same("", Text("The card is archived.")),
	same("", Text("The card has expired.")),
	{"The card is locked.", "", Text("The card is locked. Unlock it first.")},
	{"The card is %s.", "", Text("The card’s state has changed, so this cannot be done. Look at the card again.")},
	{
		"The card is installed on a device; reissue it to get a new link.",
		"",
		Text("The card is on a phone. To move it to another one, reissue it."),
	},
	{
		"The card is installed on a device; holder fields and expiry are frozen. Reissue the card instead.",
		"",
		Text("The card is on a phone, so this cannot change. Reissue the card instead."),
	},
	{
		"The card has expired; give it a future expires_at, or null, in the same request.",
		"expires_at",
		Text("The card has expired. Enter a later date, or none."),
	},
	{"A row of type %s cannot be reversed.", "", Text("This entry cannot be reversed.")},
	{"The transaction was reversed already.", "", Text("This entry was reversed already.")},
	{"The transaction belongs to a completed cycle.", "", Text("The card has been completed since, so this entry cannot be reversed.")},
	{"Stamps of the transaction have expired.", "", Text("Stamps of this entry have expired, so it cannot be reversed.")},
	{
		"The card has fewer stamps than the transaction gave.",
		"",
		Text("The card has fewer stamps now than this entry gave, so it cannot be reversed."),
	},
	{"The card's balance is %d cents.", "", Text("There is not enough money on the card for this.")},
	{"The location of the transaction is disabled.", "", Text("The location of this entry is disabled. Enable it first.")},
	same("", Text("Type what is asked for, exactly as it is written.")),
	same("", Text("Choose a program.")),
}
