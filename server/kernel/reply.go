package kernel

import (
	"net/http"
	"strconv"
	"sync"
)

// Reply is an answer that is ready to be sent, and to be remembered.
type Reply struct {
	Status int
	Body   []byte  // JSON; empty for 204
	buffer *[]byte // that Body is in, when it can be used again
}

// buffers are for the answers to reads, which nobody holds on to: net/http has
// written or copied what it was given before Write returns, HTTP/2 included.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// bufferMost is the largest that is kept.
const bufferMost = 256 << 10

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

// done gives the reply's buffer back once it was sent.
func (r *Reply) done() {
	if r.buffer != nil && cap(*r.buffer) <= bufferMost {
		buffers.Put(r.buffer)
	}
	r.Body, r.buffer = nil, nil
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
