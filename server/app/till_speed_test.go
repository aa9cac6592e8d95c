package app_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

// BenchmarkStamp compares POST /till/v1/cards/{id}/stamps with an Idempotency-Key on 200,000 random
// cards, each answer on disk (synchronous=FULL), with the same server committing every write
// separately.
func BenchmarkStamp(b *testing.B) {
	compareGroups(b, "stamps/s", func(a *app.App) func(n int64) []byte {
		ids := issueCards(b, a, 200_000, 200_000)
		return func(n int64) []byte {
			return request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", seed.TillToken,
				fmt.Sprintf("Idempotency-Key: till-%d\r\n", n), `{"count":1}`)
		}
	})
}

// BenchmarkLookup compares GET /till/v1/cards/{id} of 10,000 random cards with three stamps each
// with a handler that answers with a constant body of the same size.
func BenchmarkLookup(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "l.db"))
	ids := issueCards(b, a, 10_000, 10_000)
	stampAll(b, a, ids, 3)
	compareWithConstant(b, a, ids, "/till/v1/cards/", seed.TillToken, "lookups/s")
}

// stampAll gives each card the same number of single stamps, not over HTTP.
func stampAll(b *testing.B, a *app.App, ids []string, times int) {
	till, err := a.Store.IdentifyTill(store.Hash(seed.TillToken))
	if err != nil || till == nil {
		b.Fatal(till, err)
	}
	for from := 0; from < len(ids); from += 1000 {
		servertest.Write(b, a.Store, func(tx *store.Tx) error {
			for _, id := range ids[from:min(from+1000, len(ids))] {
				for range times {
					if _, err := tx.Stamp(till.Till, id, store.StampFields{}); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}
