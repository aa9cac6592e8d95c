package api_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestClientLeaves checks that a client that ends its connection in the middle of a request is no
// fault that the log reports, also where the server knew the caller from before a change of keys.
func TestClientLeaves(t *testing.T) {
	var log servertest.Log
	s := start(t, func(c *app.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s.Get("/me").Want(200)
	s.Control("POST", "/keys", nil) // from now on what the server knows of the caller is out of date
	c := require.Must(net.Dial("tcp", strings.TrimPrefix(s.Origin, "http://")))
	defer c.Close()
	fmt.Fprintf(c, "POST /api/public/v1/programs/x/cards HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{",
		c.RemoteAddr(), s.APIKey)
	c.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, c) // until the server has ended it
	if log.Has("request failed") {
		t.Error(log.String())
	}
}
