package mail

import (
	"bytes"
	"mime"
	"net/mail"
	"net/textproto"
	"strings"
	"testing"
	"unicode/utf8"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

var from = &mail.Address{Name: "Caffè, \"Lux\"", Address: "cards@example.com"}

// headers are the headers of every message.
var headers = []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}

// checkMessage checks that the message has these headers once each, the subject, and the text.
func checkMessage(t *testing.T, m *store.QueuedMail, subject string) {
	t.Helper()
	var b bytes.Buffer
	if _, err := message(m, from).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(b.String(), "\r\n\r\n")
	for line := range strings.SplitSeq(head, "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || !utf8.ValidString(line) {
			t.Errorf("a line of %q is %q", subject, line)
		}
	}
	h, body := mailtest.Message{Data: b.Bytes()}.Parsed(t)
	if len(h) != len(headers) {
		t.Errorf("the headers of %q are %v", subject, h)
	}
	for _, name := range headers {
		if n := len(textproto.MIMEHeader(h).Values(name)); n != 1 {
			t.Errorf("%q: %s occurs %d times", subject, name, n)
		}
	}
	got, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(subject), " ") {
		t.Errorf("the subject reads %q, %v, want %q", got, err, subject)
	}
	if to, err := h.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != m.To {
		t.Errorf("%q: to %v, %v", subject, to, err)
	}
	if !strings.Contains(body, "https://cards.example.com/i/token") {
		t.Errorf("%q: the text is %q", subject, body)
	}
}

func TestHostileNames(t *testing.T) {
	for name, reads := range map[string]string{
		"Coffee": "Coffee", "Caffè & Söhne ☕": "Caffè & Söhne ☕",
		"x\r\nBcc: eve@example.com":       "x Bcc: eve@example.com",
		"x\nBcc: eve@example.com\n\nBody": "x Bcc: eve@example.com Body",
		"x\r\n\r\n.\r\nQUIT":              "x . QUIT",
		"è\r\nBcc: eve@example.com":       "è Bcc: eve@example.com",
		"nul\x00, bell\a, \u0085 \u2028":  "nul , bell ,",
		"=?utf-8?q?=0D=0ABcc:_eve?=":      "= ?utf-8?q?=0D=0ABcc:_eve?=",
		"bad \xff\xfe bytes":              "bad \ufffd bytes",
		strings.Repeat("long ", 40):       strings.Repeat("long ", 40),
		strings.Repeat("☕", 200):          strings.Repeat("☕", 200),
		strings.Repeat("x", 200):          strings.Repeat("x", 200),
	} {
		checkMessage(t, &store.QueuedMail{Token: "token", Mail: store.Mail{To: "ada@example.com", Program: name, Link: "https://cards.example.com/i/token", At: 1}}, "Your card: "+reads)
	}
}

func TestAddresses(t *testing.T) {
	for _, to := range []string{"a@b.example", "o'neil+tag@example.com", "zoë@example.com", "ζωή@παράδειγμα.example", strings.Repeat("x", 64) + "@" + strings.Repeat("y.", 90) + "example"} {
		checkMessage(t, &store.QueuedMail{Token: "token", Mail: store.Mail{To: to, Program: "Tea", Link: "https://cards.example.com/i/token"}}, "Your card: Tea")
		run(t, nil, func(f *fixture) {
			f.issue(to)
			if m := f.nextMessage(); m.To != to || m.UTF8 == isASCII(to) {
				t.Errorf("%s: sent to %s, SMTPUTF8 %t", to, m.To, m.UTF8)
			}
		})
	}
}

func TestMessageID(t *testing.T) {
	id := messageID("token", from)
	if id != messageID("token", from) || id == messageID("tokem", from) || !strings.HasSuffix(id, "@example.com") || strings.Contains(id, "token") {
		t.Errorf("the id is %s", id)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add("Coffee")
	f.Add("x\r\nBcc: eve@example.com\r\n\r\n")
	f.Add("=?utf-8?b?DQo=?= \xff \u2028")
	f.Fuzz(func(t *testing.T, name string) {
		var b bytes.Buffer
		m := &store.QueuedMail{Mail: store.Mail{To: "ada@example.com", Program: name}}
		if _, err := message(m, from).WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if h, _ := (mailtest.Message{Data: b.Bytes()}).Parsed(t); len(h) != len(headers) {
			t.Errorf("%q: the headers are %v", name, h)
		}
	})
}
