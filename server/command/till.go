package command

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/server/web"
	"punchcard/store"
)

// Till groups the commands that do at a running server what a till does.
type Till struct {
	Lookup TillLookup `cmd:"" help:"Show a card: its stamps or balance, and the prizes that are due."`
	Stamp  TillStamp  `cmd:"" help:"Give stamps."`
	Redeem TillRedeem `cmd:"" help:"Redeem a prize."`
	TopUp  TillTopUp  `cmd:"" name:"top-up" help:"Add money to a prepaid card."`
	Spend  TillSpend  `cmd:"" help:"Take money from a prepaid card."`
	Use    TillUse    `cmd:"" help:"Use an access or discount card."`
	Undo   TillUndo   `cmd:"" help:"Take a transaction back, by default the latest one of this till."`
}

// tillFlags are the flags of the commands of a till. The token of the device comes from
// PUNCHCARD_TILL_TOKEN, since other programs can read arguments.
type tillFlags struct {
	URL  string `name:"url" env:"PUNCHCARD_TILL_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Where the server answers."`
	PIN  askPIN `name:"pin" env:"-" help:"Send the location's staff PIN, which is asked for or read from standard input."`
	JSON bool   `name:"json" env:"-" help:"Print the answer of the server."`
}

// askPIN is a flag that asks for a PIN. It refuses a value without repeating it.
type askPIN bool

// Decode sets the flag.
func (p *askPIN) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		ctx.Scan.Pop()
		return errPINArgument
	}
	*p = true
	return nil
}

// IsBool reports that the flag needs no value.
func (*askPIN) IsBool() bool { return true }

// The bounds of a request of a till.
const (
	tillTimeout  = 30 * time.Second
	tillAnswer   = 4 << 20 // bytes
	tillAttempts = 3       // of a request that gets no answer; the reference makes it once
)

// tillClient sends the requests of one command.
type tillClient struct {
	tillFlags
	token, pin string
	http       http.Client
	raw        []byte // the latest answer
}

