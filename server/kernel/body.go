package kernel

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"punchcard/server/wire"
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

// ReadForm reads the body of a request as that of a form, which must have at most limit
// bytes.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	b, err := readBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, Refuse(store.BadRequest, "The form cannot be read.")
	}
	return form, nil
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

// IsJSON reports whether the Content-Type of a request is application/json.
func IsJSON(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && t == "application/json"
}

// checkContentType returns an error unless Content-Type is JSON in UTF-8 or absent,
// or the body is blank.
func checkContentType(r *http.Request, body []byte) error {
	v := r.Header["Content-Type"]
	if len(v) == 0 || v[0] == "application/json" || wire.IsBlankBody(body) {
		return nil
	}
	t, params, err := mime.ParseMediaType(v[0])
	isJSON := t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")
	charset, given := params["charset"]
	switch {
	case err != nil || !isJSON:
		return refuseAs(http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type must be application/json.")
	case given && !strings.EqualFold(charset, "utf-8"):
		return refuseAs(http.StatusUnsupportedMediaType, store.BadRequest, "The charset of the Content-Type must be utf-8.")
	}
	return nil
}
