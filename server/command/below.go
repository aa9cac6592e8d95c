package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/store"
)

// once returns a function that prints a secret in a field of the answer.
func once(what, field string) func(output, row) {
	return func(o output, r row) { printf(o, "\n%s, shown this once:\n\n%s\n", what, r.value(field)) }
}

// printAll prints the whole answer as JSON.
func printAll(o output, r row) {
	text, _ := json.MarshalIndent(r, "", "  ") // it was decoded from JSON
	o.Write(append(printableJSON(text), '\n'))
}

// countOf returns a function that prints how many things of a kind were ended, such as "2 keys revoked".
func countOf(thing, ended string) func(output, row) {
	return func(o output, r row) {
		things := thing
		if r.value(ended) != "1" {
			things += "s"
		}
		printf(o, "%s %s %s\n", r.value(ended), things, ended)
	}
}

// printIssued prints a new install link, and says whether it is mailed.
func printIssued(o output, r row) {
	once("Install link", "install_url")(o, r)
	if o.args.Fields.Get("send_email") == "true" {
		printf(o, "\nThe server mails it to %s. See punchcard serve.\n", r.value("holder_email"))
	}
}

// printLink prints a one-time link.
func printLink(o output, r row) {
	printf(o, "The link for %s, shown this once and valid until %s:\n\n%s\n", r.value("email"), r.value("expires_at"), r.value("url"))
}

// printPairing prints a pairing, with a QR code if the whole link is known and fits into one.
func printPairing(o output, r row) {
	link, code := r.value("url"), r.value("code")
	if strings.Contains(link, "://") {
		if picture, err := qr.Text(link); err == nil {
			fmt.Fprint(o, picture)
		}
	}
	printf(o, "Open this link on the phone or tablet, or type the code into its till page. Both work once, until %s.\n\n%s\n\n%s\n",
		r.value("expires_at"), link, strings.ToUpper(code[:4]+" "+code[4:]))
}

// hintPrizes says that a program which collects stamps has no prizes.
func hintPrizes(o output, r row) {
	if r["active"] == true && store.CollectsStamps(r.value("type")) && r.count("prizes") == 0 {
		fmt.Fprintln(o, "\nIt has no prizes: see punchcard prize add.")
	}
}

// hintServer says how a delivery that waits is sent.
func hintServer(o output, r row) {
	if r["state"] == "pending" {
		fmt.Fprintln(o, "\nNo answer yet. A running server sends it: see punchcard serve, and punchcard webhook log.")
	}
}

// hintShops says that the file has several shops.
func hintShops(o output, _ row) {
	shops, _, err := o.readPages(o.ctx, operation.ListShops, kernel.Form{}, 0)
	if err == nil && len(shops) > 1 {
		fmt.Fprintf(o, "\nThe file has %d shops now, so commands need --shop.\n", len(shops))
	}
}
