package command

import (
	"fmt"
	"strings"

	"punchcard/server/app"
	"punchcard/server/operation"
)

// limitFlag is the flag of commands that list pages.
type limitFlag struct {
	Limit int `default:"100" env:"-" help:"Maximum number of rows; 0 for all."`
}

func (f *limitFlag) prepare(i *invocation) error {
	if f.Limit < 0 {
		return usagef("--limit: must not be negative")
	}
	i.limit = f.Limit
	return nil
}

// keyLimits are the flags of commands that create a key, which respect the limits of keys.
type keyLimits struct {
	app.KeyLimits `group:"Limits:"`
}

func (f *keyLimits) prepare(i *invocation) error {
	i.options.Limits = f.Store()
	i.liftedBy = "--api-key-max-per-shop (API_KEY_MAX_PER_SHOP) and --mcp-key-max-per-shop (MCP_KEY_MAX_PER_SHOP) raise it"
	return f.Check()
}

// publicURLFlag is the flag of commands that print a one-time link.
type publicURLFlag struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"What the link begins with: the public URL of the server. Default: that which init was given for the file; without it the path of the link alone is printed. The link of a till begins with that of its shop, if it has one."`
}

func (f *publicURLFlag) prepare(i *invocation) error {
	i.options.PublicURL = strings.TrimRight(f.PublicURL, "/")
	i.ofServer = i.ofServer || i.op == operation.InvitePerson && i.args.Fields.Get("role") == "operator"
	return nil
}

// linkFlag are the flags of commands that make an install link. They have the names and
// variables of those of the server, which sends the mail.
type linkFlag struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"Base URL of the install link of a shop that has none of its own: the public URL of the server. Default: that which init was given for the file."`
	SMTPURL   string `name:"smtp-url" placeholder:"URL" help:"Mail server of punchcard serve, which sends the mail of --send-email. Without it --send-email is refused."`
}

// prepare refuses mail that no server would send.
func (f *linkFlag) prepare(i *invocation) error {
	i.options.PublicURL, i.options.QueueMail, i.needsURL = strings.TrimRight(f.PublicURL, "/"), f.SMTPURL != "", true
	if i.args.Fields.Get("send_email") != "true" {
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
