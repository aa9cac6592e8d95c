package store

import (
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no zone files
)

var zones sync.Map // name to *time.Location

// Zone returns a time zone by its IANA name. The names in the file were valid
// when they were saved. Zone returns UTC for one that no longer exists.
func Zone(name string) *time.Location {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		z = time.UTC
	}
	zones.Store(name, z)
	return z
}

// Day returns the number of days from 1970-01-01 to the date of t in its zone.
func Day(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}

// Date returns the day with that number as YYYY-MM-DD.
func Date(day int64) string {
	return time.Unix(day*24*60*60, 0).UTC().Format(time.DateOnly)
}
