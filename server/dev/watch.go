package dev

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"punchcard/server/kernel"
)

// Answered is a request that was answered, or an attempt to deliver a webhook, as somebody
// who watches the fixture is told of it.
type Answered struct {
	Method   string // WEBHOOK for a delivery
	Path     string // see shownPath; of a delivery the event and the origin that it was sent to
	Status   int    // 0 if the connection was cut or there was no answer
	Duration time.Duration
	// Hints say what is worth a look: the code of an error with the fields that it names,
	// the fault that was applied, and the codes of the journal's hints. The names of fields
	// may be any text.
	Hints []string
}

// Watched returns a handler that calls tell with each request that next has answered. It
// leaves out the assets of pages, and the deliveries that a receiver gets, which the journal
// reports.
func Watched(next http.Handler, tell func(Answered)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAsset(r.URL.Path) || r.Method == http.MethodPost && path.Dir(r.URL.Path) == "/dev/receiver" {
			next.ServeHTTP(w, r)
			return
		}
		x := &watched{StatusWriter: kernel.StatusWriter{ResponseWriter: w}}
		a := Answered{Method: r.Method, Path: shownPath(r.URL.EscapedPath())} // before the handlers change it
		if !slices.Contains(methods, a.Method) {
			a.Method = "OTHER"
		}
		start, aborted := time.Now(), true
		defer func() {
			if a.Duration = time.Since(start); !aborted {
				a.Status = cmp.Or(x.Status, http.StatusOK)
			}
			a.Hints = x.hints()
			tell(a)
		}()
		next.ServeHTTP(x, r)
		aborted = false
	})
}

// assets are the first segments of the paths of assets.
var assets = []string{"assets", "logo", "favicon.ico", "sw.js"}

// isAsset reports whether a path is that of an asset of a page. Requests for assets are many,
// and do not show what a user or client does.
func isAsset(path string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(assets, first) || first == "till" && rest == "sw.js"
}

// maxWatchedError is how many bytes of an error are read for its hint.
const maxWatchedError = 16 << 10

// watched is an http.ResponseWriter that keeps the status of an answer, and the body of an
// error in JSON.
type watched struct {
	kernel.StatusWriter
	body  []byte
	notes []string // of the journal
}

func (x *watched) Write(b []byte) (int, error) {
	if x.Status >= 400 && x.Header().Get("Content-Type") == "application/json" {
		x.body = append(x.body, b[:min(len(b), maxWatchedError-len(x.body))]...)
	}
	return x.ResponseWriter.Write(b)
}

// hints returns the hints of the answer.
func (x *watched) hints() (list []string) {
	var e struct{ Error kernel.Error }
	if json.Unmarshal(x.body, &e) == nil && e.Error.Code != "" {
		text := string(e.Error.Code)
		for i, d := range e.Error.Details {
			switch {
			case i == maxWatchedFields:
				text += fmt.Sprintf(" and %d more", len(e.Error.Details)-i)
			case i > maxWatchedFields, d.Field == "":
			default:
				text += " " + cut(d.Field, 60)
			}
		}
		list = append(list, text)
	}
	return append(list, x.notes...)
}

// maxWatchedFields is how many invalid fields a hint names.
const maxWatchedFields = 5

// cut returns at most n characters of a text.
func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// note adds what the journal knows of a request to what is told of it.
func note(w http.ResponseWriter, e *requestEntry) {
	x := unwrapped[*watched](w)
	if x == nil {
		return
	}
	if e.Fault.Valid {
		x.notes = append(x.notes, "fault "+e.Fault.V)
	}
	if e.Replayed {
		x.notes = append(x.notes, "replayed")
	}
	for _, h := range e.Hints {
		x.notes = append(x.notes, h.Code)
	}
}

// deliveryAnswered returns what is told of an attempt to deliver a webhook. The path of a
// receiver may be a secret.
func deliveryAnswered(e *deliveryEntry) Answered {
	a := Answered{Method: "WEBHOOK", Path: e.Event, Status: int(e.Status.V), Duration: time.Duration(e.DurationMS) * time.Millisecond}
	if u, err := url.Parse(e.URL); err == nil {
		a.Path += " to " + u.Scheme + "://" + u.Host
	}
	if e.Attempt > 1 {
		a.Hints = append(a.Hints, fmt.Sprintf("attempt %d", e.Attempt))
	}
	if !e.Success {
		if !e.Status.Valid {
			a.Hints = append(a.Hints, cut(e.Error.V, 100))
		}
		if e.NextAttemptAt.Valid {
			a.Hints = append(a.Hints, "next attempt "+e.NextAttemptAt.V.String())
		}
	}
	for _, h := range e.Hints {
		a.Hints = append(a.Hints, h.Code)
	}
	return a
}

// hidden stands for a segment of a path that may be a secret.
const hidden = "…"

// plainSegment matches the segments of paths that are shown: words, versions of an API, and
// public ids. Tokens are longer than words, and codes of cards have capitals or digits.
var plainSegment = regexp.MustCompile(`^([a-z]{0,24}([._-][a-z]{1,24}){0,4}|v[0-9]|\.well-known)$`)

// idSegment matches the ids of resources.
var idSegment = regexp.MustCompile(`^[a-z]{3}_([0-9a-z]{26}|[0-9]{1,9}|[0-9a-f]{32})$`)

// beforeSecrets are the segments after which a token or a card's code stands.
var beforeSecrets = []string{"c", "i", "setup", "invite", "reset", "pair", "cards"}

// shownPath returns an escaped path with … in the place of each segment that may be a token,
// a card's code or anything else that is neither a word nor an id.
func shownPath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		word := plainSegment.MatchString(s) && (i == 0 || s == "" || !slices.Contains(beforeSecrets, segments[i-1]))
		if !word && !idSegment.MatchString(s) {
			segments[i] = hidden
		}
	}
	return cut(strings.Join(segments, "/"), 200)
}
