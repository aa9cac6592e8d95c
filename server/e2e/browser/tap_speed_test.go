//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

// BenchmarkTap measures what people wait for at a till that keeps a thousand writes of the last days:
// the time from the tap on the button that gives a stamp until the screen says that it was given, and
// until the open page of the card's holder shows it. Other tills give no stamps meanwhile, or 600 in a
// second.
//
//	.ci/browser -run '^$' -bench Tap -benchtime 140x
func BenchmarkTap(b *testing.B) {
	for _, rate := range []int{0, 600} {
		b.Run(fmt.Sprintf("meanwhile=%d", rate), func(b *testing.B) {
			s := build(b)
			s.dev()
			program := s.api().Post("/programs", fields{
				"type":               "standard",
				"name":               "Coffee",
				"icon_key":           "coffee",
				"total_stamps":       900,
				"repeat_after_reset": true,
			}).NewID()
			s.api().Post("/programs/"+program+"/publish", nil).Want(200)
			s.stampMeanwhile(program, rate)
			url := s.ready.Origin + "/till/"
			till := Open(b, url, View{Width: 390, Cookie: kernel.DeviceCookie("", s.ready.TillToken)})
			till.Wait("Find the card")
			till.must(nil, till.tab.eval(nil, keepRecords, servertest.Sized(1000, 10)))
			till.must(nil, till.navigate(url)) // the page reads what it keeps when it is opened
			till.Wait("Find the card")
			card, shown := s.issueOf(program, "Ada Lovelace")
			holder := Open(b, s.ready.Origin+"/c/"+shown.PageToken, View{Width: 390})
			till.show(card, "Ada Lovelace")
			var atTill, atHolder []float64
			for n := 1; b.Loop(); n++ {
				till.Wait(fmt.Sprintf("%d of 900 stamps", n-1))
				time.Sleep(300 * time.Millisecond) // a holder's page is told of changes at most every 250 ms
				holder.must(nil, holder.tab.eval(nil, noteText, fmt.Sprintf("%d of 900 stamps", n), "main"))
				till.must(nil, till.tab.eval(nil, noteText, fmt.Sprintf("The card has %d now.", n), ".messages"))
				till.press("Give 1 stamp", buttons)
				shown := eval[struct{ Tap, Shown float64 }](till, `() => window.noted`)
				atTill = append(atTill, shown.Shown-shown.Tap)
				atHolder = append(atHolder, eval[struct{ Shown float64 }](holder, `() => window.noted`).Shown-shown.Tap)
			}
			for name, times := range map[string][]float64{"till": atTill, "holder": atHolder} {
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2], name+"-p50-ms")
				b.ReportMetric(times[len(times)*95/100], name+"-p95-ms")
			}
		})
	}
}

// stampMeanwhile gives stamps to two hundred cards at a rate until the benchmark ends.
func (b *built) stampMeanwhile(program string, rate int) {
	b.t.Helper()
	if rate == 0 {
		return
	}
	var cards []string
	for range 200 {
		card, _ := b.issueOf(program, "Bruno Belcourt")
		cards = append(cards, card)
	}
	due := make(chan string, 64)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for range 16 {
		go func() {
			for card := range due {
				r, _ := http.NewRequest(http.MethodPost, b.ready.Origin+"/till/v1/cards/"+card+"/stamps", nil)
				r.Header.Set("Authorization", "Bearer "+b.ready.TillToken)
				if answer, err := client.Do(r); err == nil { // the server is killed at the end
					answer.Body.Close()
				}
			}
		}()
	}
	go func() {
		defer close(due)
		begin := time.Now()
		for n := 0; b.t.Context().Err() == nil; time.Sleep(time.Millisecond) {
			for ; n < int(time.Since(begin).Seconds()*float64(rate)); n++ {
				due <- cards[n%len(cards)]
			}
		}
	}()
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

// noteText makes window.noted the promise of times in milliseconds since 1970: of the next tap, and when
// a part of the page was drawn with a text.
const noteText = `(text, part) => {
	let tap = 0
	addEventListener('pointerdown', e => tap = performance.timeOrigin + e.timeStamp, {capture: true, once: true})
	window.noted = new Promise(resolve => {
		const observer = new MutationObserver(() => {
			if (!document.querySelector(part)?.innerText.replace(/\s+/g, ' ').includes(text)) return
			observer.disconnect()
			requestAnimationFrame(() => setTimeout(() => resolve({tap, shown: performance.timeOrigin + performance.now()})))
		})
		observer.observe(document, {subtree: true, childList: true, characterData: true})
	})
	return true
}`
