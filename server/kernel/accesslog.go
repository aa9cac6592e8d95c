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

// observe starts to observe a request, for metrics and the access log. Call end
// when it is answered. route is the pattern, or empty if no route matches. The log
// has it instead of the path, since install links are secrets and a path may
// contain anything in place of an id.
func (k *Kernel) observe(w http.ResponseWriter, r *http.Request, route string) (end func(status int, caller string)) {
	if k.conf.Observe == nil && !k.conf.AccessLog {
		return func(int, string) {}
	}
	start := time.Now()
	count := func(int) {}
	if k.conf.Observe != nil {
		method := r.Method
		if route == "" { // the method may be any word
			method = "any"
		}
		count = k.conf.Observe(method, route)
	}
	return func(status int, caller string) {
		count(status)
		if !k.conf.AccessLog {
			return
		}
		attrs := []slog.Attr{
			slog.String("request_id", k.requestID(w)),
			slog.String("method", knownMethod(r.Method)),
			slog.String("route", route),
			slog.Int("status", status),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000),
			slog.String("client", k.client(r)),
		}
		if caller != "" {
			attrs = append(attrs, slog.String("caller", caller))
		}
		k.conf.Log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
	}
}

// knownMethod returns the method if HTTP defines it, and "other" otherwise.
func knownMethod(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}

// client returns the address of the client: the peer of the connection or, if that
// is a trusted proxy, the last address in X-Forwarded-For that is not a trusted
// proxy. Anybody may have written the addresses before it.
func (k *Kernel) client(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := peer.Addr().Unmap()
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

// trusts reports whether ip is a trusted proxy.
func (k *Kernel) trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(k.conf.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
