package wallet_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// The benchmarks of this package give the figures of server/bench/README.md:
//
//	go test ./server/wallet -run '^$' -bench . -benchtime 1x -timeout 30m
//
// With -short all sizes are small and the figures mean nothing.

// holder is a phone that has the pass of a card, whose push token is the key of the card.
type holder struct {
	id     string // of the card
	serial string
	token  string
	given  int64 // stamps

	mu       sync.Mutex
	since    string // of the last list
	modified string // of the pass
	stamps   int64  // that the pass shows
}

// holders are the phones by their push tokens.
type holders map[string]*holder

// newProgram publishes a program with many stamps.
func (s *shop) newProgram(name string) string {
	id := s.Call("POST", "/programs", fields{"type": "standard", "name": name, "icon_key": "coffee", "total_stamps": 1000}).NewID()
	s.Call("POST", "/programs/"+id+"/prizes", fields{"name": "Espresso", "threshold": 500}).Want(201)
	s.Call("POST", "/programs/"+id+"/publish", fields{}).Want(200)
	return id
}

// issue issues n cards of a program.
func (s *shop) issue(program string, n int) (ids []string) {
	shop := store.Access{Shop: s.Row(store.KindShop, s.ShopID)}
	for len(ids) < n {
		servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
			for range min(2000, n-len(ids)) {
				c, err := tx.IssueCard(shop, program, store.CardFields{}, store.SourceAPI)
				if err != nil {
					return err
				}
				ids = append(ids, c.ID)
			}
			return nil
		})
	}
	return ids
}

// addPasses gives all cards of a program passes, each of which a phone has, without the requests of phones.
func (s *shop) addPasses(program string) {
	key := s.Row(store.KindProgram, program)
	for _, sql := range []string{
		`INSERT INTO apple_passes (card_id, shop_id, program_id, generation, hash, modified_at, downloaded)
			SELECT id, shop_id, program_id, code_generation, x'00', created_at/1000*1000, 0 FROM cards WHERE program_id=? AND root_id IS
				NULL`,
		`INSERT INTO apple_devices (card_id, shop_id, generation, device, push_token, created_at, told)
			SELECT p.card_id, p.shop_id, p.generation, 'd'||p.card_id, ''||p.card_id, c.created_at, ''||p.id
			FROM cards c JOIN apple_passes p ON p.card_id=c.id WHERE c.program_id=?`,
		"UPDATE cards SET copies=2 WHERE program_id=? AND root_id IS NULL",
	} {
		s.SQL(sql, key)
	}
}

// holders returns the phones of cards.
func (s *shop) holders(ids []string) holders {
	all := holders{}
	for _, id := range ids {
		root := s.Row(store.KindCard, id)
		var passes []store.PushPass
		if err := s.App.Store.View(0, func(v *store.View) (err error) {
			passes, err = v.PassesToPush(root, store.CopyApple)
			return err
		}); err != nil || len(passes) != 1 {
			s.T.Fatal(len(passes), err)
		}
		pass := passes[0]
		all[strconv.FormatInt(root, 10)] = &holder{id: id, serial: pass.Serial, token: pass.Token,
			since: strconv.FormatInt(pass.Changes, 10)}
	}
	return all
}

// update does what a phone does that was woken.
func (h *holder) update(device, service string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	get := func(path string) (*http.Response, []byte, error) {
		req, err := http.NewRequest("GET", service+path, nil)
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set("Authorization", "ApplePass "+h.token)
		req.Header.Set("If-Modified-Since", h.modified)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, body, err
	}
	resp, body, err := get("/devices/" + device + "/registrations/" + passType + "?passesUpdatedSince=" + h.since)
	if err != nil || resp.StatusCode == http.StatusNoContent {
		return err
	}
	var list struct{ LastUpdated string }
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	resp, body, err = get("/passes/" + passType + "/" + h.serial)
	if err != nil {
		return err
	}
	h.since = list.LastUpdated
	if resp.StatusCode == http.StatusNotModified { // it was read after an earlier push
		return nil
	}
	h.modified = resp.Header.Get("Last-Modified")
	h.stamps, err = stampsOf(body)
	return err
}

// stampsOf returns the stamps that the file of a pass shows, without the checks of a phone, which would take longer than the
// work of the server.
func stampsOf(file []byte) (n int64, err error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return 0, err
	}
	f, err := z.Open("pass.json")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var pass struct {
		StoreCard struct{ HeaderFields []struct{ Value string } }
	}
	if err := json.NewDecoder(f).Decode(&pass); err != nil || len(pass.StoreCard.HeaderFields) == 0 {
		return 0, fmt.Errorf("no header: %w", err)
	}
	count, _, _ := strings.Cut(pass.StoreCard.HeaderFields[0].Value, "/")
	return strconv.ParseInt(count, 10, 64)
}

// current reports whether all phones show the stamps of their cards.
func (all holders) current() bool {
	for _, h := range all {
		h.mu.Lock()
		ok := h.stamps == h.given
		h.mu.Unlock()
		if !ok {
			return false
		}
	}
	return true
}

