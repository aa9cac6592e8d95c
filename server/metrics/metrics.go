// Package metrics is what a server tells Prometheus of itself.
//
// Labels are a route's pattern and never a path, so that no id, name or secret
// can become one.
package metrics

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"punchcard/store"
)

// Metrics are a server's. Its methods take part in the hot paths: they do not
// block and, for routes seen before, do not allocate much.
type Metrics struct {
	registry *prometheus.Registry

	requests   *prometheus.CounterVec
	took       *prometheus.HistogramVec
	groups     prometheus.Histogram
	commits    prometheus.Histogram
	refused    prometheus.Counter
	deliveries *prometheus.CounterVec
	lag        prometheus.Histogram
	mails      *prometheus.CounterVec

	routes sync.Map // of route to *route
}

type route struct {
	took  prometheus.Observer
	codes sync.Map // of int to prometheus.Counter
}

type key struct{ method, route string }

// New makes metrics of which only the process's own are not zero.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_http_requests_total",
			Help: "Requests answered, by the route's pattern and the status."}, []string{"method", "route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "punchcard_http_request_duration_seconds",
			Help:    "From taking a request up to having written its answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}, []string{"method", "route"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_write_group_size",
			Help: "Writes that shared one commit.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128}}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_write_group_seconds",
			Help:    "From the beginning of a group's transaction to the end of its commit, fsync included.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "punchcard_write_groups_failed_total",
			Help: "Groups of which nothing was kept: the disk is full or failing, or another process held the file too long."}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_webhook_attempts_total",
			Help: "Attempts at webhooks: delivered, failed (to be tried again) or given_up."}, []string{"outcome"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "punchcard_webhook_lag_seconds",
			Help:    "From the time at which a delivery was due to its attempt.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}}),
	}
	m.mails = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "punchcard_mail_attempts_total",
		Help: "Attempts at mail: sent, failed (to be tried again) or refused."}, []string{"outcome"})
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.took, m.groups, m.commits, m.refused, m.deliveries, m.lag, m.mails)
	for _, outcome := range []string{"sent", "failed", "refused"} {
		m.mails.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"delivered", "failed", "given_up"} {
		m.deliveries.WithLabelValues(outcome)
	}
	return m
}

// Watch adds what is asked of the store when somebody looks.
func (m *Metrics) Watch(st *store.Store, version string) {
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
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
	gauge("punchcard_db_bytes", "Size of the database file.", size(""))
	gauge("punchcard_wal_bytes", "Size of the write-ahead log beside it.", size("-wal"))
	gauge("punchcard_write_queue", "Writes that wait for a group.", func() float64 { return float64(st.QueuedWrites()) })
	gauge("punchcard_webhook_queue", "Deliveries that wait, first attempts and retries; counted to 100000.", func() float64 {
		var n int64
		err := st.View(0, func(v *store.View) (err error) {
			n, err = v.CountPendingDeliveries(100_000)
			return err
		})
		if err != nil {
			return -1
		}
		return float64(n)
	})
	gauge("punchcard_mail_queue", "Mail that waits; counted to 100000.", func() float64 {
		var n int64
		err := st.View(0, func(v *store.View) (err error) {
			n, err = v.CountMails(100_000)
			return err
		})
		if err != nil {
			return -1
		}
		return float64(n)
	})
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "punchcard_build_info", Help: "1; the version is a label.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(info)
}

// Request notes the beginning of a request and returns what notes its end.
func (m *Metrics) Request(method, pattern string) (end func(status int)) {
	start := time.Now()
	kept, ok := m.routes.Load(key{method, pattern})
	if !ok {
		kept, _ = m.routes.LoadOrStore(key{method, pattern}, &route{took: m.took.WithLabelValues(method, pattern)})
	}
	r := kept.(*route)
	return func(status int) {
		r.took.Observe(time.Since(start).Seconds())
		code, ok := r.codes.Load(status)
		if !ok {
			code, _ = r.codes.LoadOrStore(status, m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)))
		}
		code.(prometheus.Counter).Inc()
	}
}

// Group notes the beginning of a group of writes and returns what notes its end.
func (m *Metrics) Group(size int) (end func(error)) {
	start := time.Now()
	m.groups.Observe(float64(size))
	return func(err error) {
		m.commits.Observe(time.Since(start).Seconds())
		if err != nil {
			m.refused.Inc()
		}
	}
}

// Attempt notes an attempt at a webhook.
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

// Mail notes the outcome of an attempt at a message.
func (m *Metrics) Mail(outcome string) { m.mails.WithLabelValues(outcome).Inc() }

// Handler answers a scrape; 503 when four are being answered already.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
