package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
	"punchcard/server/servertest/require"
)

func TestEdgesOfLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	parser := require.Must(kong.New(command.New(), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	for _, edge := range []string{"min", "max"} {
		var args []string
		for _, f := range flagsOf(parser, "serve") {
			if f.Group != nil && strings.HasPrefix(f.Group.Key, "Limits") {
				args = append(args, "--"+f.Name+"="+f.Tag.Get(edge))
			}
		}
		startServe(t, filepath.Join(t.TempDir(), "shop.db"), args...)
	}
}

func TestLimitsTakeEffect(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.json")
	noError(t, os.WriteFile(prices, []byte(`{"plan":"free"}`), 0o644))
	p := startDevWith(t, []string{"PUBLIC_API_MAX_PAGE_SIZE=2", "PUNCHCARD_PRICING_FILE=" + prices}, "--idempotency-key-max-length", "8",
		"--public-url", "https://cards.example.com/shop/", "--install-link-ttl", "1h", "--clock", "2026-01-31T08:00:00Z",
		"--api-key-max-per-shop", "2",
		"--credential-rotation-grace-hours", "0")
	api := p.demo()

	for range 3 {
		issueCard(api, p.ready.ProgramIDs["prepaid"], nil)
	}
	for _, asked := range []string{"", "?limit=100", "?limit=2"} {
		var page struct {
			Data       []card
			Limit      int
			NextCursor *string `json:"next_cursor"`
		}
		api.Get("/cards" + asked).Want(200).Decode(&page)
		if len(page.Data) != 2 || page.Limit != 2 || page.NextCursor == nil {
			t.Errorf("/cards%s: %d cards, limit %d", asked, len(page.Data), page.Limit)
		}
	}
	if n := len(listCards(api, 100)); n != 3 {
		t.Errorf("%d cards in all", n)
	}

	issue := "/programs/" + p.ready.ProgramIDs["prepaid"] + "/cards"
	wantDetail(api.Call("POST", issue, `{}`, "Idempotency-Key", "123456789"), "Idempotency-Key", "too_long")
	api.Call("POST", issue, `{}`, "Idempotency-Key", "12345678").Want(201)

	made := issueCard(api, p.ready.ProgramIDs["prepaid"], nil)
	if !strings.HasPrefix(made.InstallURL, "https://cards.example.com/shop/i/") || made.LinkEnds != "2026-01-31T09:00:00.000Z" {
		t.Errorf("the install link is %s and ends at %s", made.InstallURL, made.LinkEnds)
	}
	if got := string(p.outside().Get("/pricing").Want(200).Body); got != `{"plan":"free"}` {
		t.Errorf("/pricing is %s", got)
	}
	p.outside().Post("/dev/keys", `{"name":"Third"}`).Want(422, "unprocessable_entity")

	plain := startDev(t)
	plain.outside().Get("/pricing").Want(404, "not_found")
}
