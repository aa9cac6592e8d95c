package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// soldCards is how many cards the shop has that is sold.
const soldCards = 200

// soldShop is a shop of the file that moves to a file and a server of its own.
type soldShop struct {
	shop
	till   face
	cards  []string
	link   string // of a card
	listed []byte // its first cards as the API lists them

	there       *server // after the move
	certificate string  // file of that server
	client      *http.Client
}

// guest returns the name of a customer of the shop that will be sold.
func guest(n int) string { return fmt.Sprintf("Piero Chiosconi-%03d", n) }

// soldKept is how many nights after the move the file has nothing of the shop that was sold: some more than the 30 days after which
// the server begins to erase it.
const soldKept = 35

// openSold makes the shop that will be sold, with cards that have three stamps each.
func (y *year) openSold() error {
	s := &soldShop{shop: shop{name: "Chiosco"}}
	var made struct {
		ShopID    string `json:"shop_id"`
		APIKey    string `json:"api_key"`
		TillToken string `json:"till_token"`
	}
	fields := map[string]any{"name": s.name, "timezone": "Europe/Rome", "api_addon": true}
	if err := y.need(y.control(), "POST", "/shops", fields, &made); err != nil {
		return err
	}
	s.ID, s.api, s.till = made.ShopID, bearer("rest", "/api/public/v1", made.APIKey), bearer("till", "/till/v1", made.TillToken)
	if err := y.sell(&s.shop); err != nil {
		return err
	}
	var all struct{ Data []*program }
	if err := y.need(s.api, "GET", "/programs", nil, &all); err != nil {
		return err
	}
	for n := range soldCards {
		var card struct {
			ID         string
			InstallURL string `json:"install_url"`
		}
		body := map[string]any{"holder_name": guest(n), "external_ref": fmt.Sprint("g-", n)}
		if err := y.need(s.api, "POST", "/programs/"+all.Data[0].ID+"/cards", body, &card); err != nil {
			return err
		}
		s.cards, s.link = append(s.cards, card.ID), card.InstallURL
		if err := y.need(s.till, "POST", "/cards/"+card.ID+"/stamps", map[string]any{"count": 3}, nil); err != nil {
			return err
		}
	}
	y.sold = s
	return nil
}

// at returns a face of the shop at its own server.
func (s *soldShop) at(f face) face {
	f.origin, f.client = "https://"+s.there.addr, s.client
	return f
}

// list returns the first cards of the shop.
func (y *year) list(f face) ([]byte, bool) {
	r, ok := y.ask(f, "GET", "/cards?limit=100", nil, "200")
	return r.body, ok
}

// sellShop moves the shop to a file of its own, beside the server, and serves it there over TLS for two nights.
func (y *year) sellShop() error {
	s := y.sold
	s.listed, _ = y.list(s.api)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr, db := l.Addr().String(), y.path("sold.db")
	l.Close()
	if err := y.server.command("shop", "split", s.ID, "--out", db, "--moved-to", "https://"+addr, "--quiet"); err != nil {
		return err
	}
	s.there = &server{binary: y.server.binary, db: db, addr: addr}
	if err := s.there.command("check"); err != nil {
		return err
	}
	y.ask(s.api, "GET", "/cards?limit=100", nil, "410 gone")
	y.ask(s.till, "GET", "/me", nil, "410 gone")
	r, ok := y.ask(face{name: "page"}, "GET", y.pathOf(s.link), nil, "307")
	if ok && !strings.HasPrefix(r.header.Get("Location"), "https://"+addr) {
		y.fault("a link of the shop that was sold leads to %s", r.header.Get("Location"))
	}
	y.after(soldKept, func() error {
		for n, card := range s.cards {
			y.erased.write(erasure{card, []string{guest(n)}})
		}
		return nil
	})

	return y.serveSold()
}

// serveSold starts the server of the shop that was sold. In the next night it gets a new certificate while it runs, and in the night
// after that it ends.
func (y *year) serveSold() (err error) {
	s := y.sold
	s.certificate = y.path("sold.pem")
	if s.client, err = newCertificate(s.certificate); err != nil {
		return err
	}
	cmd := exec.Command(y.server.binary, "serve", "--db", s.there.db, "--listen", s.there.addr, "--exit-with-stdin",
		"--tls-cert", s.certificate, "--tls-key", s.certificate)
	var log bytes.Buffer
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := y.awaitServer(s.at(face{})); err != nil {
		stdin.Close()
		return fmt.Errorf("%w: %s", err, log.String())
	}
	if now, ok := y.list(s.at(s.api)); ok && !bytes.Equal(now, s.listed) {
		y.fault("the cards of the shop that was sold are\n%.600s\nand were\n%.600s", now, s.listed)
	}
	y.after(1, y.renewCertificate)
	y.after(2, func() error {
		for n, card := range s.cards[:20] {
			body := map[string]any{"count": 1, "client_reference": fmt.Sprintf("00000000-0000-4000-b000-%012x", n)}
			y.ask(s.at(s.till), "POST", "/cards/"+card+"/stamps", body, "201", "422 unprocessable_entity")
			y.ask(s.till, "POST", "/cards/"+card+"/stamps", body, "410 gone")
		}
		return y.endSold(stdin, cmd, &log)
	})
	return nil
}

// renewCertificate gives the server of the shop that was sold a new certificate. Who is connected stays so, and who
// trusts the old one alone can no longer connect.
func (y *year) renewCertificate() error {
	s := y.sold
	old := s.client
	y.list(s.at(s.api)) // which leaves a connection open
	client, err := newCertificate(s.certificate)
	if err != nil {
		return err
	}
	s.client = client
	y.list(s.at(s.api))
	s.client = old
	y.list(s.at(s.api))
	old.CloseIdleConnections()
	if _, err := y.try(s.at(s.api), "GET", "/me", nil); err == nil {
		y.fault("the server of the shop that was sold still has its old certificate")
	}
	s.client = client
	y.count("certificate renewed")
	return nil
}

// endSold ends the server of the shop that was sold, and checks its file.
func (y *year) endSold(stdin io.Closer, cmd *exec.Cmd, log *bytes.Buffer) error {
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the server of the shop that was sold: %w: %s", err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=ERROR") {
			y.fault("the server of the shop that was sold: %s", line)
		}
	}
	return y.sold.there.command("check")
}

// awaitServer waits until a server answers.
func (y *year) awaitServer(f face) error {
	var err error
	for range 200 {
		if _, err = y.try(f, "GET", "/healthz", nil); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
