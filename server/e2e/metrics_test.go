package e2e

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestMetrics checks a scrape of a shop: the lines match patterns, are well-formed, and contain no
// personal data or secrets.
func TestMetrics(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "shop.db")
	seeded := startDev(t, "--db", db)
	ready := seeded.ready
	seeded.stop()
	p := startServe(t, db, "--metrics-listen", "127.0.0.1:0", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	api := p.api(ready.APIKey)
	card := issueCard(api, ready.ProgramIDs["standard"], map[string]string{"holder_name": "Grace Hopper", "holder_email": "grace@example.com"})
	for range 3 {
		api.Get("/cards/" + card.ID).Want(200)
	}
	api.Get("/cards/crd_nothing").Want(404)
	p.outside().Get("/somewhere/grace@example.com").Want(404)
	p.api(ready.APIKey).Call("BREW", "/cards", nil).Want(405, "bad_request")
	p.outside().Get("/i/" + card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:])

	resp, err := http.Get(p.metrics)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.Status, err)
	}
	text := string(raw)
	for _, line := range []string{
		`punchcard_http_requests_total{code="200",method="GET",route="/api/public/v1/cards/:id"} 3`,
		`punchcard_http_requests_total{code="404",method="GET",route="/api/public/v1/cards/:id"} 1`,
		`punchcard_http_requests_total{code="201",method="POST",route="/api/public/v1/programs/:id/cards"} 1`,
		`punchcard_http_requests_total{code="404",method="any",route=""} 1`,
		`punchcard_http_requests_total{code="200",method="GET",route="/i/:token"} 1`,
		`punchcard_http_request_duration_seconds_count{method="GET",route="/api/public/v1/cards/:id"} 4`,
		`punchcard_webhook_queue 0`,
		`punchcard_build_info{version="` + version(t) + `"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	for _, secret := range []string{"grace", "Hopper", card.ID, ready.APIKey, card.InstallURL, ready.ShopID} {
		if strings.Contains(text, secret) {
			t.Errorf("the scrape contains %s", secret)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range problems {
		if strings.HasPrefix(f.Metric, "punchcard_") {
			t.Errorf("%s: %s", f.Metric, f.Text)
		}
	}
	p.outside().Get("/metrics").Want(404, "not_found")
}

func version(t *testing.T) string {
	return strings.Fields(execute(t, nil, "version").stdout)[1]
}
