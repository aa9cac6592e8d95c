package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/wallet"
	"punchcard/server/wallet/google"
	"punchcard/store"
	"punchcard/webhook"
)

// WalletGroup groups the commands on wallets of phones by their vendor.
type WalletGroup struct {
	Group
	Apple  Group `cmd:"" help:"Request and set the certificate for Apple Wallet, show its state, switch Apple Wallet off."`
	Google Group `cmd:"" help:"Set the account for Google Wallet, show its state, switch Google Wallet off."`
}

var appleColumns = []string{
	"state", "pass type=pass_type", "team", "organization", "ends=ends_at", "days left=days_left", "request of=requested_at",
	"passes on phones=passes_on_phones",
}

// walletBindings are the commands on wallets.
var walletBindings = []binding{
	{
		path:    "wallet status",
		help:    "Count by program the passes that are on phones, and the browsers that show notices.",
		op:      operation.CountCopies,
		columns: []string{"program=program_name", "Apple Wallet=apple_passes", "Google Wallet=google_cards", "browsers"},
	},
	{
		path: "wallet pushes",
		help: "Print what came of the last push to each browser and phone, newest first, at most 50.",
		op:   operation.ListSentPushes,
		columns: []string{
			"at", "card=card_id", "program=program_name", "to=target", "service", "state", "status", "again=next_attempt_at",
		},
	},
	{
		path:    "wallet test",
		help:    "Send a test push to the browsers and phones of a card. Browsers show a notice that says so; phones show nothing.",
		op:      operation.SendTestPush,
		args:    cardArg,
		columns: []string{"browsers", "Apple Wallet=phones", "Google Wallet=google"},
		asList:  true,
	},
	{
		path: "wallet apple request",
		help: "Print the certificate request that Apple makes a certificate of: the one that waits, or else a new one. A certificate in " +
			"use stays in use.",
		op:    operation.RequestAppleCertificate,
		extra: flags[requestFlags],
		below: func(o output, r row) {
			if r["out"] != nil {
				printf(o, "%s is written. At developer.apple.com, make a Pass Type ID Certificate with it, and give the .cer file to:\n"+
					"punchcard wallet apple certificate FILE\n", r.value("out"))
				return
			}
			fmt.Fprint(o, r.value("request"))
		},
	},
	{
		path:    "wallet apple certificate",
		help:    "Set the certificate for Apple Wallet: the .cer file that Apple has made, or a .p12 file with its key.",
		op:      operation.SetAppleCertificate,
		args:    []argument{{name: "file", field: "file", help: "The .cer or .p12 file."}},
		extra:   flags[certificateFlags],
		columns: appleColumns,
		asList:  true,
	},
	{
		path:    "wallet apple status",
		help:    "Print how far Apple Wallet is set up, and when the certificate ends.",
		op:      operation.GetAppleWallet,
		columns: appleColumns,
		asList:  true,
	},
	{
		path: "wallet apple remove",
		help: "Switch Apple Wallet off: remove the certificate and the request, with their keys. Passes on " +
			"phones are no longer brought up to date.",
		op:      operation.RemoveAppleWallet,
		asks:    "Switch Apple Wallet off and remove its keys?",
		texts:   map[string]string{"yes": "Do it without asking, and also while passes are on phones."},
		columns: appleColumns,
		asList:  true,
	},
	{
		path:      "wallet google set",
		help:      "Set the account for Google Wallet, or change its settings. This is what wallet google does.",
		op:        operation.SetGoogleWallet,
		byDefault: true,
		required:  []string{"issuer_id"},
		args: []argument{{name: "file", field: "account", optional: true,
			help: "The JSON file of a key of the service account. Default: the one in use."}},
		extra:   flags[googleFlags],
		columns: googleColumns,
		asList:  true,
	},
	{
		path:    "wallet google status",
		help:    "Print how far Google Wallet is set up, and how many cards are on phones.",
		op:      operation.GetGoogleWallet,
		columns: googleColumns,
		asList:  true,
	},
	{
		path: "wallet google remove",
		help: "Switch Google Wallet off: remove the account with its key. Cards on phones are no longer brought up to date, and go on " +
			"showing the names of their holders.",
		op:      operation.RemoveGoogleWallet,
		asks:    "Switch Google Wallet off and remove its key?",
		texts:   map[string]string{"yes": "Do it without asking, and also while cards are on phones."},
		columns: googleColumns,
		asList:  true,
	},
}

var googleColumns = []string{"state", "issuer=issuer_id", "account=client_email", "set=set_at", "cards on phones=cards"}

// phoneURLFlag is the flag of commands that need a public URL which phones can open.
type phoneURLFlag struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"The public URL of the server, for a shop that has none of its own. Default: that which init was given for the file."`
}

func (f *phoneURLFlag) prepare(i *invocation) error {
	i.options.PublicURL, i.needsURL = strings.TrimRight(f.PublicURL, "/"), true
	return nil
}

// requestFlags are the flags of a certificate request.
type requestFlags struct {
	phoneURLFlag
	Out string `type:"path" placeholder:"FILE" help:"File to write, which must not exist. Default: standard output."`
}

func (f *requestFlags) prepare(i *invocation) error {
	if f.Out != "" {
		i.then = f.write
	}
	return f.phoneURLFlag.prepare(i)
}

// write writes the request to the file, and adds its name to the answer.
func (f *requestFlags) write(i *invocation, answer []byte) ([]byte, error) {
	var r row
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, err
	}
	if err := writeNew(map[string]string{f.Out: r.value("request")}); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	r["out"] = f.Out
	return json.Marshal(r)
}

// certificateFlags are the flags of a certificate.
type certificateFlags struct {
	phoneURLFlag
	PasswordFile string `type:"path" placeholder:"FILE" help:"File whose only line is the password of a .p12 file."`
}

func (f *certificateFlags) prepare(i *invocation) error {
	file, err := readWhole(i.args.Fields.Get("file"))
	if err != nil {
		return err
	}
	i.args.Fields.Set("file", string(file))
	if f.PasswordFile != "" {
		password, err := readPassword(f.PasswordFile)
		if err != nil {
			return fmt.Errorf("--password-file: %w", err)
		}
		i.args.Fields.Set("password", password)
	}
	return f.phoneURLFlag.prepare(i)
}

// googleFlags are the flags of an account.
type googleFlags struct {
	phoneURLFlag
	URL string `name:"google-wallet-url" placeholder:"URL" help:"API of Google Wallet, for tests. Default: that of Google."`
}

func (f *googleFlags) prepare(i *invocation) error {
	if path := i.args.Fields.Get("account"); path != "" {
		file, err := readWhole(path)
		if err != nil {
			return err
		}
		i.args.Fields.Set("account", string(file))
	}
	g := &wallet.Google{URL: cmp.Or(f.URL, google.DefaultURL), Transport: (&webhook.Guard{Loopback: true}).Transport(1)}
	i.conf.Google = g
	i.fill = func(_ url.Values, _ store.Shop, st *store.Store) error {
		g.Store = st
		return nil
	}
	return f.phoneURLFlag.prepare(i)
}
