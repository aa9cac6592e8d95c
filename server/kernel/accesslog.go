package kernel

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// observe notes the beginning of a request, for metrics and the log, and
// returns what notes its end. route is the pattern, empty where none fits. The
// log gets it in place of the path: install links are secrets, and people put
// what they like where an id belongs.
func (k *Kernel) observe(w http.ResponseWriter, r *http.Request, route string) (end func(status int, caller string)) {
	if k.conf.Observe == nil && !k.conf.AccessLog {
		return func(int, string) {}
	}
	start := time.Now()
	counted := func(int) {}
	if k.conf.Observe != nil {
		method := r.Method
		if route == "" { // anybody can invent methods
			method = "any"
		}
		counted = k.conf.Observe(method, route)
	}
	return func(status int, caller string) {
		counted(status)
		if !k.conf.AccessLog {
			return
		}
		attrs := append(make([]slog.Attr, 0, 7), slog.String("request_id", k.requestID(w)), slog.String("method", known(r.Method)), slog.String("route", route),
			slog.Int("status", status), slog.Float64("ms", float64(time.Since(start).Microseconds())/1000), slog.String("client", k.client(r)))
		if caller != "" {
			attrs = append(attrs, slog.String("caller", caller))
		}
		k.conf.Log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
	}
}

// known returns a method that HTTP defines, and "other" for any other.
func known(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}

// client is the address that a request came from: that of the connection or,
// behind proxies that are trusted, the last one that they were told and that is
// not a trusted proxy itself. What stands before it anybody can have written.
func (k *Kernel) client(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && k.trusts(ip); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		ip = hop.Unmap().WithZone("")
	}
	return ip.String()
}

func (k *Kernel) trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(k.conf.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
