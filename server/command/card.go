package command

import (
	"fmt"
	"net/url"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// linkFlag are the flags of commands that make an install link. They have the names and
// variables of those of the server, which sends the mail.
type linkFlag struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"Base URL of the install link: the public URL of the server. Default: that which init was given for the file."`
	SMTPURL   string `name:"smtp-url" placeholder:"URL" help:"Mail server of punchcard serve, which sends the mail of --send-email. Without it --send-email is refused."`
	mails     bool   // --send-email is given
}

func (f *linkFlag) configure(o *store.Options) {
	o.PublicURL, o.QueueMail = strings.TrimRight(f.PublicURL, "/"), f.SMTPURL != ""
}

// opened refuses a link that would have no beginning.
func (f *linkFlag) opened(st *store.Store) error {
	if st.PublicURL() == "" {
		return usagef("--public-url (PUNCHCARD_PUBLIC_URL): is required, since the file remembers none")
	}
	return nil
}

// add refuses mail that no server would send.
func (f *linkFlag) add(form url.Values, _ flagSet) error {
	if f.mails = form.Get("send_email") == "true"; !f.mails {
		return nil
	}
	if f.SMTPURL == "" {
		return usagef("--send-email: needs the %s of the server that sends it", smtpURL)
	}
	if _, err := readSMTP(f.SMTPURL); err != nil {
		return fmt.Errorf("%s: %w", smtpURL, err)
	}
	return nil
}

// theCard is the argument of commands on one card.
var theCard = argument{name: "card", kind: aCard, param: "id",
	help: "The card: its id or code, or its holder's name, email or reference, if only one card has it."}

// cents is the format of an amount in the smallest units of the shop's currency, which the rows
// of tables do not name.
const cents = "%d cents"

// orDash returns a value by its format, or a dash for none or an empty text.
func orDash[T any](v store.Null[T], format string) string {
	if text := fmt.Sprintf(format, v.V); v.Valid && text != "" {
		return text
	}
	return "-"
}

// either returns the first text if a condition holds, and the second otherwise.
func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// printFoundCards prints a table of the cards that a search finds.
func printFoundCards(o output, cards ...store.FoundCard) {
	fmt.Fprintln(o, "ID\tNAME\tEMAIL\tREFERENCE\tPROGRAM\tSTATUS\tSTAMPS\tBALANCE\tPRIZE DUE\tLAST SEEN")
	for _, c := range cards {
		stamps := orDash(c.TotalStamps, fmt.Sprint(c.StampsCount, " of %d"))
		printf(
			o, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.ID,
			orDash(c.HolderName, "%s"),
			orDash(c.HolderEmail, "%s"),
			orDash(c.ExternalRef, "%s"),
			c.ProgramName, c.Status, stamps,
			orDash(c.CurrentValue, cents),
			either(c.PrizeDue, "yes", "no"),
			orDash(c.LastSeenAt, "%s"),
		)
	}
}

// printCardStatus prints a card's id, name and status.
func printCardStatus(o output, c store.CardDetail) {
	printf(o, "%s  %s\n", candidate{id: c.ID, label: c.HolderName.V}, c.Status)
}

// printCard prints a card as a list of its fields.
func printCard(o output, c store.CardDetail) {
	printf(o, "ID\t%s\nName\t%s\nEmail\t%s\nReference\t%s\nProgram\t%s\nStatus\t%s\n",
		c.ID, orDash(c.HolderName, "%s"), orDash(c.HolderEmail, "%s"), orDash(c.ExternalRef, "%s"), c.ProgramName, c.Status)
	switch {
	case c.CurrentValue.Valid:
		printf(o, "Balance\t"+cents+"\n", c.CurrentValue.V)
	case store.CollectsStamps(c.ProgramType):
		printf(o, "Stamps\t%d\n", c.StampsCount)
	}
	printf(o, "Expires\t%s\nInstalled\t%s\nIssued\t%s\n", orDash(c.ExpiresAt, "%s"), orDash(c.InstalledAt, "%s"), c.CreatedAt)
}

// printCardOverview prints a card with its code, prizes and latest transactions.
func printCardOverview(o output, c store.CardOverview) {
	printCard(o, c.Card)
	printf(o, "Short code\t%s\n", orDash(c.ShortCode, "%s"))
	for _, z := range c.Prizes {
		state := fmt.Sprintf("at %d stamps", z.Threshold)
		switch {
		case z.Claimed:
			state = "redeemed"
		case z.Available:
			state = "due"
		}
		printf(o, "Prize\t%s, %s\n", z.Name, state)
	}
	for _, t := range c.Transactions {
		printf(o, "%s\t%s\n", t.CreatedAt, transactionWords(t.Transaction))
	}
}

// printIssued prints a new install link, and says whether it is mailed.
func printIssued(o output, c operation.IssuedCard) {
	printf(o, "%s\n\nInstall link, shown this once:\n\n%s\n", candidate{id: c.ID, label: c.HolderName.V}, c.InstallURL)
	if o.bound.extras.(*linkFlag).mails {
		printf(o, "\nThe server mails it to %s. See punchcard serve.\n", c.HolderEmail.V)
	}
}

// transactionWords says what a row of the ledger did.
func transactionWords(t store.Transaction) string {
	words := t.Type
	if t.StampsDelta.Valid {
		words += fmt.Sprintf(" %+d stamps", t.StampsDelta.V)
	}
	if t.ValueDelta.Valid {
		words += fmt.Sprintf(" "+cents, t.ValueDelta.V)
	}
	if t.ReversedAt.Valid {
		words += ", taken back"
	}
	return words + " at " + t.LocationName
}

// printTransactions prints a table of rows of the ledger.
func printTransactions(o output, rows ...store.Transaction) {
	named := namesOf(o, rows, func(t store.Transaction) string { return t.CardID })
	fmt.Fprintln(o, "AT\tTYPE\tSTAMPS\tAMOUNT\tCARD\tLOCATION\tTAKEN BACK\tID")
	for _, t := range rows {
		printf(o, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.CreatedAt, t.Type, orDash(t.StampsDelta, "%+d"), orDash(t.ValueDelta, cents),
			named(t.CardID), t.LocationName, either(t.ReversedAt.Valid, "yes", "no"), t.ID)
	}
}
