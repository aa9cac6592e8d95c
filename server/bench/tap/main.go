//go:build browser

// Command tap measures in Chromium what people wait for at a till: the time from the tap on
// the button that gives a stamp until the screen says that it was given, and until the open
// page of the card's holder shows it. See server/bench/README.md.
//
//	go run -tags browser ./server/bench/tap [-rounds 7] [-taps 20] [-records 1000] [-meanwhile 0] [BINARY …]
//
// It runs each binary as a process, by default one that it builds. Several binaries are
// measured in turns, and compared with the first.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var (
	rounds    = flag.Int("rounds", 7, "rounds, each with a new card for every binary")
	taps      = flag.Int("taps", 20, "taps in a round")
	records   = flag.Int("records", 1000, "writes of the last days that the till keeps")
	meanwhile = flag.Int("meanwhile", 0, "stamps that other tills give in a second")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// A subject is a binary that is measured, with a till and a holder's page that are open.
type subject struct {
	*server
	till, holder *page
	times        [phases][][]float64 // in milliseconds, by round
}

// The phases of a stamp. Each is measured from the tap.
const (
	sent = iota
	answered
	shown
	shownToHolder
	phases
)

var phaseNames = [phases]string{"request sent", "answered", "shown at the till", "shown to the holder"}

// run measures the binaries and prints what it measured.
func run(ctx context.Context, binaries []string) error {
	dir, err := os.MkdirTemp("", "punchcard-tap-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if len(binaries) == 0 {
		binary := filepath.Join(dir, "punchcard")
		if err := build(ctx, binary); err != nil {
			return err
		}
		binaries = []string{binary}
	}
	ctx, end, err := startChromium(ctx)
	defer end()
	if err != nil {
		return fmt.Errorf("start Chromium (.ci/browser installs it): %w", err)
	}
	var subjects []*subject
	for i, binary := range binaries {
		s, err := startSubject(ctx, binary, filepath.Join(dir, fmt.Sprintf("%d.db", i)))
		if err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
		defer s.stop()
		subjects = append(subjects, s)
	}
	for round := range *rounds + 1 {
		for _, s := range subjects {
			if err := s.measure(); err != nil {
				return fmt.Errorf("%s: %w", s.binary, err)
			}
			if round == 0 { // the first warms up
				s.times = [phases][][]float64{}
			}
		}
	}
	for _, s := range subjects {
		s.print(subjects[0])
	}
	return nil
}

