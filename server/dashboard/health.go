package dashboard

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const healthPath = "/dashboard/health"

// healthPages are the pages of the server's health, for operators.
var healthPages = []binding{
	page(healthPath, func(v *visit) error { return showHealth(v, v.newForm(nil)) }),
	page(healthPath+"/limits", showLimits),
	post(healthPath+"/backup", action{op: operation.MakeBackup, then: then(afterBackup)}),
	post(healthPath+"/mail", action{
		op:    operation.SendTestMail,
		again: showHealth,
		to:    healthPath,
		done:  "The mail server took the message. Look into your mailbox whether it arrives.",
	}),
	post(healthPath+"/download", action{op: operation.DownloadBackup, then: then(sendBackup)}),
}

var (
	backupMade  = says("backup-made", "The backup was made and checked.")
	backupBegun = says("backup-begun", "The backup is being made. It is in the list when it is complete.")
)

func afterBackup(v *visit, m operation.BackupMade) error {
	if m.Complete {
		return v.redirect(healthPath, backupMade)
	}
	return v.redirect(healthPath, backupBegun)
}

// healthPage is the page of the server's health.
type healthPage struct {
	web.Frame
	Tabs      []web.NavItem
	Form      *web.Form
	Attention []attention
	State     web.Badge
	Server    []web.Fact
	File      []web.Fact
	Queues    []web.Fact
	Mail      bool               // there is a mail server
	Email     string             // where a test message goes
	Devices   []store.ShopDevice // that accept the ids of cards
	Backups   Backups
	Files     []backupRow
	Every     string // how often backups are made
	Failure   string
	Certs     []certificateRow
	Errors    []LoggedError
	Limits    []Limit
}

// backupRow is a backup in the list.
type backupRow struct {
	BackupFile
	Size string
}

// certificateRow is a certificate in the list.
type certificateRow struct {
	Certificate
	Badge web.Badge
}

// healthTabs are the pages of the server's health.
func (v *visit) healthTabs(current string) []web.NavItem {
	return []web.NavItem{
		v.tab("State", healthPath, current == healthPath),
		v.tab("Limits", healthPath+"/limits", current != healthPath),
	}
}

func showHealth(v *visit, f *web.Form) error {
	h, err := read[operation.Health](v, operation.GetHealth)
	if err != nil {
		return err
	}
	s := v.Status()
	p := healthPage{
		Frame:   v.frame("Health", healthPath),
		Tabs:    v.healthTabs(healthPath),
		Form:    f,
		Backups: s.Backups,
		Errors:  s.Errors,
	}
	for _, a := range v.serverAttention() {
		a.Action = web.Action{}
		p.Attention = append(p.Attention, a)
	}
	for _, e := range h.AppleEnds {
		a := v.appleEnding(e.EndsAt)
		p.Attention = append(p.Attention, attention{Tone: a.Tone, Title: e.Shop + ": " + a.Title, Text: a.Text})
	}
	if v.Kernel.UntrustedProxy() {
		p.Attention = append(p.Attention, attention{Tone: "warn", Title: v.T("A proxy stands in front that is not trusted"),
			Text: v.T(
				"All requests seem to come from one address, so all people share one limit on wrong passwords. Name the proxy with " +
					"--trusted-proxy.",
			)})
	}
	p.Mail, p.Email, p.Devices = s.Mail || s.Fixture, v.person.Email, h.CardIDDevices
	p.State = v.badge("All is well", "good")
	if len(p.Attention) > 0 {
		p.State = v.badge("Needs attention", "warn")
	}
	v.addHealthFacts(&p, h, s)
	for _, b := range s.Backups.Files {
		p.Files = append(p.Files, backupRow{b, v.bytes(b.Bytes)})
	}
	p.Every = v.duration(s.Backups.Every)
	for _, c := range s.Certificates {
		row := certificateRow{c, v.badge("Valid", "good")}
		switch {
		case c.Problem != "":
			row.Badge = v.badge("Problem", "bad")
		case c.Soon:
			row.Badge = v.badge("Ends soon", "warn")
		}
		p.Certs = append(p.Certs, row)
	}
	return v.render("health", p)
}

