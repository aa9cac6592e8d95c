package kernel

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
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
			slog.String("request_id", k.RequestID(w)),
			slog.String("method", knownMethod(r.Method)),
			slog.String("route", route),
			slog.Int("status", status),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000),
			slog.String("client", k.client(r).logged()),
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