// startSubject starts a binary and opens its till.
func startSubject(ctx context.Context, binary, db string) (*subject, error) {
	server, err := startServer(binary, db)
	if err != nil {
		return nil, err
	}
	s := &subject{server: server}
	if s.holder, err = openPage(ctx); err == nil {
		s.till, err = openPage(ctx)
	}
	if err == nil {
		err = s.till.setCookie(s.Origin, "punchcard-till", s.TillToken, "/till/")
	}
	if err == nil {
		err = s.till.open(s.Origin+"/till/", "Find the card")
	}
	if err == nil && *meanwhile > 0 {
		err = s.stampMeanwhile(*meanwhile)
	}
	if err == nil {
		err = s.till.eval(nil, keepRecords, *records)
	}
	if err == nil { // the page reads what it keeps when it is opened
		err = s.till.open(s.Origin+"/till/", "Find the card")
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// keepRecords is a script that stores acknowledged writes of the last days in the till.
const keepRecords = `n => new Promise((resolve, reject) => {
	const open = indexedDB.open('till')
	open.onerror = reject
	open.onsuccess = () => {
		const tx = open.result.transaction('writes', 'readwrite')
		for (let i = 0; i < n; i++) {
			const at = Date.now() - i * 500_000
			tx.objectStore('writes').put({
				reference: crypto.randomUUID(), seq: at, kind: 'stamp', state: 'done', at, body: {count: 1},
				path: '/cards/0123456789abcdef0123/stamps', label: '1 stamp · Ada Lovelace', shop: 'shp_0123456789abcdef',
			})
		}
		tx.oncomplete = () => { open.result.close(); resolve(true) }
	}
})`

// calm is how long nothing happens before a tap. A holder's page is told of changes at most
// every 250 ms.
const calm = 300 * time.Millisecond

// measure gives stamps to a new card, and notes the times of a round.
func (s *subject) measure() error {
	card, link, err := s.issue()
	if err != nil {
		return err
	}
	if err := s.holder.open(link, "0 of 100 stamps"); err != nil {
		return err
	}
	if err := s.till.eval(nil, showCard, card); err != nil {
		return err
	}
	for phase := range phases {
		s.times[phase] = append(s.times[phase], nil)
	}
	for i := range *taps {
		if err := s.till.await(fmt.Sprintf("%d of 100 stamps", i)); err != nil {
			return err
		}
		time.Sleep(calm)
		want := fmt.Sprintf("%d of 100 stamps", i+1)
		if err := s.holder.eval(nil, noteText, want, "main"); err != nil {
			return err
		}
		if err := s.till.eval(nil, noteText, fmt.Sprintf("The card has %d now.", i+1), ".messages"); err != nil {
			return err
		}
		if err := s.till.tap(".giving .button"); err != nil {
			return err
		}
		var at struct{ Tap, Sent, Answered, Shown float64 }
		if err := s.till.eval(&at, `() => window.noted`); err != nil {
			return err
		}
		var holder struct{ Shown float64 }
		if err := s.holder.eval(&holder, `() => window.noted`); err != nil {
			return err
		}
		for phase, when := range []float64{sent: at.Sent, answered: at.Answered, shown: at.Shown, shownToHolder: holder.Shown} {
			last := &s.times[phase][len(s.times[phase])-1]
			*last = append(*last, when-at.Tap)
		}
	}
	return nil
}

// showCard types the code of a card, as a person does.
const showCard = `code => {
	document.querySelector('#code').value = code
	document.querySelector('#code').form.requestSubmit()
}`

// noteText makes window.noted the promise of times in milliseconds since 1970: of the next tap,
// when the stamp was sent and answered, and when a part of the page was drawn with a text.
const noteText = `(text, part) => {
	const at = {tap: 0, sent: 0, answered: 0}
	const now = () => performance.timeOrigin + performance.now()
	addEventListener('pointerdown', e => at.tap = performance.timeOrigin + e.timeStamp, {capture: true, once: true})
	window.realFetch ??= window.fetch
	window.fetch = async (path, options) => {
		if (options?.method !== 'POST') return realFetch(path, options)
		at.sent = now()
		const answer = await realFetch(path, options)
		at.answered = now()
		return answer
	}
	window.noted = new Promise(resolve => {
		const observer = new MutationObserver(() => {
			if (!document.querySelector(part)?.innerText.replace(/\s+/g, ' ').includes(text)) return
			observer.disconnect()
			requestAnimationFrame(() => setTimeout(() => resolve({...at, shown: now()})))
		})
		observer.observe(document, {subtree: true, childList: true, characterData: true})
	})
	return true
}`

// print prints the median and the 95th percentile of each phase, and the median of the
// rounds' ratios to another subject.
func (s *subject) print(first *subject) {
	fmt.Println(s.binary)
	for phase, name := range phaseNames {
		all := slices.Concat(s.times[phase]...)
		var ratios []float64
		for round := range s.times[phase] {
			ratios = append(ratios, quantile(s.times[phase][round], 50)/quantile(first.times[phase][round], 50))
		}
		line := fmt.Sprintf("  %-20s median %5.1f ms, 95th percentile %5.1f ms", name, quantile(all, 50), quantile(all, 95))
		if s != first {
			line += fmt.Sprintf(", %.2f × (%.2f to %.2f)", quantile(ratios, 50), slices.Min(ratios), slices.Max(ratios))
		}
		fmt.Println(strings.TrimRight(line, " "))
	}
}

// quantile returns the value below which percent of the values are.
func quantile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*percent/100]
}
