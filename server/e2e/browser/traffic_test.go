//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/serviceworker"
)

// traffic is what a tab requests and reports.
type traffic struct {
	answer func(accept bool) // answers a dialog of a script

	mu          sync.Mutex
	problems    []string                     // in words, of all pages of the tab
	requests    map[string]*request          // by the id that the browser gives it
	status      int                          // of the page; 0: none was loaded
	navigations int                          // pages, and places in a page, that the tab has gone to
	busy        bool                         // a page is being loaded
	stopped     bool                         // problems are no longer collected
	crashed     bool                         // the process of the page has ended
	worker      serviceworker.RegistrationID // empty: the tab has reported no service worker
	notices     []string                     // that the browser has shown: title and text
}

// A request is a request of a page, with the bytes of its answer as they were sent.
type request struct {
	url      string
	received int64
}

func newTraffic() *traffic { return &traffic{requests: map[string]*request{}} }

// reportBinding is the name of the function by which the observer reports problems.
const reportBinding = "reportToTest"

// observer runs in each page before its own scripts.
const observer = `(() => {
	const report = window.` + reportBinding + `
	addEventListener('securitypolicyviolation', e => report('the policy forbids ' + e.violatedDirective + ' ' + (e.blockedURI || e.sample)))
	const shifts = []
	const keep = list => { for (const s of list) if (!s.hadRecentInput && s.value > 0) shifts.push(s) }
	const shiftObserver = new PerformanceObserver(list => keep(list.getEntries()))
	shiftObserver.observe({type: 'layout-shift', buffered: true})
	window.testShifts = () => { keep(shiftObserver.takeRecords()); return shifts }
})()`

// report keeps a problem. The browser reports some twice.
func (s *traffic) report(format string, arguments ...any) {
	if p := fmt.Sprintf(format, arguments...); !s.stopped && !slices.Contains(s.problems, p) {
		s.problems = append(s.problems, p)
	}
}

// stop has no further problems collected.
func (s *traffic) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// forget forgets what was requested and reported.
func (s *traffic) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems, s.requests, s.status = nil, map[string]*request{}, 0
}

// hasCrashed reports whether the process of the page has ended.
func (s *traffic) hasCrashed() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed, nil
}

// expressionOf returns the call of a JavaScript function.
func expressionOf(function string, arguments []any) (string, error) {
	raw, err := json.Marshal(append([]any{}, arguments...))
	return "(" + function + ")(..." + string(raw) + ")", err
}
