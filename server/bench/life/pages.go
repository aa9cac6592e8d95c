package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
)

// maxPages is how many pages of cards are open for the whole year.
const maxPages = 40

// openPage is the page of a card that stays open, as a phone on a counter has it. It reads itself again
// whenever its stream says that the card has changed.
type openPage struct {
	*year
	m    *member
	path string

	mu     sync.Mutex
	shows  screen
	notice string // the last one that the browser showed
}

// screen is a line of pages.jsonl: what an open page of a card shows at the end.
type screen struct {
	Card   string `json:"card"`
	Gone   bool   `json:"gone"` // the link has ended
	Stamps *int64 `json:"stamps"`
	Cents  *int64 `json:"cents"`
}

// keepOpen keeps the page of a new card open, if there are not enough yet.
func (y *year) keepOpen(m *member, card *page) {
	if m.program.Type != "standard" && m.program.Type != "private" && m.program.Type != "prepaid" {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.pages) == maxPages {
		return
	}
	o := &openPage{year: y, m: m, path: card.path, shows: screen{Card: m.first}}
	y.pages = append(y.pages, o)
	y.streams.Go(o.watch)
}

// watch follows the stream of the page until the year ends or the link does, and opens it again when it ends.
func (o *openPage) watch() {
	o.subscribe()
	for o.follow() && o.watching.Err() == nil {
		o.count("stream of a page opened again")
		o.server.await()
		time.Sleep(50 * time.Millisecond) // a browser waits longer
	}
}

// subscribe makes the browser show notices of every change of the card.
func (o *openPage) subscribe() {
	var server struct {
		PublicKey string `json:"public_key"`
	}
	r, ok := o.load("GET", o.path+"/push", nil)
	if !ok || !o.expect(r, "GET "+o.path+"/push", []string{"200"}) || r.decode(&server) != nil {
		return
	}
	browser, err := o.push.Subscribe(server.PublicKey)
	if err != nil {
		o.fault("the key of the server for notices: %v", err)
		return
	}
	r, ok = o.load("POST", o.path+"/push?lang=en", []byte(browser.JSON("all")))
	if !ok || !o.expect(r, "POST "+o.path+"/push", []string{"201"}) {
		return
	}
	o.streams.Go(func() {
		for {
			select {
			case <-o.watching.Done():
				return
			case payload := <-browser.Notices:
				var n struct{ Body string }
				if err := json.Unmarshal(payload, &n); err != nil {
					o.fault("a notice: %v", err)
				}
				o.mu.Lock()
				o.notice = n.Body
				o.mu.Unlock()
				o.count("notice in a browser")
			}
		}
	})
}

// checkNotice compares the last notice about the card with its page: what its last line says of stamps or money.
func (o *openPage) checkNotice() {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.notice[strings.LastIndexByte(o.notice, '\n')+1:]
	if o.shows.Gone {
		return
	}
	stamps, cents := namedIn(strings.TrimPrefix(last, "Balance: "))
	differs := func(told, shown *int64) bool { return told != nil && (shown == nil || *told != *shown) }
	if differs(stamps, o.shows.Stamps) || differs(cents, o.shows.Cents) {
		o.fault("the last notice about %s is %q, and the page shows %+v", o.m.first, o.notice, o.shows)
	}
	if stamps != nil || cents != nil {
		o.count("notice compared with the page")
	}
}

// follow follows the stream once. It returns false if the link has ended.
func (o *openPage) follow() (goOn bool) {
	req, err := http.NewRequestWithContext(o.watching, "GET", o.server.origin()+o.path+"/events", nil)
	if err != nil {
		o.fault("%v", err)
		return false
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := streaming.Do(req)
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if !o.read() { // for what changed before
		return false
	}
	if resp.StatusCode != http.StatusOK {
		o.fault("the stream of %s: %s", o.m.first, resp.Status)
		return false
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch lines.Text() {
		case "event: changed":
			o.count("page of a card read again")
			if !o.read() {
				return false
			}
		case "event: closed":
			o.fault("the stream of %s was closed for a newer one", o.m.first)
			return false
		}
	}
	return true
}

// streaming is the client of streams, which have no time limit.
var streaming = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var (
	stampsPattern = regexp.MustCompile(`^(\d+) of \d+ stamps?$`)
	centsPattern  = regexp.MustCompile(`^€(\d+)\.(\d\d)$`)
)

// load makes a request until there is an answer. It does not use ask, since pages are read at any time, also while no client is busy.
func (o *openPage) load(method, path string, body any) (r reply, ok bool) {
	f := face{header: map[string]string{"Accept": "text/html, application/json", "Accept-Language": "en", "Origin": o.server.origin()}}
	for o.watching.Err() == nil {
		r, err := o.try(f, method, path, body)
		if err == nil {
			return r, true
		}
		o.server.await()
		time.Sleep(10 * time.Millisecond) // the server may be stopping
	}
	return r, false
}

// namedIn returns the stamps or the money that a text names.
func namedIn(t string) (stamps, cents *int64) {
	if found := stampsPattern.FindStringSubmatch(t); found != nil {
		n, _ := strconv.ParseInt(found[1], 10, 64)
		stamps = &n
	}
	if found := centsPattern.FindStringSubmatch(strings.ReplaceAll(t, ",", "")); found != nil {
		n, _ := strconv.ParseInt(found[1]+found[2], 10, 64)
		cents = &n
	}
	return stamps, cents
}

// read reads the page, and returns false if its link has ended.
func (o *openPage) read() bool {
	r, ok := o.load("GET", o.path, nil)
	if !ok || !o.expect(r, "GET "+o.path, []string{"200", "404", "410"}) {
		return o.watching.Err() == nil
	}
	s := screen{Card: o.m.first, Gone: r.status != http.StatusOK}
	p := o.newPage(o.path, r)
	p.find(func(n *html.Node) bool {
		if n.Data != "strong" && !strings.Contains(attr(n, "class"), "holdercard-big") {
			return false
		}
		stamps, cents := namedIn(text(n))
		if stamps != nil && s.Stamps == nil {
			s.Stamps = stamps
		}
		if cents != nil {
			s.Cents = cents
		}
		return false
	})
	if !s.Gone && s.Stamps == nil && s.Cents == nil {
		o.fault("the page of %s shows neither stamps nor money: %.600s", o.m.first, text(p.root))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shows = s
	return !s.Gone
}

// readPages writes what the open pages show, and closes them.
func (y *year) readPages() error {
	file, err := newRecorder(y.path("pages.jsonl"))
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // streams wait a quarter of a second between messages
	for _, o := range y.pages {
		o.mu.Lock()
		file.write(o.shows)
		o.mu.Unlock()
		o.checkNotice()
	}
	y.closePages()
	return file.close()
}

// closePages ends the streams of all pages.
func (y *year) closePages() {
	y.stopWatching()
	y.streams.Wait()
}
