// Command count recomputes what a driven year says about itself: each row of the ledger, balance,
// prize, figure and delivery. It reads the files that the driver wrote and shares no code with the
// server. It exits with 1 if anything differs.
package main

import (
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // the zones of the shops, also where the system has none
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: count FOLDER")
		os.Exit(2)
	}
	r, err := count(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if r.differences > 0 {
		os.Exit(1)
	}
}

// count checks all that is in a folder.
func count(folder string) (*report, error) {
	r := newReport()
	y, err := readYear(folder)
	if err != nil {
		return nil, err
	}
	deliveries, err := y.readDeliveries(r)
	if err != nil {
		return nil, err
	}
	for _, s := range y.Shops {
		if s.Export == nil {
			continue
		}
		x, err := readExport(folder, *s.Export, s)
		if err != nil {
			return nil, err
		}
		x.answers = y.answers[s.ID]
		x.checkAnswers(r)
		p := newReplay(x, r)
		for _, f := range y.figures[s.ID] {
			p.until(f.At)
			newFigures(p, f, r).check()
		}
		p.until(time.Unix(1<<40, 0))
		p.checkCards(r)
		p.checkScreens(r, y)
		for _, d := range deliveries {
			if d.receiver.Shop == s.ID {
				d.check(r, p)
			}
		}
	}
	return r, y.searchTraces(r)
}
