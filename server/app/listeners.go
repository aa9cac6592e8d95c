package app

import (
	"cmp"
	"fmt"
	"net"
	"slices"
)

// listeners are what a server listens on.
type listeners struct {
	main    net.Listener
	plain   net.Listener // leads to https; nil without --http-listen
	metrics net.Listener // nil without metrics
	each    *addressLimit
}

// listen opens the listeners of a configuration, each with its limit of connections.
func (c *Config) listen() (l listeners, err error) {
	l.each = newAddressLimit(c.Limits.ConnectionsPerAddress, slices.Concat(loopback, c.TrustedProxies)...)
	open := func(flag, address string, connections int) (net.Listener, error) {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("--%s (%s): %w", flag, Variable(flag, ""), err)
		}
		return limitConnections(ln, connections, l.each), nil
	}
	c.MaxConnections = cmp.Or(c.MaxConnections, max(1, min(maxConnections, openFiles()-reservedFiles)))
	if l.main, err = open("listen", c.Listen, c.MaxConnections); err != nil {
		return l, err
	}
	if c.HTTPListen != "" {
		if l.plain, err = open("http-listen", c.HTTPListen, maxRedirected); err != nil {
			return l, err
		}
	}
	if c.Metrics != nil {
		l.metrics, err = open("metrics-listen", c.MetricsListen, maxScrapers)
	}
	return l, err
}

// close closes the listeners that are open.
func (l *listeners) close() {
	for _, ln := range []net.Listener{l.main, l.plain, l.metrics} {
		if ln != nil {
			ln.Close()
		}
	}
}
