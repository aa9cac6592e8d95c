package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"time"
)

// export is the data of a shop as "punchcard export" wrote it.
type export struct {
	shop      shop
	at        time.Time
	cards     []*exportedCard
	rows      []*row
	programs  map[string]*program
	order     []*program
	locations map[string]location
	audit     []audit
	answers   []answer

	rowByID map[string]*row
	chainOf map[string]string         // of each instance that a row names
	money   map[string][]*row         // of money, by chain
	zones   map[string]*time.Location // by name, so that equal ones are the same
}

type location struct {
	ID   string `json:"location_id"`
	Name string `json:"name"`
}

// exportedCard is a chain of cards.
type exportedCard struct {
	ID          string      `json:"card_id"`
	Program     string      `json:"program"`
	Stamps      *int64      `json:"stamps"`
	Balance     json.Number `json:"balance"`
	Claimed     *string     `json:"claimed"`
	ClaimedNext *string     `json:"claimed_overflow"`
	Expires     *time.Time  `json:"expires_at"`
	State       string      `json:"state"`
	Locked      bool        `json:"locked"`
	Created     time.Time   `json:"created_at"`
	LastVisit   *string     `json:"last_visit"`
	Source      string      `json:"source"`
	Opening     int64       `json:"opening_stamps"`
	Initial     json.Number `json:"initial_balance"`
	First       *string     `json:"first_location_id"`
	Installed   *time.Time  `json:"installed_at"`
	Platform    *string     `json:"platform"`
}

// row is a row of the ledger.
type row struct {
	ID       string      `json:"transaction_id"`
	Chain    string      `json:"card_id"`
	Instance string      `json:"instance_id"`
	Program  string      `json:"program_id"`
	Location string      `json:"location_id"`
	Device   *string     `json:"device_id"`
	Type     string      `json:"type"`
	Stamps   *int64      `json:"stamps"`
	Amount   json.Number `json:"amount"`
	Prize    *string     `json:"prize_id"`
	Reverses *string     `json:"reverses_id"`
	Created  time.Time   `json:"created_at"`
	Occurred *time.Time  `json:"occurred_at"`
	Reversed *time.Time  `json:"reversed_at"`
	cents    int64
	hasCents bool
	place    int // in the ledger
}

// given returns when the holder was there: a till may have sent the row later.
func (t *row) given() time.Time {
	if t.Occurred != nil {
		return *t.Occurred
	}
	return t.Created
}

// stamps returns the stamps of the row, 0 where it has none.
func (t *row) stamps() int64 {
	if t.Stamps == nil {
		return 0
	}
	return *t.Stamps
}

// presented reports whether the row is of a card that was presented.
func (t *row) presented() bool {
	return t.Type != "reversal" && t.Type != "expiry" && t.Type != "adjustment"
}

type program struct {
	ID         string           `json:"program_id"`
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Total      *int64           `json:"total_stamps"`
	Repeats    bool             `json:"repeat_after_reset"`
	Initial    json.Number      `json:"initial_balance"`
	ExpireDays *int             `json:"default_expire_after_days"`
	thresholds map[string]int64 // by prize
	top        int64            // the highest threshold, 0 without prizes
}

// expiry returns the end of validity that a card gets at a time unless a request says another; nil: none.
func (p *program) expiry(at time.Time) *time.Time {
	if p.ExpireDays == nil {
		return nil
	}
	end := at.Add(time.Duration(*p.ExpireDays) * 24 * time.Hour)
	return &end
}

func (p *program) collectsStamps() bool { return p.Type == "standard" || p.Type == "private" }

type prize struct {
	ID        string `json:"prize_id"`
	Program   string `json:"program_id"`
	Threshold int64  `json:"threshold"`
}

type audit struct {
	At        time.Time `json:"at"`
	ActorType string    `json:"actor_type"`
	Actor     *string   `json:"actor_id"`
	Action    string    `json:"action"`
	Target    *string   `json:"target_id"`
}

// readExport reads the folder of an export.
func readExport(folder, name string, s shop) (*export, error) {
	x := &export{
		shop: s, programs: map[string]*program{}, locations: map[string]location{},
		rowByID: map[string]*row{}, chainOf: map[string]string{},
		zones: map[string]*time.Location{}, money: map[string][]*row{},
	}
	var manifest struct {
		Shop string    `json:"shop_id"`
		At   time.Time `json:"at"`
	}
	folder = filepath.Join(folder, name)
	if err := readJSON(filepath.Join(folder, "manifest.json"), &manifest); err != nil {
		return nil, err
	}
	if manifest.Shop != s.ID {
		return nil, fmt.Errorf("%s is of the shop %s, not of %s", folder, manifest.Shop, s.ID)
	}
	x.at = manifest.At
	var bad error
	err := errors.Join(
		lines(folder, "programs.jsonl", func(p program) {
			p.thresholds = map[string]int64{}
			x.programs[p.ID], x.order = &p, append(x.order, &p)
		}),
		lines(folder, "prizes.jsonl", func(z prize) {
			p := x.programs[z.Program]
			p.thresholds[z.ID] = z.Threshold
			p.top = max(p.top, z.Threshold)
		}),
		lines(folder, "locations.jsonl", func(l location) { x.locations[l.ID] = l }),
		lines(folder, "cards.jsonl", func(c exportedCard) { x.cards = append(x.cards, &c) }),
		lines(folder, "transactions.jsonl", func(t row) {
			if t.Amount != "" {
				var err error
				if t.cents, err = parse(string(t.Amount)); err != nil {
					bad = err
				}
				t.hasCents = true
				x.money[t.Chain] = append(x.money[t.Chain], &t)
			}
			t.place = len(x.rows)
			x.rows = append(x.rows, &t)
			x.rowByID[t.ID], x.chainOf[t.Instance] = &t, t.Chain
		}),
		lines(folder, "audit.jsonl", func(a audit) {
			if strings.HasPrefix(a.Action, "card.") || strings.HasPrefix(a.Action, "transaction.") ||
				strings.HasPrefix(a.Action, "program.") || strings.HasPrefix(a.Action, "location.") {
				x.audit = append(x.audit, a)
			}
		}),
	)
	return x, errors.Join(err, bad)
}

// parse returns an amount in cents.
func parse(amount string) (int64, error) {
	r, ok := new(big.Rat).SetString(amount)
	if !ok {
		return 0, fmt.Errorf("%q is no amount", amount)
	}
	if r.Mul(r, big.NewRat(100, 1)); !r.IsInt() {
		return 0, fmt.Errorf("%s has too many decimals", amount)
	}
	return r.Num().Int64(), nil
}

// cents returns an amount in cents, 0 for none.
func cents(amount json.Number) int64 {
	n, _ := parse(string(amount))
	return n
}

// zoneAt returns the shop's time zone at a time.
func (x *export) zoneAt(at time.Time) *time.Location {
	name := "UTC"
	for i, z := range x.shop.Zones {
		if i == 0 || !z.From.After(at) {
			name = z.Zone
		}
	}
	if l := x.zones[name]; l != nil {
		return l
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		l = time.UTC
	}
	x.zones[name] = l
	return l
}
