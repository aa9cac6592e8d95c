package server

import (
	"net/http"
	"strconv"
)

// Reply is an answer that is ready to be sent, and to be remembered.
type Reply struct {
	Status int
	Body   []byte // JSON; empty for 204
}

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// send writes a JSON answer. Every answer of the API goes through here.
func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
	if len(body) > 0 {
		h["Content-Type"] = jsonType
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	w.Write(body)
}
