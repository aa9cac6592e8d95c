package web

import (
	"net/http"
	"time"
)

// SendMessage sends a message of a stream of server-sent events. It fails if the browser does not take it within limit, which
// must not go on after that: HTTP/2 ends a stream whose time is over, also one that has nothing to send.
func SendMessage(w http.ResponseWriter, message []byte, limit time.Duration) error {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(limit))
	defer rc.SetWriteDeadline(time.Time{})
	if _, err := w.Write(message); err != nil {
		return err
	}
	return rc.Flush()
}
