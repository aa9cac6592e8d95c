package dashboard

import (
	"time"

	"punchcard/server/kernel"
	"punchcard/store/backup"
)

// Status is what only the process itself knows of a server.
type Status struct {
	Version      string
	Started      time.Time
	Uptime       time.Duration
	File         string // path of the database
	DiskFree     int64  // bytes
	DiskBytes    int64  // 0: not known
	DiskLow      bool   // somebody should free space
	Backups      Backups
	Certificates []Certificate
	Fixture      bool // the server is for tests, and needs no backups
	HoldWebhooks bool // neither webhooks nor mail are sent
	Mail         bool // a mail server is configured
	Limits       []Limit
	Errors       []LoggedError // the newest first
	Refused      int64         // connections since the start, of addresses that had too many
}

// Backups are those that the server makes.
type Backups struct {
	Folder  string // empty: the server makes none
	Every   time.Duration
	Keep    int
	Files   []backup.File // the newest first; each was checked when it was made
	Problem string        // why the folder cannot be read
	Overdue bool          // the newest is older than it should be
	Running bool          // one is being made
	Failure string        // why the last attempt failed; empty: it did not
}

// Certificate is one of the server's own TLS.
type Certificate struct {
	Host     string // empty: it names none
	Ends     time.Time
	DaysLeft int
	Soon     bool   // somebody should look after it
	Renewed  bool   // the server renews it
	Problem  string // empty: all is well
}

// Limit is a limit in force and the flag that sets it.
type Limit struct {
	Flag    string // with its dashes
	Value   string
	Help    string // what it is
	Changed bool   // it is not the default
}

// LoggedError is an error of the log.
type LoggedError struct {
	At      time.Time
	Message string
}

// serverAttention returns what an operator should see to.
func (v *visit) serverAttention() (list []attention) {
	if !v.allows(kernel.Operator) {
		return nil
	}
	s := v.Status()
	open := v.link("Open Health", healthPath)
	add := func(tone, title, text string) { list = append(list, attention{tone, title, text, open}) }
	if s.DiskLow {
		left := v.T("{0} are left. When it is full, nothing can be stamped any more.", v.Bytes(s.DiskFree))
		add("bad", v.T("The disk is nearly full"), left)
	}
	switch {
	case s.Backups.Folder == "" && !s.Fixture:
		advice := v.T("A damaged disk would cost everything. Start the server with --backup-every and --backup-dir.")
		add("warn", v.T("The server makes no backups"), advice)
	case s.Backups.Folder == "":
	case s.Backups.Problem != "":
		add("bad", v.T("The folder of backups cannot be read"), s.Backups.Problem)
	case s.Backups.Overdue:
		cost := v.T("A damaged disk would cost everything since the last one.")
		add("bad", v.T("There is no backup of the last two days"), cost)
	}
	for _, c := range s.Certificates {
		switch {
		case c.Problem != "":
			add("bad", v.T("The certificate of {0} has a problem", c.Host), c.Problem)
		case c.Soon && c.DaysLeft < 0:
			ended := v.T("The certificate of {0} has ended", c.Host)
			add("bad", ended, v.T("Browsers and tills refuse to connect until there is a new one."))
		case c.Soon:
			ends := v.T("The certificate of {0} ends in {1} days", c.Host, c.DaysLeft)
			add("warn", ends, v.T("Browsers and tills refuse to connect once it has ended."))
		}
	}
	return list
}
