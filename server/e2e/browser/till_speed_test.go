//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

// The benchmarks of this file measure what people wait for at a till, in Chromium:
//
//	.ci/browser -run '^$' -bench . -benchtime 1x
//
// With -short they are small and the figures mean nothing. The figures are in
// server/bench/README.md.

// background is how many stamps other tills give in a second meanwhile.
const background = 600

// stampMeanwhile gives stamps to cards in turn until the end of the benchmark, and returns the
// number of those that were given.
func stampMeanwhile(b *testing.B, s *servertest.Server) *atomic.Int64 {
	b.Helper()
	program := s.NewProgram("standard", true, fields{"total_stamps": 100, "repeat_after_reset": true})
	var cards []string
	for range servertest.Sized(200, 5) {
		id, _ := issue(s, program, nil)
		cards = append(cards, id)
	}
	given, stop := &atomic.Int64{}, make(chan struct{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var wg sync.WaitGroup
	due := make(chan string, 64)
	for range 16 {
		wg.Go(func() {
			for card := range due {
				r, err := http.NewRequest(http.MethodPost, s.Origin+"/till/v1/cards/"+card+"/stamps", strings.NewReader(`{"count":1}`))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+seed.TillToken)
				r.Header.Set("Content-Type", "application/json")
				answer, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				answer.Body.Close()
				if answer.StatusCode == http.StatusCreated {
					given.Add(1)
				}
			}
		})
	}
	wg.Go(func() {
		defer close(due)
		begin := time.Now()
		for n := 0; ; {
			for ; n < int(time.Since(begin).Seconds()*background); n++ {
				select {
				case due <- cards[n%len(cards)]:
				case <-stop:
					return
				}
			}
			select {
			case <-time.After(time.Millisecond):
			case <-stop:
				return
			}
		}
	})
	b.Cleanup(func() {
		close(stop)
		wg.Wait()
		client.CloseIdleConnections()
	})
	return given
}

// reportTimes reports the median and the 95th percentile of times in milliseconds.
func reportTimes(b *testing.B, what string, times []float64) {
	b.Helper()
	if len(times) == 0 {
		b.Fatalf("no %s was measured", what)
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms-"+what)
	b.ReportMetric(times[len(times)*95/100], "ms-"+what+"-95th")
}

// BenchmarkTap measures the time from the tap on the button that gives a stamp until the screen
// shows that it was given, and until the page of the card's holder shows it, while other tills
// give 600 stamps a second.
func BenchmarkTap(b *testing.B) {
	s := servertest.Start(b)
	_, link := issue(s, s.NewProgram("standard", true, fields{"total_stamps": 100, "repeat_after_reset": true}), fields{"holder_name": "Ada Lovelace"})
	code, _ := s.Codes(link)
	holder := Open(b, s.CardPage(link), View{Width: 390})
	p := Open(b, s.Origin+"/till/", View{Width: 390, Cookie: kernel.DeviceCookie("", s.TillToken)})
	p.Wait("Find the card")
	given := stampMeanwhile(b, s)
	p.scan(code)
	for b.Loop() {
		var taps, holders []float64
		begin, before := time.Now(), given.Load()
		for i := range servertest.Sized(99, 3) {
			p.Wait(fmt.Sprintf("%d of 100 stamps", i)) // of the last tap
			eval[bool](holder, awaitText, fmt.Sprintf("%d of 100 stamps", i+1), "main")
			eval[bool](p, awaitText, fmt.Sprintf("The card has %d now.", i+1), ".messages")
			p.press("Give 1 stamp", buttons)
			at := eval[[2]float64](p, `() => window.testText`)
			taps = append(taps, at[1]-at[0])
			holders = append(holders, eval[[2]float64](holder, `() => window.testText`)[1]-at[0])
		}
		rate := float64(given.Load()-before) / time.Since(begin).Seconds()
		reportTimes(b, "tap", taps)
		reportTimes(b, "tap-to-holder", holders)
		b.ReportMetric(rate, "stamps/s-meanwhile")
	}
}

// awaitText makes window.testText the promise of two times in milliseconds since 1970: of the
// last tap, if there was one, and of the frame after the one in which a part of the page has a
// text.
const awaitText = `(text, part) => {
	let tap = 0
	const now = () => performance.timeOrigin + performance.now()
	addEventListener('pointerdown', e => tap = performance.timeOrigin + e.timeStamp, {capture: true, once: true})
	window.testText = new Promise(resolve => {
		const observer = new MutationObserver(() => {
			if (!document.querySelector(part).innerText.replace(/\s+/g, ' ').includes(text)) return
			observer.disconnect()
			requestAnimationFrame(() => setTimeout(() => resolve([tap, now()])))
		})
		observer.observe(document, {subtree: true, childList: true, characterData: true})
	})
	return true
}`

// BenchmarkScan measures the time from taking a picture of the camera until the decoder has
// answered with the code in it.
func BenchmarkScan(b *testing.B) {
	s := servertest.Start(b)
	card, link := issue(s, s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
	code, _ := s.Codes(link)
	holder := Open(b, s.CardPage(link), View{Width: 390})
	holder.Wait("Show this code at the till")
	screen := frame(b, holder.phoneScreen())
	s.Post("/cards/"+card+"/reissue", nil).Want(200) // else the till would wait at the card
	holder.Wait("This link was replaced")
	holder.ExpectProblems() // 410
	film := writeFilm(b, 1, screen, photo{size: frames, text: code, side: 300, angle: 20}.draw(b), photo{size: frames}.draw(b))
	p := Open(b, s.Origin+"/till/", View{Width: 1024, Cookie: kernel.DeviceCookie("", s.TillToken), Camera: film})
	p.Wait("Find the card")
	for b.Loop() {
		eval[bool](p, `() => {
			window.testScans = []
			const post = Worker.prototype.postMessage, draw = CanvasRenderingContext2D.prototype.drawImage
			let taken = 0
			CanvasRenderingContext2D.prototype.drawImage = function(...a) { taken = performance.now(); return draw.apply(this, a) }
			Worker.prototype.postMessage = function(data, ...a) {
				const begin = taken
				if (data.id) this.addEventListener('message', e => {
					if (e.data.id === data.id && e.data.text) window.testScans.push(performance.now() - begin)
				})
				return post.call(this, data, ...a)
			}
			return true
		}`)
		p.Press("Scan with the camera")
		want := servertest.Sized(100, 2)
		p.wait("the codes", func() (bool, error) { return eval[int](p, `() => window.testScans.length`) >= want, nil })
		p.ExpectProblems() // 404
		// The first waits for the decoder.
		reportTimes(b, "scan", eval[[]float64](p, `() => window.testScans.slice(1)`))
	}
}

// BenchmarkTillOpens measures how many bytes the page loads when it is first opened, which is
// without the decoder, and how soon it can be used when the service worker has its files, with
// a server and without one. TestWeight in server/tillpage measures the decoder.
func BenchmarkTillOpens(b *testing.B) {
	for b.Loop() {
		s := servertest.Start(b)
		p := Open(b, s.Origin+"/till/", View{Width: 390, Cookie: kernel.DeviceCookie("", s.TillToken)})
		p.Wait("Find the card")
		b.ReportMetric(float64(p.received()), "bytes-first")
		p.waitForWorker()
		p.onEachPage(noteUsable)
		open := func() (times []float64) {
			for range servertest.Sized(20, 2) {
				p.must(nil, p.navigate(s.Origin+"/till/"))
				times = append(times, eval[float64](p, `() => window.testUsable`))
			}
			return times
		}
		reportTimes(b, "open", open())
		s.Stop()
		reportTimes(b, "open-offline", open())
		p.ExpectProblems() // requests without an answer
	}
}

// noteUsable makes window.testUsable the promise of the time in milliseconds after which the
// page has drawn what can be used.
const noteUsable = `window.testUsable = new Promise(resolve => {
	const observer = new MutationObserver(() => {
		if (!document.querySelector('#till:not([aria-busy])')) return
		observer.disconnect()
		requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
	})
	observer.observe(document, {subtree: true, childList: true, attributes: true})
})`

// received returns how many bytes the tab has received.
func (p *Page) received() (sum int64) {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	for _, r := range p.seen.requests {
		sum += r.received
	}
	return sum
}

// waitForWorker waits until the service worker keeps the page.
func (p *Page) waitForWorker() {
	p.t.Helper()
	p.wait("the service worker", func() (kept bool, err error) {
		err = p.tab.eval(&kept, `async () => { await navigator.serviceWorker.ready; return !!(await caches.match('/till/')) }`)
		return kept, err
	})
}
