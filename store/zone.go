package store

import (
	"sync"
	"time"
	_ "time/tzdata" // the zones are in the binary: the machine may have none
)

var zones sync.Map // name to *time.Location

// Zone is a time zone by its IANA name. The names in the file are valid: they
// were looked up when they were saved. One that is gone since reads as UTC.
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

// Day is the number of a calendar day, counted from 1970-01-01 whatever the
// zone: the date as it is written, and not an instant.
func Day(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}

// Date writes a day's number as YYYY-MM-DD.
func Date(day int64) string {
	return time.Unix(day*24*60*60, 0).UTC().Format(time.DateOnly)
}
