package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"punchcard/store"
)

// MaxBody is the size of the largest body, in bytes (contract section 1,
// "Body").
const MaxBody = 1 << 20

// readBody reads a request's body whole.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > MaxBody {
		return nil, tooLarge(w)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(w)
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, fail(http.StatusBadRequest, store.BadRequest, "The body could not be read to its end.")
	}
	return b, nil
}

func tooLarge(w http.ResponseWriter) *Problem {
	w.Header().Set("Connection", "close")
	return fail(http.StatusRequestEntityTooLarge, store.BadRequest, "The body is larger than 1 MiB.")
}

// isJSON checks Content-Type: absent or JSON. An empty body may claim
// anything.
func isJSON(r *http.Request, body []byte) error {
	v := r.Header["Content-Type"]
	if len(v) == 0 || len(body) == 0 || v[0] == "application/json" {
		return nil
	}
	t, _, err := mime.ParseMediaType(v[0])
	if err == nil && (t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")) {
		return nil
	}
	return fail(http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type must be application/json.")
}