// stampTime stamps a card at the till, and returns how long that took.
func (s *shop) stampTime(card string) time.Duration {
	body := strings.NewReader(`{"count":1}`)
	req := require.Must(http.NewRequest("POST", s.Origin+"/till/v1/cards/"+card+"/stamps", body))
	req.Header.Set("Authorization", "Bearer "+s.TillToken)
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp := require.Must(http.DefaultClient.Do(req))
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusCreated {
		s.T.Fatalf("%d %s %v", resp.StatusCode, answer, err)
	}
	return time.Since(start)
}

// idle reports whether no push is due and no program has changed.
func (s *shop) idle() (idle bool) {
	err := s.App.Store.View(0, func(v *store.View) error {
		n, err := v.CountPushes(1)
		changed, err2 := v.PassesWait()
		idle = n == 0 && !changed
		return errors.Join(err, err2)
	})
	require.NoError(s.T, err)
	return idle
}

// at returns a percentile of times in milliseconds.
func at(took []time.Duration, part int) float64 {
	took = slices.Sorted(slices.Values(took))
	return float64(took[(len(took)-1)*part/100].Microseconds()) / 1000
}

// BenchmarkChanges stamps 100 cards a second, of 10,000 with passes, and measures how long after the last stamp all phones
// show what their cards have. The phones read the passes over HTTP.
func BenchmarkChanges(b *testing.B) {
	p, apns := startApple(b)
	program := p.newProgram("Passes")
	ids := p.issue(program, servertest.Sized(10_000, 50))
	p.addPasses(program)
	phones := p.holders(ids)
	service := p.Origin + "/wallet/apple/v1"
	updated := make(chan struct{}, 1)
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			for token := range apns.Woken {
				if err := phones[token].update("d"+token, service); err != nil {
					b.Error(err)
				}
				select {
				case updated <- struct{}{}:
				default:
				}
			}
		})
	}
	all := slices.Collect(func(yield func(*holder) bool) {
		for _, h := range phones {
			if !yield(h) {
				return
			}
		}
	})
	for b.Loop() {
		var took []time.Duration
		tick := time.NewTicker(time.Second / 100)
		for range servertest.Sized(3000, 30) {
			<-tick.C
			h := all[rand.IntN(len(all))]
			h.given++
			took = append(took, p.stampTime(h.id))
		}
		tick.Stop()
		last := time.Now()
		for !phones.current() {
			servertest.Await(b, updated, "a phone that shows what its card has")
		}
		b.ReportMetric(float64(time.Since(last).Milliseconds()), "ms-behind")
		b.ReportMetric(at(took, 50), "ms-stamp")
		b.ReportMetric(at(took, 99), "ms-stamp-99%")
	}
	p.settle() // a phone that was woken twice may still read its pass
	close(apns.Woken)
	reading.Wait()
}

// BenchmarkStamp stamps a card with a pass and one without in turns, each when nothing else is done.
func BenchmarkStamp(b *testing.B) {
	p, apns := startApple(b)
	go func() {
		for range apns.Woken {
		}
	}()
	with, without := p.newProgram("Passes"), p.newProgram("Nothing")
	n := servertest.Sized(1000, 10)
	cards, others := p.issue(with, n), p.issue(without, n)
	p.addPasses(with)
	for b.Loop() {
		var copied, bare []time.Duration
		for range servertest.Sized(3000, 10) {
			copied = append(copied, p.stampTime(cards[rand.IntN(n)]))
			p.settle()
			bare = append(bare, p.stampTime(others[rand.IntN(n)]))
		}
		b.ReportMetric(at(copied, 50), "ms-with-pass")
		b.ReportMetric(at(bare, 50), "ms-without")
		b.ReportMetric(at(copied, 50)/at(bare, 50), "ratio")
	}
}

// BenchmarkProgramChange changes a program of 100,000 cards with passes while a till stamps other cards without a pause.
func BenchmarkProgramChange(b *testing.B) {
	p, apns := startApple(b)
	woken := 0
	go func() {
		for range apns.Woken {
			woken++
		}
	}()
	with, without := p.newProgram("Passes"), p.newProgram("Nothing")
	n := servertest.Sized(100_000, 50)
	p.issue(with, n)
	others := p.issue(without, 200)
	p.addPasses(with)
	for i := 0; b.Loop(); i++ {
		measure := func(until func(time.Duration) bool) (took []time.Duration) {
			for start := time.Now(); len(took) == 0 || !until(time.Since(start)); {
				took = append(took, p.stampTime(others[rand.IntN(len(others))]))
			}
			return took
		}
		before := measure(func(d time.Duration) bool { return d > time.Duration(servertest.Sized(5, 0))*time.Second })
		start := time.Now()
		p.Call("PATCH", "/programs/"+with, fields{"name": fmt.Sprint("Name ", i)}).Want(200)
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms-change")
		during := measure(func(time.Duration) bool { return p.idle() })
		b.ReportMetric(time.Since(start).Seconds(), "s-until-all-woken")
		b.ReportMetric(at(before, 50), "ms-stamp-before")
		b.ReportMetric(at(before, 99), "ms-stamp-before-99%")
		b.ReportMetric(at(during, 50), "ms-stamp")
		b.ReportMetric(at(during, 99), "ms-stamp-99%")
		b.ReportMetric(at(during, 100), "ms-stamp-most")
	}
}
