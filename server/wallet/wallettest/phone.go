package wallettest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// Phone is an iPhone with passes. It registers for the changes of each pass, and when it is woken it asks which passes have changed
// and reads these again. It complains of what Apple's documents do not allow. Its methods may be called at the same time.
type Phone struct {
	Device    string // its identifier, which it registers with
	PushToken string // with which it is woken
	Reader    PassReader
	Client    *http.Client

	busy        sync.Mutex        // held while it makes requests; before the mutex of holding
	lastUpdated map[string]string // of the last list, by the URL of the list; guarded by busy
	holding
}

// Add downloads a pass, and registers for its changes. The phone keeps the label.
func (p *Phone) Add(ctx context.Context, url, label string) (HeldPass, error) {
	p.busy.Lock()
	defer p.busy.Unlock()
	r, err := p.send(ctx, http.MethodGet, url, nil)
	if err != nil {
		return HeldPass{}, fmt.Errorf("the download: %w", err)
	}
	h, err := p.read(r)
	if err != nil {
		return h, err
	}
	body, _ := json.Marshal(map[string]string{"pushToken": p.PushToken})
	r, err = p.send(ctx, http.MethodPost, p.registrations(h)+"/"+h.Serial, body, "Authorization", "ApplePass "+h.Token)
	if err == nil && r.status != http.StatusCreated && r.status != http.StatusOK {
		err = r.unexpected()
	}
	if err != nil {
		return h, fmt.Errorf("the registration: %w", err)
	}
	h.Label = label
	p.keep(h)
	return h, nil
}

// Wake does what a push has the phone do: it reads the passes that have changed.
func (p *Phone) Wake(ctx context.Context) error {
	p.busy.Lock()
	defer p.busy.Unlock()
	lists := map[string]HeldPass{}
	for _, h := range p.State().Passes {
		lists[p.registrations(h)] = h
	}
	var errs []error
	for list, h := range lists {
		if err := p.update(ctx, list); err != nil && ctx.Err() == nil {
			errs = append(errs, err)
			p.complain(ctx, h, err.Error())
		}
	}
	return errors.Join(errs...)
}

// update reads the passes of a list that have changed since the last time.
func (p *Phone) update(ctx context.Context, list string) error {
	since := ""
	if last, ok := p.lastUpdated[list]; ok {
		since = "?passesUpdatedSince=" + url.QueryEscape(last)
	}
	r, err := p.send(ctx, http.MethodGet, list+since, nil)
	switch {
	case err != nil:
		return fmt.Errorf("the list: %w", err)
	case r.status == http.StatusNoContent:
		return nil
	case r.status != http.StatusOK:
		return fmt.Errorf("the list: %w", r.unexpected())
	}
	var changed struct {
		LastUpdated   string   `json:"lastUpdated"`
		SerialNumbers []string `json:"serialNumbers"`
	}
	if err := json.Unmarshal(r.body, &changed); err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	for _, serial := range changed.SerialNumbers {
		if err := p.fetch(ctx, list, serial); err != nil {
			return fmt.Errorf("the pass %s: %w", serial, err)
		}
	}
	if p.lastUpdated == nil {
		p.lastUpdated = map[string]string{}
	}
	p.lastUpdated[list] = changed.LastUpdated
	return nil
}

// fetch reads a pass of a list again.
func (p *Phone) fetch(ctx context.Context, list, serial string) error {
	all := p.State().Passes
	i := slices.IndexFunc(all, func(h HeldPass) bool { return h.Serial == serial && p.registrations(h) == list })
	if i < 0 {
		return errors.New("is listed, and the phone does not have it")
	}
	h := all[i]
	at := h.WebServiceURL + "/v1/passes/" + url.PathEscape(h.PassType) + "/" + url.PathEscape(serial)
	r, err := p.send(ctx, http.MethodGet, at, nil, "Authorization", "ApplePass "+h.Token, "If-Modified-Since", h.LastModified)
	if err != nil || r.status == http.StatusNotModified { // it was read after an earlier push
		return err
	}
	next, err := p.read(r)
	switch {
	case err != nil:
		return err
	case next.Serial != serial || next.PassType != h.PassType || next.Token != h.Token:
		return errors.New("has another serial number, pass type or token than before")
	}
	if maps.EqualFunc(next.files, h.files, bytes.Equal) {
		p.complain(ctx, h, "the pass "+serial+" is listed and sent, and has not changed")
	}
	next.Label = h.Label
	p.keep(next)
	return nil
}

// complain sends a complaint to the web service of a pass, and keeps it.
func (p *Phone) complain(ctx context.Context, h HeldPass, problem string) {
	p.change(func(s *PhoneState) { s.Problem = problem })
	body, _ := json.Marshal(map[string][]string{"logs": {problem}})
	p.send(ctx, http.MethodPost, h.WebServiceURL+"/v1/log", body) // a phone does not care
}

// registrations returns the URL of the phone's registrations for the type of a pass.
func (p *Phone) registrations(h HeldPass) string {
	return h.WebServiceURL + "/v1/devices/" + url.PathEscape(p.Device) + "/registrations/" + url.PathEscape(h.PassType)
}

// read returns the pass in an answer.
func (p *Phone) read(r phoneReply) (h HeldPass, err error) {
	if r.status != http.StatusOK {
		return h, r.unexpected()
	}
	if kind := r.header.Get("Content-Type"); kind != "application/vnd.apple.pkpass" {
		return h, fmt.Errorf("its content type is %q", kind)
	}
	if _, err := http.ParseTime(r.header.Get("Last-Modified")); err != nil {
		return h, fmt.Errorf("Last-Modified: %w", err)
	}
	pass, err := p.Reader.Read(r.body)
	return HeldPass{Pass: pass, LastModified: r.header.Get("Last-Modified")}, err
}

// phoneReply is the answer to a request of a phone.
type phoneReply struct {
	status int
	header http.Header
	body   []byte
}

func (r phoneReply) unexpected() error { return fmt.Errorf("the server answers %d", r.status) }

// send makes a request. The headers are alternating names and values.
func (p *Phone) send(ctx context.Context, method, url string, body []byte, headers ...string) (r phoneReply, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return r, withoutURL(err)
	}
	defer resp.Body.Close()
	r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxPassFile+1))
	r.status, r.header = resp.StatusCode, resp.Header
	return r, err
}

// withoutURL returns the error of a request without its URL, which may have a token.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
