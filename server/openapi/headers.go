package openapi

import (
	"encoding/json"
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/wire"
)

// headers returns references to the headers of answers with a status. Only answers to
// a valid key have the headers of the rate limit, so those with 401 and 405 need not
// have them and do not list them.
func (d *Document) headers(r *kernel.Route, status int) map[string]reference {
	names := []string{"X-Request-Id", "Cache-Control"}
	if d.about.RateLimits && status != http.StatusUnauthorized && status != http.StatusMethodNotAllowed {
		names = append(names, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
	}
	switch status {
	case http.StatusUnauthorized:
		names = append(names, "WWW-Authenticate")
	case http.StatusMethodNotAllowed:
		names = append(names, "Allow")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		names = append(names, "Retry-After")
	case r.Status, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		if r.Writes() && !d.about.Open { // the answer is remembered
			names = append(names, "Idempotent-Replayed")
		}
	}
	refs := map[string]reference{}
	for _, n := range names {
		refs[n] = reference{"#/components/headers/" + n}
	}
	return refs
}

// usedHeaders returns the definitions of the headers that an answer may have.
func (d *Document) usedHeaders() map[string]header {
	used := map[string]header{}
	for _, o := range d.Operations {
		for _, r := range o.Responses {
			for name := range r.Headers {
				used[name] = headers[name]
			}
		}
	}
	return used
}

// headers are the definitions of the response headers, by name.
var headers = map[string]header{
	"X-Request-Id":    {"The server's own id for the request.", true, &wire.JSONSchema{Type: wire.Types{"string"}, Pattern: "^req_"}},
	"Cache-Control":   {"Answers must not be cached.", true, constant("no-store")},
	"RateLimit-Limit": {"Requests per minute of this key; 2147483647 where there is no limit.", true, atLeast("0")},
	"RateLimit-Remaining": {
		"Requests left in the key's bucket, which holds one minute's worth and refills evenly.", true, atLeast("0"),
	},
	"RateLimit-Reset":  {"Seconds until the bucket is full.", true, atLeast("0")},
	"Allow":            {"The methods that the path takes.", true, text("")},
	"WWW-Authenticate": {"`Bearer`, with the code unauthenticated.", false, constant("Bearer")},
	"Retry-After":      {"Seconds to wait.", true, atLeast("1")},
	"Idempotent-Replayed": {
		"`true` when the answer is that of an earlier request with the same Idempotency-Key or client_reference.",
		false, constant("true"),
	},
}

// constant returns a schema of one text.
func constant(value string) *wire.JSONSchema {
	return &wire.JSONSchema{Type: wire.Types{"string"}, Const: value}
}

// atLeast returns a schema of integers from a minimum on.
func atLeast(minimum json.Number) *wire.JSONSchema {
	return &wire.JSONSchema{Type: wire.Types{"integer"}, Minimum: minimum}
}
