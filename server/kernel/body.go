package kernel

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"punchcard/store"
)

// MaxBody is the maximum size of a body, in bytes.
const MaxBody = 1 << 20

// SmallBody is the maximum size of a body in requests that need no key, in bytes.
const SmallBody = 4 << 10

// readBody reads the body of a request, which must have at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(w, limit)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(w, limit)
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, refuseAs(http.StatusBadRequest, store.BadRequest, "The body could not be read to its end.")
	}
	return b, nil
}

// tooLarge returns the error for a body over the limit, which also ends the
// connection.
func tooLarge(w http.ResponseWriter, limit int64) *Error {
	w.Header().Set("Connection", "close")
	size := "1 MiB"
	if limit == SmallBody {
		size = "4 KiB"
	}
	return refuseAs(http.StatusRequestEntityTooLarge, store.BadRequest, "The body is larger than "+size+".")
}

// checkContentType returns an error unless Content-Type is JSON or absent, or the
// body is empty.
func checkContentType(r *http.Request, body []byte) error {
	v := r.Header["Content-Type"]
	if len(v) == 0 || len(body) == 0 || v[0] == "application/json" {
		return nil
	}
	t, _, err := mime.ParseMediaType(v[0])
	if err == nil && (t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")) {
		return nil
	}
	return refuseAs(http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type must be application/json.")
}
