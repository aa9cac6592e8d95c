package dashboard_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// TestMoney checks the page of the money of a month and its table, which say the same.
func TestMoney(t *testing.T) {
	s := start(t)
	viewer := s.as("viewer")
	viewer.get("/dashboard/statistics/money").shows("No money on cards")
	card := s.Issue(s.ProgramIDs["prepaid"], nil)
	s.Till(s.TillToken).Post("/cards/"+card+"/topups", object{"amount_cents": 1250}).Want(201)
	page := viewer.get("/dashboard/statistics/money").shows("Caffè Centrale", "At no location", "€12.50")
	rows := require.Must(csv.NewReader(strings.NewReader(viewer.get(page.pathTo("/dashboard/statistics/money.csv",
		"")).want(200).body)).ReadAll())
	last := map[string]string{} // the last day's outstanding by location
	for _, row := range rows {
		last[row[1]+" "+row[3]] = row[8]
	}
	if last["shop "] != "12.50" || last["location "] != "0.00" || len(last) < 4 {
		t.Errorf("%v", last)
	}
	viewer.get("/dashboard/statistics/money?month=2099-01").want(400).problem("month", "this month or one before")
	viewer.get("/dashboard/statistics/money.csv?month=x").want(400)
}
