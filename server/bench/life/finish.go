package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// figure is a line of figures.jsonl: a figure of the API or a page of the dashboard, as it was answered.
type figure struct {
	Shop string          `json:"shop"`
	At   time.Time       `json:"at"`
	What string          `json:"what"`
	Path string          `json:"path"`
	Body json.RawMessage `json:"body"`
}

// askFigures asks for the figures of both shops.
func (y *year) askFigures() error {
	// After a kill cards that have expired are marked within a minute of real time.
	if err := y.need(y.control(), "POST", "/settle", map[string]any{}, nil); err != nil {
		return err
	}
	for _, s := range []*shop{y.shop, y.neighbour} {
		paths := []string{"/analytics/summary", "/analytics/card-types", "/analytics/heatmap"}
		for _, p := range s.programs {
			paths = append(paths, "/programs/"+p.ID+"/stats", "/analytics/card-types/"+p.Type)
		}
		for _, path := range paths {
			var body json.RawMessage
			if err := y.need(s.api, "GET", path, nil, &body); err != nil {
				return err
			}
			y.figures.write(figure{s.ID, y.now, "GET " + path, path, body})
		}
	}
	y.askPages()
	y.count("figures asked for")
	return nil
}

// askPages asks for the pages of the dashboard that show figures.
func (y *year) askPages() {
	local := y.now.In(y.shop.zone())
	month, day := local.Format("2006-01"), local.AddDate(0, 0, -1).Format(time.DateOnly)
	before := local.AddDate(0, 0, -local.Day()).Format("2006-01")
	paths := []string{"/dashboard", "/dashboard/report", "/dashboard/report?day=" + day, "/dashboard/statistics",
		"/dashboard/statistics?period=90&compare=year", "/dashboard/statistics/types"}
	for _, m := range []string{month, before} {
		paths = append(paths, "/dashboard/statistics/money?month="+m, "/dashboard/statistics/money.csv?month="+m)
	}
	for _, l := range y.shop.locations {
		paths = append(paths, "/dashboard/report?day="+day+"&location_id="+l.ID)
	}
	for _, p := range y.shop.programs {
		paths = append(paths, "/dashboard/program/"+p.ID+"/statistics", "/dashboard/statistics?period=7&program_id="+p.ID)
	}
	for _, path := range paths {
		p := y.office.people["owner"].get(path)
		if p == nil {
			continue // a fault, which get noted
		}
		body, err := json.Marshal(string(p.body))
		if err != nil {
			y.fault("%s: %v", path, err)
		}
		y.figures.write(figure{y.shop.ID, y.now, "page " + path, path, body})
	}
}

// finish lets everything arrive, writes what is there at the end, and checks the file.
func (y *year) finish(took time.Duration) error {
	for range 40 { // the last retries come after hours
		if err := y.need(y.control(), "POST", "/settle", map[string]any{}, nil); err != nil {
			return err
		}
		if err := y.advance(y.now.Add(time.Hour)); err != nil {
			return err
		}
	}
	y.until = y.now
	if err := errors.Join(y.askFigures(), y.readPhones(), y.readPages()); err != nil {
		return err
	}
	shops := []any{}
	for i, s := range []*shop{y.shop, y.neighbour} {
		export := filepath.Join("export", s.ID)
		if err := y.server.command("export", "all", "--shop", s.ID, "--format", "jsonl", "--out", y.path(export)); err != nil {
			return err
		}
		shops = append(shops, map[string]any{
			"id":       s.ID,
			"name":     s.name,
			"currency": "EUR",
			"zones":    s.zones,
			"export":   export,
			"watched":  i == 0,
		})
	}
	if err := y.writeTraces(); err != nil {
		return err
	}
	if err := y.server.command("check"); err != nil {
		return err
	}
	if err := y.writeJSON("year.json", map[string]any{"seed": y.seed, "months": y.months, "from": y.opened, "until": y.until,
		"shops":     shops,
		"receivers": y.receivers}); err != nil {
		return err
	}
	if err := y.report(took); err != nil {
		return err
	}
	if len(y.faults) > 0 {
		return y.faulty()
	}
	fmt.Println("Nothing was answered that the contract does not allow. The count is in server/bench/count.")
	return nil
}

// path returns the path of a file in the folder of the year.
func (y *year) path(name string) string { return filepath.Join(y.out, name) }

// makeFolders creates the folders of the year.
func makeFolders(out string) error {
	return errors.Join(os.Mkdir(out, 0o700), os.Mkdir(filepath.Join(out, "receivers"), 0o700),
		os.Mkdir(filepath.Join(out, "export"), 0o700),
		os.Mkdir(filepath.Join(out, "backups"), 0o700))
}