// addHealthFacts adds what is known of the process, the file and the queues.
func (v *visit) addHealthFacts(p *healthPage, h operation.Health, s Status) {
	mail := v.T("Configured")
	if !s.Mail {
		mail = v.T("None: set --smtp-url to mail links")
	}
	p.Server = []web.Fact{
		v.fact("Version", s.Version),
		v.fact("Running for", v.duration(s.Uptime), v.T("since {0}", v.DateTime(s.Started))),
		v.fact("Mail server", mail),
		v.fact("Connections refused", v.Number(s.Refused), v.T("since one address had too many (--connections-per-address)")),
	}
	if s.HoldWebhooks {
		p.Server = append(p.Server, v.fact("Sending", v.T("Held: neither webhooks nor mail are sent")))
	}
	p.File = []web.Fact{
		v.fact("File", s.File),
		v.fact("Size", v.bytes(h.File.FileBytes), v.T("and {0} of log", v.bytes(h.File.LogBytes))),
	}
	if s.DiskBytes > 0 {
		p.File = append(p.File, v.fact("Left on the disk", v.bytes(s.DiskFree), v.T("of {0}", v.bytes(s.DiskBytes))))
	}
	p.File = append(p.File,
		v.fact("Shops", v.Number(h.File.Shops)),
		v.fact("Live cards", v.Number(h.File.LiveCards)),
		v.fact("Rows of the ledger", v.Number(h.File.LedgerRows)),
	)
	oldest := func(due store.Null[store.Time]) string {
		if !due.Valid || due.V > v.now() { // it waits for its next attempt
			return ""
		}
		return v.T("the oldest since {0}", v.DateTime(due.V.Std()))
	}
	p.Queues = []web.Fact{
		v.fact("Writes that wait", v.Number(h.File.QueuedWrites)),
		v.fact("Webhook deliveries that wait", v.Number(h.File.PendingDeliveries), oldest(h.File.OldestPendingDelivery)),
		v.fact("Webhooks switched off", v.Number(h.File.DeactivatedWebhooks)),
		v.fact("Mail that waits", v.Number(h.File.WaitingMails)),
		v.fact("Pushes that wait", v.Number(h.File.WaitingPushes), oldest(h.File.OldestWaitingPush)),
		v.fact("Pushes that failed", v.Number(h.File.FailedPushes), v.T("the last ones to phones and browsers that were not accepted")),
	}
	if ends := h.File.AppleCertificateEnds; ends.Valid {
		p.Queues = append(p.Queues, v.fact("Certificate for Apple Wallet", v.T("ends on {0}", v.Date(ends.V.Std()))))
	}
}

// duration returns a time span in its largest unit.
func (v *visit) duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return v.T("{0} day|{0} days", int64(d/day))
	case d >= 2*time.Hour || d == time.Hour:
		return v.T("{0} hour|{0} hours", int64(d/time.Hour))
	}
	return v.T("{0} minute|{0} minutes", int64(d/time.Minute))
}

// backupChunk is the part of a backup that is sent at once, within streamWrite.
const backupChunk = 1 << 20

// sendBackup sends a backup as a file.
func sendBackup(v *visit, b operation.BackupPath) error {
	f, err := os.Open(b.Path)
	if err != nil {
		return kernel.Refuse(store.NotFound, "There is no such backup.")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	v.download("application/vnd.sqlite3", b.Name)
	v.w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	v.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(v.w)
	for err == nil {
		rc.SetWriteDeadline(time.Now().Add(streamWrite))
		_, err = io.CopyN(v.w, f, backupChunk)
	}
	return nil // the status is sent; the browser notices if the file is not complete
}
