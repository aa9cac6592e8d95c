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
	for _, s := range []*shop{y.shop, y.neighbour} {
		paths := map[string]string{"GET /analytics/summary": "/analytics/summary", "GET /analytics/card-types": "/analytics/card-types",
			"GET /analytics/heatmap": "/analytics/heatmap"}
		for what, path := range paths {
			if err := y.askFigure(s, what, path); err != nil {
				return err
			}
		}
		for _, p := range s.programs {
			err1 := y.askFigure(s, "GET /programs/{id}/stats", "/programs/"+p.ID+"/stats")
			err2 := y.askFigure(s, "GET /analytics/card-types/{type}", "/analytics/card-types/"+p.Type)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
		}
	}
	y.count("figures asked for")
	return nil
}

func (y *year) askFigure(s *shop, what, path string) error {
	var body json.RawMessage
	err := y.need(s.api, "GET", path, nil, &body)
	y.figures.write(figure{s.ID, y.now, what, path, body})
	return err
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
		if _, err := y.server.command("export", "all", "--shop", s.ID, "--format", "jsonl", "--out", y.path(export)); err != nil {
			return err
		}
		shops = append(shops, map[string]any{"id": s.ID, "name": s.name, "currency": "EUR", "zones": s.zones, "export": export, "watched": i == 0})
	}
	if err := errors.Join(y.checkLedger(filepath.Join("export", y.shop.ID)), y.writeTraces()); err != nil {
		return err
	}
	if _, err := y.server.command("check"); err != nil {
		return err
	}
	if err := y.writeJSON("year.json", map[string]any{"seed": y.seed, "months": y.months, "from": y.from, "until": y.until, "shops": shops,
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
	return errors.Join(os.Mkdir(out, 0o700), os.Mkdir(filepath.Join(out, "receivers"), 0o700), os.Mkdir(filepath.Join(out, "export"), 0o700),
		os.Mkdir(filepath.Join(out, "backups"), 0o700))
}
