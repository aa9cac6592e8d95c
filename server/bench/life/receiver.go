package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// receiver is a server that receives webhooks, and writes a file of all requests.
type receiver struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Shop    string   `json:"shop"`
	Webhook string   `json:"webhook"`
	Program *string  `json:"program"`
	Events  []string `json:"events"`
	Secrets []string `json:"secrets"`
	// Lost are the times of the server's clock at which it had a secret that nobody was shown, since it was killed before it answered.
	Lost    []time.Time `json:"lost"`
	Version int         `json:"version"`
	From    time.Time   `json:"from"`
	Until   *time.Time  `json:"until"`
	Kind    string      `json:"kind"`

	y        *year
	server   http.Server
	requests *recorder
	mu       sync.Mutex
	rand     *rand.Rand
}

// request is a line of a receiver's file.
type request struct {
	At      time.Time         `json:"at"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Answer  int               `json:"answer"` // 0: none
}

// listen starts the receivers and makes their webhooks, each for one program of the shop and the neighbour.
func (y *year) listen() error {
	all := []string{"card.added", "stamp.assigned", "prize.redeemed", "value.changed", "card.used", "transaction.reversed", "card.deleted",
		"card.reissued"}
	rows := []string{"card.added", "transaction.created"}
	for i, p := range y.shop.programs {
		switch {
		case p.Type == "standard":
			for _, kind := range []string{"good", "flaky"} {
				if err := y.receive(y.shop, p, kind, 1+i%2, all); err != nil {
					return err
				}
			}
			if err := y.receive(y.shop, p, "gone", 2, []string{"card.added"}); err != nil {
				return err
			}
		case p.Type == "private":
			if err := y.receive(y.shop, p, "slow", 2, []string{"prize.redeemed"}); err != nil {
				return err
			}
		default:
			if err := y.receive(y.shop, p, "good", 1, rows); err != nil {
				return err
			}
		}
	}
	return y.receive(y.neighbour, y.neighbour.programs[0], "good", 2, all)
}

// receive starts a receiver for the events of a program.
func (y *year) receive(s *shop, p *program, kind string, version int, events []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.ToLower(s.name), " ", "-") + "-" + p.Type + "-" + kind
	r := &receiver{
		Name: name, File: "receivers/" + name + ".jsonl", Shop: s.ID, Program: &p.ID, Events: events, Version: version, From: y.now,
		Kind: kind,
		y:    y, rand: rand.New(rand.NewPCG(y.seed, uint64(len(y.receivers)))),
	}
	if r.requests, err = newRecorder(y.path(r.File)); err != nil {
		return err
	}
	r.server.Handler = r
	go r.server.Serve(l)
	y.receivers = append(y.receivers, r)
	var made struct{ ID, Secret string }
	body := map[string]any{"url": "http://" + l.Addr().String() + "/hooks", "events": events, "payload_version": fmt.Sprint("v", version),
		"program_ids": []string{p.ID}}
	if err := y.need(s.api, "POST", "/programs/"+p.ID+"/webhooks", body, &made); err != nil {
		return err
	}
	r.Webhook, r.Secrets = made.ID, []string{made.Secret}
	return nil
}

// ServeHTTP notes a request and answers as the kind of receiver does.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	r.mu.Lock()
	chance := r.rand.IntN(100)
	r.mu.Unlock()
	answer := http.StatusOK
	switch {
	case err != nil, r.Kind == "flaky" && chance < 3:
		answer = 0
	case r.Kind == "flaky" && chance < 10:
		answer = http.StatusServiceUnavailable
	case r.Kind == "slow":
		time.Sleep(40 * time.Millisecond) // the clock moves only when all have answered
	}
	headers := map[string]string{}
	for name := range q.Header {
		headers[name] = q.Header.Get(name)
	}
	r.requests.write(request{r.y.time(), headers, string(body), answer})
	r.y.count("webhook received: " + r.Kind)
	if answer == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer)
}

// close ends the receiver.
func (r *receiver) close() {
	r.server.Close()
	r.requests.close()
}

// closeIdleConnections closes the connections that have no request.
func (r *receiver) closeIdleConnections() {
	r.server.SetKeepAlivesEnabled(false)
	r.server.SetKeepAlivesEnabled(true)
}

// disappear ends the receivers of a kind, as one does whose owner has moved on.
func (y *year) disappear(kind string) {
	for _, r := range y.receivers {
		if at := y.now; r.Kind == kind && r.Until == nil {
			r.Until = &at
			r.server.Close()
			y.http.CloseIdleConnections()
		}
	}
}
