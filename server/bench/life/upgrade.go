package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

// olderDays are the days before the year, in which the older server makes the file. So many members come then.
const (
	olderDays    = 10
	olderMembers = 60
)

// olderBinary returns the path of the server with the schema before, as the tests of migrations use it.
func olderBinary() (string, error) {
	build := exec.Command(".ci/older")
	build.Stderr = os.Stderr
	path, err := build.Output()
	return strings.TrimSpace(string(path)), err
}

// liveOlder lives the days before the year with the older server, and upgrades its file by starting the present one on it.
func (y *year) liveOlder() error {
	y.shop = &shop{ID: y.server.ready.ShopID, name: "Bar Lux", zones: []zone{{y.now, "Europe/Rome"}},
		api: bearer("rest", "/api/public/v1", y.server.ready.APIKey)}
	if err := y.furnish(y.shop, 2, 1); err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(y.seed, 2))
	var members []*member
	for n := range olderMembers {
		p := y.shop.programs[n%len(y.shop.programs)]
		members = append(members, &member{n: n, shop: y.shop, program: p, faceOfIssue: "rest", regular: n%2 == 0})
	}
	y.members = members
	for n := range olderDays {
		if err := y.advance(y.opened.AddDate(0, 0, n).Add(6 * time.Hour)); err != nil {
			return err
		}
		var visits []visit
		for _, m := range members {
			l := y.shop.locations[dice.IntN(2)]
			if m.card == "" && m.n%olderDays == n || m.card != "" && dice.IntN(4) == 0 {
				visits = append(visits, visit{m, 0, l.tills[0], dice.Uint64()})
			}
		}
		y.together(visits, nil)
	}
	if err := y.server.upgrade(y.now); err != nil {
		return err
	}
	y.sendKept()
	y.count("calendar: the schema is upgraded")
	return nil
}

// upgrade replaces the older server by the present one.
func (s *server) upgrade(at time.Time) error {
	return s.replace(func() error {
		err := s.stop()
		s.older = ""
		s.starts.Store(0) // the ready line has more than that of the older one
		return err
	}, at)
}
