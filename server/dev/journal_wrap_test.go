package dev

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// wrapped serves h behind a journal.
func wrapped(t *testing.T, h http.HandlerFunc) (*Journal, string) {
	t.Helper()
	j := NewJournal(time.Now, openStore(t), testAPIs)
	srv := httptest.NewServer(j.Wrap(h))
	t.Cleanup(srv.Close)
	return j, srv.URL + "/api/public/v1/x"
}

// openStore opens a store on a new file.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "cards.db"), store.Options{Ephemeral: true, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func (j *Journal) entries(t *testing.T) (list []*requestEntry) {
	t.Helper()
	a, err := j.list(nil, nil, journalQuery{Limit: store.Given[int64](1000)})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range a.Data {
		list = append(list, e.(*requestEntry))
	}
	return list
}

// TestEntryComesBeforeTheLastByte checks that the entry is there when the answer is, even while the handler
// has not returned.
func TestEntryComesBeforeTheLastByte(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"large": func(w http.ResponseWriter, _ *http.Request) { // larger than all buffers, so sent at once
			w.Header().Set("Content-Length", "100000")
			io.WriteString(w, strings.Repeat("x", 50000))
			io.WriteString(w, strings.Repeat("y", 50000))
		},
		"small": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "x")
			http.NewResponseController(w).Flush()
		},
		"none": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := make(chan struct{})
			j, url := wrapped(t, func(w http.ResponseWriter, r *http.Request) {
				answer(w, r)
				<-read
			})
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
			if list := j.entries(t); len(list) != 1 || list[0].Response.Status != resp.StatusCode {
				t.Errorf("%d entries of an answer that was read", len(list))
			}
			close(read)
		})
	}
}

// TestJournalStreams checks that an answer streams as it does without a journal, and that its
// handler can control the connection.
func TestJournalStreams(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	j, url := wrapped(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "first")
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
		<-read
		io.WriteString(w, "second")
	})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
	if n := len(j.entries(t)); n != 0 {
		t.Errorf("%d entries of an answer that is not over", n)
	}
	close(read)
	io.ReadAll(resp.Body)
	if list := j.entries(t); len(list) != 1 || string(list[0].Response.Body) != `"firstsecond"` || list[0].Response.Status != 200 {
		t.Errorf("%+v", list)
	}
}

// TestJournalIsBounded checks that the journal keeps the newest thousand entries, and fewer if
// they are large.
func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200<<10)
	j := NewJournal(time.Now, openStore(t), testAPIs)
	call := func(method, body string) {
		j.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/api/public/v1/x", strings.NewReader(body)))
	}
	for range journalEntries + 5 {
		call("GET", "")
	}
	if list := j.entries(t); len(j.requests.list) != journalEntries || len(list) != journalEntries || list[0].Seq != 6 {
		t.Errorf("%d entries from %d", len(list), list[0].Seq)
	}
	for range 140 {
		call("POST", big)
	}
	size := 0
	list := j.entries(t)
	for _, e := range list {
		size += e.Request.size() + e.Response.size()
	}
	if want := journalBytes / (2*journalBody + 1024); size > journalBytes || len(list) > want || len(list) < want*9/10 {
		t.Errorf("%d entries of %d bytes", len(list), size)
	}
	for i := range 3 * maxRemembered {
		a := &requestInfo{method: "POST", path: strconv.Itoa(i), at: time.Now()}
		j.history.checkRepeat(a, 200, 1)
		j.history.addWait(a, http.StatusServiceUnavailable, "5", false, a.at, 1)
	}
	for name, n := range map[string]int{
		"posts": len(j.history.posts.m), "waits": len(j.history.waits.m), "their order": len(j.history.posts.order),
	} {
		if n > maxRemembered {
			t.Errorf("%d %s", n, name)
		}
	}
}

// testAPIs are the prefixes under which the server mounts the APIs.
var testAPIs = APIs{REST: "/api/public/v1", Till: "/till/v1"}