// open returns a client, and asks for the PIN if a write needs it.
func (f tillFlags) open() (*tillClient, error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("--url (PUNCHCARD_TILL_URL): must be the http or https URL of the server, such as https://cards.example.com")
	}
	c := &tillClient{tillFlags: f, token: os.Getenv("PUNCHCARD_TILL_TOKEN"), http: http.Client{Timeout: tillTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if !kernel.IsDeviceToken(c.token) {
		return nil, errors.New("PUNCHCARD_TILL_TOKEN: must be the token of a device, which begins tdk_; make one with: punchcard device create")
	}
	if f.PIN {
		if c.pin, err = readPIN(""); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// get reads a path of the till API.
func (c *tillClient) get(path string, out any) error { return c.call("GET", path, nil, out) }

// post writes, once whatever becomes of the connection.
func (c *tillClient) post(path string, fields map[string]any, out any) error {
	var b [16]byte
	rand.Read(b[:])
	fields["client_reference"] = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return c.call("POST", path, body, out)
}

// call sends a request, again if there is no answer, and decodes the answer.
func (c *tillClient) call(method, path string, body []byte, out any) (err error) {
	for range tillAttempts {
		var status int
		if status, err = c.send(method, path, body); err == nil && status < 500 {
			return c.decode(status, out)
		} else if err == nil {
			err = c.decode(status, out)
		}
		if errors.Is(err, errNoServer) {
			return err
		}
	}
	return err
}

// errNoServer is the error of a connection that is refused.
var errNoServer = errors.New("no server answers there; start it with: punchcard serve")

// send sends a request once and returns the status of the answer.
func (c *tillClient) send(method, path string, body []byte) (int, error) {
	req, err := http.NewRequest(method, strings.TrimRight(c.URL, "/")+till.Prefix+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
		if c.pin != "" {
			req.Header.Set("X-Staff-Pin", c.pin)
		}
	}
	resp, err := c.http.Do(req)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "dial":
		return 0, fmt.Errorf("--url %s: %w", c.URL, errNoServer)
	case err != nil:
		return 0, fmt.Errorf("--url %s: no answer: %w", c.URL, err)
	}
	defer resp.Body.Close()
	c.raw, err = io.ReadAll(io.LimitReader(resp.Body, tillAnswer))
	return resp.StatusCode, err
}

// decode decodes an answer. A refusal is an error with the server's sentence.
func (c *tillClient) decode(status int, out any) error {
	if status < 300 && json.Unmarshal(c.raw, out) == nil {
		return nil
	}
	var e struct{ Error kernel.Error }
	if json.Unmarshal(c.raw, &e) != nil || e.Error.Message == "" {
		return fmt.Errorf("--url %s: answered %d, not as a punchcard server does", c.URL, status)
	}
	message := e.Error.Message
	var faults []string
	for _, d := range e.Error.Details {
		faults = append(faults, tillFlag(d.Field)+" "+strings.TrimPrefix(strings.TrimSuffix(d.Message, "."), d.Field+" "))
	}
	if faults != nil {
		message = strings.Join(faults, "; ")
	}
	switch {
	case e.Error.Code == store.Unauthenticated:
		message = "PUNCHCARD_TILL_TOKEN: " + message
	case e.Error.Code == store.InvalidCredentials && c.pin == "":
		message += " With --pin the command asks for it."
	}
	return errors.New(message)
}

// tillFlag returns what a command calls a field of the till API.
func tillFlag(field string) string {
	switch field {
	case "amount_cents":
		return "AMOUNT"
	case "spend_cents":
		return "--spend"
	case "prize_id":
		return "PRIZE"
	}
	return flagOf(field)
}

// show prints the latest answer with --json, and otherwise sentences.
func (c *tillClient) show(sentences ...string) error {
	if c.JSON {
		_, err := Out.Write(append(bytes.TrimSpace(c.raw), '\n'))
		return err
	}
	for _, s := range sentences {
		printf(Out, "%s\n", s)
	}
	return nil
}

// aTillCard has the flags of a command on one card.
type aTillCard struct {
	tillFlags
	Code string `arg:"" help:"What the card's QR code holds, or its short code. An id works in lookup, and on devices made with --accept-card-ids."`
}

// path returns the path of the card with what follows.
func (c aTillCard) path(rest string) string { return "/cards/" + url.PathEscape(c.Code) + rest }

// holder names the card by its holder.
func holder(c store.CardDetail) string {
	if c.HolderName.V != "" {
		return "The card of " + c.HolderName.V
	}
	return "The card"
}

// sayCard says what is on a card.
func sayCard(l store.Lookup, currency string) (say []string) {
	head := fmt.Sprintf("%s (%s) is %s", holder(l.Card), l.Program.Name, l.Card.Status)
	switch {
	case l.Card.CurrentValue.Valid:
		head += " and has " + money(l.Card.CurrentValue.V, currency)
	case l.Program.TotalStamps.Valid:
		head += fmt.Sprintf(" and has %d of %d stamps", l.Card.StampsCount, l.Program.TotalStamps.V)
	case l.Program.DiscountPercent.Valid:
		head += fmt.Sprintf(" and gives %g %% off", l.Program.DiscountPercent.V)
	}
	say = append(say, head+".")
	for _, z := range l.Prizes {
		switch {
		case z.Available:
			say = append(say, "Due: "+z.Name+".")
		case !z.Claimed && z.Threshold > l.Card.StampsCount:
			say = append(say, fmt.Sprintf("%d more for: %s.", z.Threshold-l.Card.StampsCount, z.Name))
		}
	}
	return say
}

// money returns an amount with its currency.
func money(cents int64, currency string) string {
	return web.PrinterFor("en").Amount(cents, currency) + " " + currency
}

// TillLookup is the command that shows a card.
type TillLookup struct{ aTillCard }

// Run shows the card.
func (c *TillLookup) Run() error {
	client, err := c.open()
	if err != nil {
		return err
	}
	var me store.TillMe
	var l store.Lookup
	if err := client.get("/me", &me); err != nil {
		return err
	}
	if err := client.get(c.path(""), &l); err != nil {
		return err
	}
	return client.show(sayCard(l, me.Shop.Currency)...)
}

// write writes and prints what was done and what is on the card then.
func (c *tillClient) write(path string, fields map[string]any, done func(store.Stamped, string) string) error {
	var me store.TillMe
	var l store.Lookup
	var out store.Stamped
	if err := c.post(path, fields, &out); err != nil {
		return err
	}
	if c.JSON {
		return c.show()
	}
	if err := c.get("/me", &me); err != nil {
		return fmt.Errorf("it was done, as %s; but then: %w", out.Transaction.ID, err)
	}
	shown := out.Card
	if out.OverflowCard != nil {
		shown = *out.OverflowCard
	}
	if err := c.get("/cards/"+url.PathEscape(shown.ID), &l); err != nil {
		return fmt.Errorf("it was done, as %s; but then: %w", out.Transaction.ID, err)
	}
	say := append([]string{done(out, me.Shop.Currency)}, sayCard(l, me.Shop.Currency)...)
	if out.Transaction.Type != store.TransactionReversal {
		say = append(say, "Take it back with: punchcard till undo "+out.Transaction.ID)
	}
	return c.show(say...)
}

// TillStamp is the command that gives stamps.
type TillStamp struct {
	aTillCard
	Count int64  `env:"-" default:"1" help:"Number of stamps."`
	Spend string `env:"-" placeholder:"AMOUNT" help:"What was bought, such as 12.50, where the program demands it."`
}

// Run gives the stamps.
func (c *TillStamp) Run() error {
	client, err := c.open()
	if err != nil {
		return err
	}
	fields := map[string]any{"count": c.Count}
	if c.Spend != "" {
		if fields["spend_cents"], err = client.cents("--spend", c.Spend); err != nil {
			return err
		}
	}
	return client.write(c.path("/stamps"), fields, func(s store.Stamped, _ string) string {
		given := s.Transaction.StampsDelta.V
		if s.OverflowTransaction != nil {
			given += s.OverflowTransaction.StampsDelta.V
		}
		if given == 1 {
			return "1 stamp given."
		}
		return fmt.Sprintf("%d stamps given.", given)
	})
}

// cents returns an amount in the smallest units of the shop's currency.
func (c *tillClient) cents(name, text string) (int64, error) {
	var me store.TillMe
	if err := c.get("/me", &me); err != nil {
		return 0, err
	}
	cents, ok := web.ParseAmount(text, me.Shop.Currency)
	if !ok {
		return 0, fmt.Errorf("%s: must be an amount in %s, such as %s", name, me.Shop.Currency, web.PrinterFor("en").Amount(1250, me.Shop.Currency))
	}
	return cents, nil
}

// TillRedeem is the command that redeems a prize.
type TillRedeem struct {
	aTillCard
	Prize string `arg:"" optional:"" help:"The prize: its id or name. Default: the only one that is due."`
}

// Run redeems the prize.
func (c *TillRedeem) Run() error {
	client, err := c.open()
	if err != nil {
		return err
	}
	var l store.Lookup
	if err := client.get(c.path(""), &l); err != nil {
		return err
	}
	prize, err := choosePrize(l, c.Prize)
	if err != nil {
		return err
	}
	return client.write(c.path("/redemptions"), map[string]any{"prize_id": prize.ID}, func(store.Stamped, string) string { return prize.Name + " redeemed." })
}

// choosePrize returns the prize of a card that a text names. Whether it is due is for the
// server to say.
func choosePrize(l store.Lookup, text string) (z store.Prize, err error) {
	var found []store.Prize
	var due, all []string
	ladder := l.Prizes
	for _, earlier := range l.EarlierCards {
		ladder = append(ladder, earlier.Prizes...)
	}
	seen := map[string]bool{}
	for _, p := range ladder {
		if text == "" && !p.Available || seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		all = append(all, p.Name)
		if p.Available {
			due = append(due, p.Name)
		}
		if text == "" || p.ID == text || strings.EqualFold(p.Name, strings.TrimSpace(text)) {
			found = append(found, p.Prize)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case strings.HasPrefix(text, "prz_"):
		return store.Prize{ID: text, Name: text}, nil
	case text == "" && len(due) == 0:
		return z, fmt.Errorf("no prize is due on this card")
	case text == "":
		return z, fmt.Errorf("%d prizes are due; name one: %s", len(due), strings.Join(due, ", "))
	case len(found) > 1:
		return z, fmt.Errorf("%d prizes are named %s; give the id of one", len(found), text)
	}
	return z, fmt.Errorf("no prize is named %s; there are: %s", text, cmp.Or(strings.Join(all, ", "), "none"))
}

// tillAmount has the flags of a command on the balance of a card.
type tillAmount struct {
	aTillCard
	Amount string `arg:"" help:"The amount, such as 12.50."`
}

// change changes the balance.
func (c *tillAmount) change(path, done string) error {
	client, err := c.open()
	if err != nil {
		return err
	}
	cents, err := client.cents("AMOUNT", c.Amount)
	if err != nil {
		return err
	}
	return client.write(c.path(path), map[string]any{"amount_cents": cents}, func(_ store.Stamped, currency string) string { return money(cents, currency) + " " + done + "." })
}

type (
	// TillTopUp is the command that adds money to a card.
	TillTopUp struct{ tillAmount }
	// TillSpend is the command that takes money from a card.
	TillSpend struct{ tillAmount }
	// TillUse is the command that uses an access or discount card.
	TillUse struct{ aTillCard }
	// TillUndo is the command that takes a transaction back.
	TillUndo struct {
		tillFlags
		Transaction string `arg:"" optional:"" help:"The id of the transaction. Default: the latest of this till that can be taken back."`
	}
)

// Run adds the money.
func (c *TillTopUp) Run() error { return c.change("/topups", "added") }

// Run takes the money.
func (c *TillSpend) Run() error { return c.change("/spends", "taken") }

// Run uses the card.
func (c *TillUse) Run() error {
	client, err := c.open()
	if err != nil {
		return err
	}
	return client.write(c.path("/uses"), map[string]any{}, func(store.Stamped, string) string { return "Used." })
}

// Run takes the transaction back.
func (c *TillUndo) Run() error {
	client, err := c.open()
	if err != nil {
		return err
	}
	if c.Transaction == "" {
		var latest struct{ Data []store.TillRow }
		if err := client.get("/transactions?limit=50", &latest); err != nil {
			return err
		}
		for _, row := range latest.Data {
			if c.Transaction == "" && row.Type != store.TransactionReversal && !row.ReversedAt.Valid {
				c.Transaction = row.ID
			}
		}
		if c.Transaction == "" {
			return errors.New("this till has made nothing that could be taken back")
		}
	}
	return client.write("/transactions/"+url.PathEscape(c.Transaction)+"/reversal", map[string]any{}, func(store.Stamped, string) string { return "Taken back." })
}
