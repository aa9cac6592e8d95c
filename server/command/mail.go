package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"punchcard/server/app"
	"punchcard/server/mail"
	"punchcard/store"
)

// MailFlags are the flags for sending mail.
type MailFlags struct {
	SMTPURL          string `name:"smtp-url" placeholder:"URL" help:"Mail server for send_email, such as smtp://cards@mail.example.com:587 (STARTTLS) or smtps://cards@mail.example.com:465. Default: none, and send_email is refused."`
	SMTPPasswordFile string `name:"smtp-password-file" type:"path" placeholder:"FILE" help:"File whose only line is the password of the user in --smtp-url."`
	MailFrom         string `name:"mail-from" placeholder:"ADDRESS" help:"Sender of mail, such as 'Coffee <cards@example.com>'; needed with --smtp-url."`
}

// Names of the flags in errors. Errors do not repeat values, since a URL may contain
// a password by mistake.
const (
	smtpURL      = "--smtp-url (PUNCHCARD_SMTP_URL)"
	passwordFile = "--smtp-password-file (PUNCHCARD_SMTP_PASSWORD_FILE)"
	mailFrom     = "--mail-from (PUNCHCARD_MAIL_FROM)"
)

// setMail makes a server send mail, if a mail server is given.
func (f MailFlags) setMail(conf *app.Config) error {
	if f.SMTPURL == "" {
		for flag, value := range map[string]string{mailFrom: f.MailFrom, passwordFile: f.SMTPPasswordFile} {
			if value != "" {
				return fmt.Errorf("%s: needs %s", flag, smtpURL)
			}
		}
		return nil
	}
	c, err := f.config()
	if err != nil {
		return err
	}
	conf.Mail = func(st *store.Store, log *slog.Logger, observe func(outcome string)) app.Service {
		own := c
		own.Store, own.Watch = st, st.Watch
		own.Log, own.Observe = log, observe
		return mail.New(own)
	}
	conf.PushSubject = "mailto:" + c.From.Address
	conf.TestMail = func(ctx context.Context, m store.Mail) error { return mail.SendTest(ctx, c.Server, c.From, m) }
	return nil
}

// config returns the configuration for sending mail.
func (f MailFlags) config() (c mail.Config, err error) {
	if c.Server, err = readSMTP(f.SMTPURL); err != nil {
		return c, fmt.Errorf("%s: %w", smtpURL, err)
	}
	if f.MailFrom == "" {
		return c, fmt.Errorf("%s: needs %s", smtpURL, mailFrom)
	}
	if c.From, err = readSender(f.MailFrom); err != nil {
		return c, fmt.Errorf("%s: %w", mailFrom, err)
	}
	switch {
	case c.Server.User != "" && f.SMTPPasswordFile == "":
		return c, fmt.Errorf("%s: names a user, and so needs %s", smtpURL, passwordFile)
	case c.Server.User == "" && f.SMTPPasswordFile != "":
		return c, fmt.Errorf("%s: needs a user in %s, such as smtp://cards@mail.example.com", passwordFile, smtpURL)
	case f.SMTPPasswordFile != "":
		if c.Server.Password, err = readPassword(f.SMTPPasswordFile); err != nil {
			return c, fmt.Errorf("%s: %w", passwordFile, err)
		}
	}
	return c, nil
}

// readSMTP parses the URL of a mail server.
func readSMTP(text string) (s mail.Server, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.Fragment != "" ||
		(u.Scheme != "smtp" && u.Scheme != "smtps") ||
		strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r == ' ' || r > unicode.MaxASCII || unicode.IsControl(r) }) {
		return s, errors.New("must be a URL such as smtp://cards@mail.example.com:587 or smtps://mail.example.com:465, without a path")
	}
	s.Host, s.Port = u.Hostname(), 587
	if u.Scheme == "smtps" {
		s.Port, s.Security = 465, mail.ImplicitTLS
	}
	if port := u.Port(); port != "" {
		if s.Port, err = strconv.Atoi(port); err != nil || s.Port < 1 || s.Port > 65535 {
			return s, errors.New("its port must be from 1 to 65535")
		}
	}
	near := loopback(net.JoinHostPort(s.Host, "1"))
	if near && u.Scheme == "smtp" {
		s.Security = mail.MaybeTLS
	}
	switch query := u.Query(); {
	case u.RawQuery == "":
	case len(query) == 1 && len(query["tls"]) == 1 && query.Get("tls") == "none" && u.Scheme == "smtp":
		s.Security = mail.Unencrypted
	default:
		return s, errors.New("may end with ?tls=none after smtp://, which sends all mail unencrypted, and with no other parameter")
	}
	if u.User == nil {
		return s, nil
	}
	if _, given := u.User.Password(); given {
		return s, fmt.Errorf("must not hold a password, which others could read; give it by %s", passwordFile)
	}
	s.User = u.User.Username()
	switch {
	case s.User == "" || strings.ContainsFunc(s.User, unicode.IsControl):
		return s, errors.New("its user must have a name without control characters; write a @ in it as %40")
	case s.Security == mail.Unencrypted && !near:
		return s, errors.New("must not name a user with ?tls=none: a password goes to another machine encrypted only")
	}
	return s, nil
}

// readSender parses a mail address with or without a name.
func readSender(text string) (*netmail.Address, error) {
	a, err := netmail.ParseAddress(text)
	if err != nil || len(a.Address) > 254 || len(a.Name) > 200 || strings.ContainsFunc(a.Name, unicode.IsControl) ||
		strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || strings.ContainsRune(`"[]`, r) }) {
		return nil, errors.New(
			"must be one address, with or without a name before it, such as Coffee <cards@example.com>; " +
				"a name of at most 200 bytes, an address of ASCII alone",
		)
	}
	return a, nil
}

// readPassword returns the only line of a file.
func readPassword(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 1026))
	if err != nil {
		return "", err
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if line == "" || len(line) > 1024 || strings.ContainsFunc(line, unicode.IsControl) {
		return "", fmt.Errorf("%s must hold one line of 1 to 1024 bytes, without control characters", path)
	}
	return line, nil
}
