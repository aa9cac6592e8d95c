package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// olderCommit is the last commit that the tests of migrations take for a server with the schema before: see server/e2e/migrate_test.go.
const olderCommit = "c813cdeb2fac90946d9e1dc09ffb11f27fe79b7e"

// olderDays are the days before the year, in which the server of olderCommit makes the file. So many members come then.
const (
	olderDays    = 10
	olderMembers = 60
)

// olderBinary builds the server of olderCommit, where the tests of migrations build it too.
func olderBinary() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sources := filepath.Join(cache, "punchcard", "older-"+olderCommit[:12])
	binary := filepath.Join(sources, "punchcard")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "punchcard").Output()
	if err != nil {
		return "", err
	}
	extract := exec.Command("sh", "-c", `mkdir -p "$0" && git archive "$1" -- . ':!testdata' | tar -x -C "$0"`, sources, olderCommit)
	extract.Dir = string(root[:len(root)-1])
	if err := output(extract); err != nil {
		return "", fmt.Errorf("the history of the repository is needed: %w", err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Dir, build.Env = sources, append(os.Environ(), "CGO_ENABLED=0")
	return binary, output(build)
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
