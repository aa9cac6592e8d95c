package wallettest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
)

// server is an HTTP server on a port of 127.0.0.1 that is free.
type server struct {
	http.Server
	URL string
}

// newServer starts a server, over TLS if it has a configuration. It panics if no port is free.
func newServer(h http.Handler, config *tls.Config) *server {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := &server{http.Server{Handler: h, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}, "http://" + ln.Addr().String()}
	if config == nil {
		go s.Serve(ln)
		return s
	}
	s.URL = "https://" + ln.Addr().String()
	go s.ServeTLS(ln, "", "")
	return s
}
