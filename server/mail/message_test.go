package mail

import (
	"bytes"
	"cmp"
	"mime"
	"net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

var from = &mail.Address{Name: "Caffè, \"Lux\"", Address: "cards@example.com"}

// headers are the headers of every message.
var headers = []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}

// checkMessage checks that the message about a card of a program has each of headers once, the subject and the recipient, and
// the link of the card in both parts.
func checkMessage(t *testing.T, to, program, subject string) {
	t.Helper()
	m := &store.QueuedMail{
		Token: "token",
		Mail:  store.Mail{To: to, Program: program, Link: "https://cards.example.com/i/token", At: 1},
	}
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
	h, body, page := mailtest.Message{Data: b.Bytes()}.Parts(t)
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
	if got, err := h.AddressList("To"); err != nil || len(got) != 1 || got[0].Address != to {
		t.Errorf("%q: to %v, %v", subject, got, err)
	}
	if links := linksOf(t, page); !slices.Equal(links, []string{"https://cards.example.com/i/token"}) || !strings.Contains(body, links[0]) {
		t.Errorf("%q: the text is %q, and the page has the links %q", subject, body, links)
	}
}

// TestHostileNames checks that no name of a program adds a header or ends one.
func TestHostileNames(t *testing.T) {
	t.Parallel()
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
		checkMessage(t, "ada@example.com", name, "Your card: "+reads)
	}
}

func TestAddresses(t *testing.T) {
	run(t, nil, func(f *fixture) {
		for _, to := range []string{
			"a@b.example", "o'neil+tag@example.com", "zoë@example.com", "ζωή@παράδειγμα.example",
			strings.Repeat("x", 64) + "@" + strings.Repeat("y.", 90) + "example",
		} {
			checkMessage(t, to, "Tea", "Your card: Tea")
			f.issue(to)
			if m := f.nextMessage(); m.To != to || m.UTF8 == isASCII(to) {
				t.Errorf("%s: sent to %s, SMTPUTF8 %t", to, m.To, m.UTF8)
			}
		}
	})
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	id := messageID("token", from)
	if id != messageID("token", from) || id == messageID("tokem", from) || !strings.HasSuffix(id, "@example.com") ||
		strings.Contains(id, "token") {
		t.Errorf("the id is %s", id)
	}
}

// linksOf returns the links of the HTML of a message, each once. The page must load nothing and
// have no other elements than those of the template.
func linksOf(t *testing.T, page string) (links []string) {
	t.Helper()
	if len(page) > 6000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	root, err := html.Parse(strings.NewReader(page))
	noError(t, err)
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains([]string{"html", "head", "meta", "title", "body", "div", "h1", "p", "a"}, n.Data) {
			t.Errorf("the page has an element %s: %s", n.Data, page)
		}
		for _, a := range n.Attr {
			if !slices.Contains([]string{"lang", "charset", "name", "content", "style", "dir", "href"}, a.Key) ||
				a.Key == "href" && n.Data != "a" ||
				strings.Contains(a.Val, "url(") ||
				strings.Contains(a.Val, "@import") {
				t.Errorf("the page has the attribute %s=%q: %s", a.Key, a.Val, page)
			}
			if a.Key == "href" && !slices.Contains(links, a.Val) {
				links = append(links, a.Val)
			}
		}
	}
	return links
}

// TestParts checks of each kind of message in each language that both parts have the same
// links and sentences, that markup in names is text, and that each attempt is the same.
func TestParts(t *testing.T) {
	t.Parallel()
	const name = `</p><img src=x onerror=alert(1)><a href="https://evil.example">& "Söhne"</a>`
	web := regexp.MustCompile(`https?://[^\s<>"]+`)
	for _, m := range []store.Mail{
		{Program: name, Link: "https://cards.example.com/i/token"},
		{Link: "https://cards.example.com/i/token"},
		{Kind: store.MailTest},
		{Kind: store.LinkInvitation, Shop: name, Link: "https://cards.example.com/invite/token"},
		{Kind: store.LinkInvitation, Link: "https://cards.example.com/invite/token"},
		{Kind: store.LinkReset, Link: "https://cards.example.com/reset/token"},
		{
			Kind: store.MailLost,
			Lost: []store.LostCard{
				{Program: name, Shop: "Bar", Link: "https://cards.example.com/c/1"},
				{Link: "https://cards.example.com/c/2"},
			},
		},
	} {
		for _, m.Language = range []string{"en", "it", "es", "fr", "de", "pt", "xx"} {
			m.To, m.At = "ada@example.com", 1
			q := &store.QueuedMail{Mail: m, Token: "token"}
			var b, again bytes.Buffer
			message(q, from).WriteTo(&b)
			if message(q, from).WriteTo(&again); b.String() != again.String() {
				t.Errorf("another attempt is\n%s\nnot\n%s", &again, &b)
			}
			_, text, page := mailtest.Message{Data: b.Bytes()}.Parts(t)
			links := web.FindAllString(strings.ReplaceAll(text, oneLineOf(name), ""), -1)
			if got := linksOf(t, page); !slices.Equal(got, links) || len(links) == 0 && m.Kind != store.MailTest {
				t.Errorf("%+v: the links are %q and %q", m, links, got)
			}
			root, _ := html.Parse(strings.NewReader(page))
			var shown strings.Builder
			for n := range root.Descendants() {
				if n.Type == html.TextNode {
					shown.WriteString(n.Data)
				}
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
				if !strings.Contains(shown.String(), line) {
					t.Errorf("%+v: the page lacks %q:\n%s", m, line, page)
				}
			}
			if want := map[string]string{"xx": "en"}[m.Language]; !strings.Contains(page, `<html lang="`+cmp.Or(want, m.Language)+`">`) {
				t.Errorf("the page is not in %s", m.Language)
			}
		}
	}
}

// oneLineOf returns a name as the texts have it.
func oneLineOf(name string) string { return strings.Join(strings.Fields(name), " ") }

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
