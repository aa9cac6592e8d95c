package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"
	_ "modernc.org/sqlite"

	"punchcard/server/dev/seed"
)

// plainCard is a card of a list, for encoding/json.
type plainCard struct {
	ID           string     `json:"id"`
	ProgramID    string     `json:"program_id"`
	ProgramName  string     `json:"program_name"`
	ProgramType  string     `json:"program_type"`
	ExternalRef  *string    `json:"external_ref"`
	HolderName   *string    `json:"holder_name"`
	HolderEmail  *string    `json:"holder_email"`
	Status       string     `json:"status"`
	StampsCount  int64      `json:"stamps_count"`
	CurrentValue *int64     `json:"current_value"`
	ExpiresAt    *time.Time `json:"expires_at"`
	InstalledAt  *time.Time `json:"installed_at"`
	CreatedAt    time.Time  `json:"created_at"`
}

const plainList = `SELECT c.id, c.program_id, p.name, p.type, c.external_ref, c.holder_name, c.holder_email, c.stamps_count, c.current_value,
	c.expires_at, c.installed_at, c.created_at, c.archived_at, c.locked_at, c.activated_at
	FROM cards c JOIN programs p ON p.id=c.program_id WHERE c.shop_id=? AND c.deleted_at IS NULL ORDER BY c.id DESC LIMIT 100`

// plainServer serves the newest hundred cards of the file in the usual way: a prepared statement of
// database/sql, scanned into structs, and encoding/json. It checks no keys, and its ids are the
// file's integer keys.
func plainServer(b *testing.B, file string, shop int64) (addr string) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=cache_size(-8000)&_pragma=query_only(1)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	list, err := db.Prepare(plainList)
	if err != nil {
		b.Fatal(err)
	}
	read := func() (page struct {
		Data       []plainCard `json:"data"`
		NextCursor *string     `json:"next_cursor"`
		Limit      int         `json:"limit"`
	}, err error) {
		page.Limit = 100
		rows, err := list.QueryContext(context.Background(), shop)
		if err != nil {
			return page, err
		}
		defer rows.Close()
		at := func(ms *int64) *time.Time {
			if ms == nil {
				return nil
			}
			t := time.UnixMilli(*ms).UTC()
			return &t
		}
		for rows.Next() {
			var c plainCard
			var id, program, created int64
			var expires, installed, archived, locked, activated *int64
			if err := rows.Scan(&id, &program, &c.ProgramName, &c.ProgramType, &c.ExternalRef, &c.HolderName, &c.HolderEmail, &c.StampsCount, &c.CurrentValue,
				&expires, &installed, &created, &archived, &locked, &activated); err != nil {
				return page, err
			}
			c.ID, c.ProgramID = strconv.FormatInt(id, 10), strconv.FormatInt(program, 10)
			c.ExpiresAt, c.InstalledAt, c.CreatedAt = at(expires), at(installed), time.UnixMilli(created).UTC()
			switch {
			case archived != nil:
				c.Status = "archived"
			case c.ExpiresAt != nil && c.ExpiresAt.Before(time.Now()):
				c.Status = "expired"
			case locked != nil:
				c.Status = "locked"
			case activated == nil:
				c.Status = "invited"
			default:
				c.Status = "active"
			}
			page.Data = append(page.Data, c)
		}
		return page, rows.Err()
	}
	r := httprouter.New()
	r.GET("/cards", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		page, err := read()
		var body []byte
		if err == nil {
			body, err = json.Marshal(page)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	return listen(b, r)
}

// BenchmarkPlainList compares GET /cards?limit=100 of a million cards with plainServer on the same
// file.
func BenchmarkPlainList(b *testing.B) {
	a := serve(b, millionCards(b))
	addr := a.Origin[len("http://"):]
	ours := request("GET", "/api/public/v1/cards?limit=100", seed.APIKey, "", "")
	plain := plainServer(b, a.Store.Path(), a.Ready.Shop())
	theirs := request("GET", "/cards", seed.APIKey, "", "")
	for _, req := range []struct {
		addr string
		req  []byte
	}{{addr, ours}, {plain, theirs}} {
		status, body, err := dial(b, req.addr).roundTrip(req.req, true)
		var page struct{ Data []json.RawMessage }
		if err == nil {
			err = json.Unmarshal(body, &page)
		}
		if err != nil || status != 200 || len(page.Data) != 100 {
			b.Fatal(status, err, len(page.Data))
		}
	}
	for b.Loop() {
		o, p, ratio := alternate(7, func() float64 {
			return load(b, addr, time.Second, 200, func() []byte { return ours })
		}, func() float64 {
			return load(b, plain, time.Second, 200, func() []byte { return theirs })
		})
		b.ReportMetric(o, "lists/s")
		b.ReportMetric(p, "plain/s")
		b.ReportMetric(ratio, "ratio")
		allocations(b, addr, 200, func() []byte { return ours })
	}
}
