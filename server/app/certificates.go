package app

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"punchcard/server/kernel"
)

// certificates are the TLS certificates of a server.
type certificates interface {
	config() *tls.Config

	// refresh brings what list returns up to date. It returns how long that holds.
	refresh() time.Duration

	list() []Certificate
}

// Certificate is what an operator may want to know of a certificate of the server.
type Certificate struct {
	Host    string    // a host that it is for; empty if it names none
	Begins  time.Time // zero: there is no certificate yet
	Ends    time.Time
	Renewed bool   // the server renews it
	Problem string // why there is none, or why the new one is not used; empty if all is well
}

// certificateWarning is the time before a certificate's end from which on the server
// says that it ends.
const certificateWarning = 14 * 24 * time.Hour

// DaysLeft returns the whole days until the certificate ends, negative once it has.
func (c Certificate) DaysLeft(now time.Time) int {
	const day = 24 * time.Hour
	left := c.Ends.Sub(now)
	if left < 0 {
		left -= day - 1
	}
	return int(left / day)
}

// EndsSoon reports whether somebody should look after the certificate: less than
// 14 days are left or, of one that the server should have renewed when a third of its
// time was left, less than a quarter.
func (c Certificate) EndsSoon(now time.Time) bool {
	limit := certificateWarning
	if c.Renewed {
		limit = min(limit, c.Ends.Sub(c.Begins)/4)
	}
	return !c.Ends.IsZero() && c.Ends.Sub(now) < limit
}

// Certificates returns the certificates of the server's own TLS: one for each host of
// --tls-auto and of a shop, or that of --tls-cert. It is empty over plain http.
func (a *App) Certificates() []Certificate {
	if a.certs == nil {
		return nil
	}
	return a.certs.list()
}

// newCertificates returns the certificates of a configuration; nil over plain http.
func newCertificates(c *Config) (certificates, error) {
	switch {
	case len(c.TLSAuto) > 0:
		return newACMECertificates(c)
	case c.TLSCert != "" || c.TLSKey != "":
		return newCertificate(c.TLSCert, c.TLSKey, c.Log)
	}
	return nil, nil
}

// serveCertificates starts what a server with its own TLS does beside answering
// requests: it keeps the certificates up to date and, if there is a listener for plain
// http, answers the CA's challenges there and leads browsers to https.
func (a *App) serveCertificates(plain net.Listener) {
	if a.certs == nil {
		return
	}
	if own, ok := a.certs.(*acmeCertificates); ok && plain != nil {
		a.plain = a.server(kernel.SecurityHeaders(own.manager.HTTPHandler(a.redirectToHTTPS())))
		a.plain.SetKeepAlivesEnabled(false)
		go func() { a.served <- a.plain.Serve(plain) }()
	}
	a.watch = watchCertificates(a.certs, a.conf.Log)
	a.watch.Start() // a loop starts without an error
}

// tlsConfig returns the configuration of TLS with certificates that get returns.
func tlsConfig(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{GetCertificate: get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// How often certificates are looked at, and how often a warning is repeated.
const (
	certificateInterval = time.Hour
	warningInterval     = 24 * time.Hour
)

// watchCertificates returns a Service that keeps certificates up to date and logs when
// one ends soon.
func watchCertificates(certs certificates, log *slog.Logger) Service {
	return newLoop(func(ctx context.Context) {
		warned := map[string]time.Time{}
		for {
			refreshed := make(chan time.Duration, 1)
			go func() { refreshed <- certs.refresh() }() // an order takes up to five minutes, for which no stop waits
			var wait time.Duration
			select {
			case <-ctx.Done():
				return
			case wait = <-refreshed:
			}
			warnOfEnds(certs.list(), time.Now(), warned, log)
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	})
}

// warnOfEnds logs the certificates that end soon, each once a day. warned has the times
// of the warnings by host.
func warnOfEnds(list []Certificate, now time.Time, warned map[string]time.Time, log *slog.Logger) {
	for _, c := range list {
		if !c.EndsSoon(now) || now.Sub(warned[c.Host]) < warningInterval {
			continue
		}
		warned[c.Host] = now
		what := "the certificate ends soon"
		if !now.Before(c.Ends) {
			what = "the certificate has ended"
		}
		log.Warn(what, "host", c.Host, "ends", c.Ends, "days_left", c.DaysLeft(now))
	}
}
