//go:build browser

package browser

import (
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var parameter = regexp.MustCompile(`[:*]\w+`)

// TestPages checks each page of the table, and that the table has each page of the
// server.
func TestPages(t *testing.T) {
	d := startDemo(t, plainNames)
	d.checkTable()
	d.visitAll(t, func(b *tab, address string, v visit) { checkIn(b, address, v.rules) })
}

// checkTable checks that the table has each page of the server, and no others.
func (d *demo) checkTable() {
	d.T.Helper()
	patterns := map[string]bool{"/": true} // the start page belongs to the control API
	for _, route := range d.App.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if method != http.MethodGet || strings.HasPrefix(pattern, "/api/") || strings.HasPrefix(pattern, "/till/v1/") {
			continue
		}
		patterns[pattern] = true
		if len(visits[pattern]) == 0 {
			d.T.Errorf("the table of visits has no entry for %s", pattern)
		}
	}
	for pattern, list := range visits {
		for _, v := range list {
			if v.not == "" && !patterns[pattern] {
				d.T.Errorf("the server has no page %s", pattern)
			}
		}
	}
}

// visitAll calls check with an empty tab and the address of each page of the table, in a subtest of
// its own. Subtests use a tab one after the other, since a new one takes as long as most checks.
func (d *demo) visitAll(t *testing.T, check func(b *tab, address string, v visit)) {
	t.Helper()
	tabs := make(chan *tab, runtime.GOMAXPROCS(0))
	for range cap(tabs) {
		tabs <- openTab(t, "")
	}
	cookies := map[string]*http.Cookie{}
	for pattern, list := range visits {
		for i, v := range list {
			if v.not != "" {
				continue
			}
			v.pattern, v.first = pattern, i == 0
			if v.as == "" && strings.HasPrefix(pattern, "/dashboard") {
				v.as = "owner"
			}
			if v.as != "" && cookies[v.as] == nil {
				cookies[v.as] = d.signIn(v.as)
			}
			v.rules.Cookie, v.rules.Status = cookies[v.as], v.status
			v.name = v.nameOf(pattern)
			address := d.Origin + v.address(d, pattern)
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				b := <-tabs
				t.Cleanup(func() { tabs <- b })
				check(b.reused(t, d.Origin), address, v)
			})
		}
	}
}

// nameOf returns the name of the visit: the pattern, what the page shows, and who sees it.
func (v visit) nameOf(pattern string) string {
	parts := []string{parameter.ReplaceAllString(pattern, ""), v.of, v.query}
	if v.as != "owner" {
		parts = append(parts, v.as)
	}
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).
		ReplaceAllString(strings.TrimPrefix(strings.Join(parts, " "), "/dashboard"), "-"), "-")
	if name == "" && v.as == "owner" {
		name = "today"
	} else if name == "" {
		name = "start"
	}
	return name
}

// address returns the path and the query of the page.
func (v visit) address(d *demo, pattern string) string {
	d.T.Helper()
	var things []string
	if v.of != "" {
		things = strings.Split(v.of, ", ")
	}
	if n := len(parameter.FindAllString(pattern, -1)); n != len(things) {
		d.T.Fatalf("%s takes %d ids, and the visit has %q", pattern, n, things)
	}
	address := parameter.ReplaceAllStringFunc(pattern, func(string) string {
		id := d.ids[things[0]]
		if id == "" {
			d.T.Fatalf("the demo has no %s", things[0])
		}
		things = things[1:]
		return id
	})
	if v.query != "" {
		address += "?" + v.query
	}
	return address
}
