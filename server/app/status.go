package app

import (
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"punchcard/server/dashboard"
)

// A disk with less free space than both is nearly full.
const (
	lowDisk      = 2 << 30 // bytes
	lowDiskShare = 10      // percent
)

// status returns what the pages show of the process.
func (a *App) status(i *instance) dashboard.Status {
	now := i.Store.Now().Std()
	s := dashboard.Status{
		Version:      Version,
		Started:      a.started,
		Uptime:       time.Since(a.started),
		File:         i.Store.Path(),
		Fixture:      a.conf.Dev != nil,
		HoldWebhooks: a.conf.HoldWebhooks,
		Mail:         a.conf.Mail != nil,
		Limits:       a.conf.limits(),
		Errors:       a.errors.newest(),
		Refused:      a.each.refused.Load(),
	}
	s.DiskFree, s.DiskBytes = diskSpace(filepath.Dir(s.File))
	s.DiskLow = s.DiskBytes > 0 && s.DiskFree < lowDisk && s.DiskFree < s.DiskBytes/100*lowDiskShare
	if i.backups != nil {
		s.Backups = i.backups.status(now)
	}
	for _, c := range a.Certificates() {
		s.Certificates = append(
			s.Certificates,
			dashboard.Certificate{
				Host:     c.Host,
				Ends:     c.Ends,
				DaysLeft: c.DaysLeft(now),
				Soon:     c.EndsSoon(now),
				Renewed:  c.Renewed,
				Problem:  c.Problem,
			},
		)
	}
	return s
}

// limits returns the limits in force, in the order of their declaration.
func (c *Config) limits() (list []dashboard.Limit) {
	inForce := map[string]int{
		"api-key-rate-limit-per-minute": c.rate(),
		"till-rate-limit-per-minute":    c.tillRate(),
		"mail-per-hour":                 c.Store().MailPerHour,
	}
	v := reflect.ValueOf(c.Limits)
	for _, f := range reflect.VisibleFields(v.Type()) {
		name := f.Tag.Get("name")
		if name == "" { // KeyLimits
			continue
		}
		l := dashboard.Limit{Flag: "--" + name}
		field := v.FieldByIndex(f.Index)
		switch {
		case field.Kind() == reflect.Pointer:
			l.Value, l.Changed = strconv.Itoa(inForce[name]), !field.IsNil()
		case field.Type() == reflect.TypeFor[time.Duration]():
			l.Value, l.Changed = time.Duration(field.Int()).String(), field.Int() != tagged(f, "default")
		default:
			l.Value, l.Changed = strconv.FormatInt(field.Int(), 10), field.Int() != tagged(f, "default")
		}
		list = append(list, l)
	}
	return list
}
