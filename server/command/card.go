package command

import (
	"fmt"
	"strings"
)

// linkFlag are the flags of commands that make an install link. They have the names and
// variables of those of the server, which sends the mail.
type linkFlag struct {
	PublicURL string `name:"public-url" placeholder:"URL" help:"Base URL of the install link: the public URL of the server. Default: that which init was given for the file."`
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
