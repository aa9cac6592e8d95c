// Package metrics collects the metrics of a server for Prometheus.
//
// Requests are labelled with the pattern of their route, never with their path, so
// that labels contain no ids, names or secrets.
package metrics

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"punchcard/store"
)

// Metrics are the metrics of a server. Its methods are called for every request:
// they do not block, and allocate little for routes that were requested before.
type Metrics struct {
	registry *prometheus.Registry

	requests   *prometheus.CounterVec
	took       *prometheus.HistogramVec
	groups     prometheus.Histogram
	commits    prometheus.Histogram
	failed     prometheus.Counter // groups of writes
	deliveries *prometheus.CounterVec
	lag        prometheus.Histogram
	mails      *prometheus.CounterVec

	routes sync.Map // key to *route
}

// route has the metrics of a route, which are looked up by their labels only once.
type route struct {
	took  prometheus.Observer
	codes sync.Map // HTTP status (int) to prometheus.Counter
}

type key struct{ method, pattern string }

// durations are the bounds of the buckets for requests and writes, in seconds.
var durations = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}

// New returns metrics that are zero, except for those of the process.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registered := promauto.With(registry)
	m := &Metrics{
		registry: registry,
		requests: registered.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_http_requests_total",
			Help: "Requests answered, by the route's pattern and the status."}, []string{"method", "route", "code"}),
		took: registered.NewHistogramVec(prometheus.HistogramOpts{Name: "punchcard_http_request_duration_seconds",
			Help:    "From taking a request up to having written its answer.",
			Buckets: durations}, []string{"method", "route"}),
		groups: registered.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_write_group_size",
			Help: "Writes that shared one commit.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128}}),
		commits: registered.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_write_group_seconds",
			Help:    "From the beginning of a group's transaction to the end of its commit, fsync included.",
			Buckets: durations}),
		failed: registered.NewCounter(prometheus.CounterOpts{Name: "punchcard_write_groups_failed_total",
			Help: "Groups of which nothing was kept: the disk is full or failing, or another process held the file too long."}),
		deliveries: registered.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_webhook_attempts_total",
			Help: "Attempts at webhooks: delivered, failed (to be tried again) or given_up."}, []string{"outcome"}),
		lag: registered.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_webhook_lag_seconds",
			Help:    "From the time at which a delivery was due to its attempt.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}}),
		mails: registered.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_mail_attempts_total",
			Help: "Attempts at mail: sent, failed (to be tried again) or refused."}, []string{"outcome"}),
	}
	for _, outcome := range []string{"sent", "failed", "refused"} {
		m.mails.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"delivered", "failed", "given_up"} {
		m.deliveries.WithLabelValues(outcome)
	}
	return m
}

// Watch adds the metrics that are read from the store and from the listeners with each scrape.
func (m *Metrics) Watch(st *store.Store, version string, refusedConnections func() int64) {
	registered := promauto.With(m.registry)
	gauge := func(name, help string, read func() float64) {
		registered.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	size := func(suffix string) func() float64 {
		return func() float64 {
			info, err := os.Stat(st.Path() + suffix)
			if err != nil {
				return 0
			}
			return float64(info.Size())
		}
	}
	registered.NewCounterFunc(prometheus.CounterOpts{Name: "punchcard_connections_refused_total",
		Help: "Connections that were closed since their address had too many."}, func() float64 { return float64(refusedConnections()) })
	gauge("punchcard_db_bytes", "Size of the database file.", size(""))
	gauge("punchcard_wal_bytes", "Size of the write-ahead log beside it.", size("-wal"))
	gauge("punchcard_write_queue", "Writes that wait for a group.", func() float64 { return float64(st.QueuedWrites()) })
	count := func(read func(*store.View, int64) (int64, error)) func() float64 {
		return func() float64 {
			n, err := store.Read(st, func(v *store.View) (int64, error) { return read(v, 100_000) })
			if err != nil {
				return -1
			}
			return float64(n)
		}
	}
	gauge(
		"punchcard_webhook_queue",
		"Deliveries that wait, first attempts and retries; counted to 100000.",
		count((*store.View).CountPendingDeliveries),
	)
	gauge("punchcard_mail_queue", "Mail that waits; counted to 100000.", count((*store.View).CountMails))
	gauge("punchcard_push_queue", "Cards whose pushes wait; counted to 100000.", count((*store.View).CountPushes))
	registered.NewGauge(prometheus.GaugeOpts{
		Name:        "punchcard_build_info",
		Help:        "1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": version},
	}).Set(1)
}

// Request is called at the start of a request, and end when it was answered.
func (m *Metrics) Request(method, pattern string) (end func(status int)) {
	start := time.Now()
	v, ok := m.routes.Load(key{method, pattern})
	if !ok {
		v, _ = m.routes.LoadOrStore(key{method, pattern}, &route{took: m.took.WithLabelValues(method, pattern)})
	}
	r := v.(*route)
	return func(status int) {
		r.took.Observe(time.Since(start).Seconds())
		code, ok := r.codes.Load(status)
		if !ok {
			code, _ = r.codes.LoadOrStore(status, m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)))
		}
		code.(prometheus.Counter).Inc()
	}
}

// Group is called at the start of a group of writes, and end after its commit.
func (m *Metrics) Group(size int) (end func(error)) {
	start := time.Now()
	m.groups.Observe(float64(size))
	return func(err error) {
		m.commits.Observe(time.Since(start).Seconds())
		if err != nil {
			m.failed.Inc()
		}
	}
}

// Attempt counts an attempt at a webhook.
func (m *Metrics) Attempt(a *store.Attempt, o store.Outcome) {
	switch {
	case o.Success:
		m.deliveries.WithLabelValues("delivered").Inc()
	case o.NextAttempt.Valid:
		m.deliveries.WithLabelValues("failed").Inc()
	default:
		m.deliveries.WithLabelValues("given_up").Inc()
	}
	m.lag.Observe(max(0, o.Lag.Seconds()))
}

// Mail counts an attempt at a mail by its outcome.
func (m *Metrics) Mail(outcome string) { m.mails.WithLabelValues(outcome).Inc() }

// Handler returns the handler for scrapes. It answers 503 if four others are being
// answered.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
