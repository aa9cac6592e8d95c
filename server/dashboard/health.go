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
	page(healthPath, showHealth),
	page(healthPath+"/limits", showLimits),
	post(healthPath+"/backup", action[operation.BackupMade]{op: operation.MakeBackup, next: afterBackup}),
	post(
		healthPath+"/mail",
		action[operation.TestedMail]{
			op:    operation.SendTestMail,
			again: showHealthForm,
			next:  func(*visit, operation.TestedMail) (string, string) { return healthPath, mailTested },
		},
	),
	post(healthPath+"/download", action[operation.BackupPath]{op: operation.DownloadBackup, show: sendBackup}),
}

var (
	backupMade  = says("backup-made", web.Text("The backup was made and checked."))
	mailTested  = says("mail-tested", web.Text("The mail server took the message. Look into your mailbox whether it arrives."))
	backupBegun = says("backup-begun", web.Text("The backup is being made. It is in the list when it is complete."))
)

func afterBackup(_ *visit, m operation.BackupMade) (path, done string) {
	if m.Complete {
		return healthPath, backupMade
	}
	return healthPath, backupBegun
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
		{Label: v.print.T("State"), Path: healthPath, Current: current == healthPath},
		{Label: v.print.T("Limits"), Path: healthPath + "/limits", Current: current != healthPath},
	}
}

func showHealth(v *visit) error { return showHealthForm(v, v.newForm(nil)) }

func showHealthForm(v *visit, f *web.Form) error {
	h, err := read[operation.Health](v, operation.GetHealth, kernel.Args{})
	if err != nil {
		return err
	}
	s := v.Status()
	p := healthPage{
		Frame:   v.frame(web.Text("Health"), healthPath),
		Tabs:    v.healthTabs(healthPath),
		Form:    f,
		Backups: s.Backups,
		Errors:  s.Errors,
	}
	for _, a := range v.serverAttention() {
		a.Action = web.Action{}
		p.Attention = append(p.Attention, a)
	}
	if v.Kernel.UntrustedProxy() {
		p.Attention = append(p.Attention, attention{Tone: "warn", Title: v.print.T("A proxy stands in front that is not trusted"),
			Text: v.print.T(
				"All requests seem to come from one address, so all people share one limit on wrong passwords. Name the proxy with --trusted-proxy.",
			)})
	}
	p.Mail, p.Email, p.Devices = s.Mail || s.Fixture, v.person.Email, h.CardIDDevices
	p.State = web.Badge{Label: v.print.T("All is well"), Tone: "good"}
	if len(p.Attention) > 0 {
		p.State = web.Badge{Label: v.print.T("Needs attention"), Tone: "warn"}
	}
	v.addHealthFacts(&p, h, s)
	for _, b := range s.Backups.Files {
		p.Files = append(p.Files, backupRow{b, v.bytes(b.Bytes)})
	}
	p.Every = v.duration(s.Backups.Every)
	for _, c := range s.Certificates {
		row := certificateRow{c, web.Badge{Label: v.print.T("Valid"), Tone: "good"}}
		switch {
		case c.Problem != "":
			row.Badge = web.Badge{Label: v.print.T("Problem"), Tone: "bad"}
		case c.Soon:
			row.Badge = web.Badge{Label: v.print.T("Ends soon"), Tone: "warn"}
		}
		p.Certs = append(p.Certs, row)
	}
	return v.render(v.status(), "health", p)
}

// addHealthFacts adds what is known of the process, the file and the queues.
func (v *visit) addHealthFacts(p *healthPage, h operation.Health, s Status) {
	fact := func(list *[]web.Fact, label string, value any, hint string) {
		*list = append(*list, web.Fact{Label: v.print.T(label), Value: value, Hint: hint})
	}
	mail := v.print.T("Configured")
	if !s.Mail {
		mail = v.print.T("None: set --smtp-url to mail links")
	}
	fact(&p.Server, web.Text("Version"), s.Version, "")
	fact(&p.Server, web.Text("Running for"), v.duration(s.Uptime), v.print.T("since {0}", v.print.DateTime(s.Started)))
	fact(&p.Server, web.Text("Mail server"), mail, "")
	fact(
		&p.Server,
		web.Text("Connections refused"),
		v.print.Number(s.Refused),
		v.print.T("since one address had too many (--connections-per-address)"),
	)
	if s.HoldWebhooks {
		fact(&p.Server, web.Text("Sending"), v.print.T("Held: neither webhooks nor mail are sent"), "")
	}
	fact(&p.File, web.Text("File"), s.File, "")
	fact(&p.File, web.Text("Size"), v.bytes(h.File.FileBytes), v.print.T("and {0} of log", v.bytes(h.File.LogBytes)))
	if s.DiskBytes > 0 {
		fact(&p.File, web.Text("Left on the disk"), v.bytes(s.DiskFree), v.print.T("of {0}", v.bytes(s.DiskBytes)))
	}
	fact(&p.File, web.Text("Shops"), v.print.Number(h.File.Shops), "")
	fact(&p.File, web.Text("Live cards"), v.print.Number(h.File.LiveCards), "")
	fact(&p.File, web.Text("Rows of the ledger"), v.print.Number(h.File.LedgerRows), "")
	fact(&p.Queues, web.Text("Writes that wait"), v.print.Number(h.File.QueuedWrites), "")
	deliveries := ""
	if h.File.OldestPendingDelivery.Valid {
		deliveries = v.print.T("the oldest since {0}", v.print.DateTime(h.File.OldestPendingDelivery.V.Std()))
	}
	fact(&p.Queues, web.Text("Webhook deliveries that wait"), v.print.Number(h.File.PendingDeliveries), deliveries)
	fact(&p.Queues, web.Text("Webhooks switched off"), v.print.Number(h.File.DeactivatedWebhooks), "")
	fact(&p.Queues, web.Text("Mail that waits"), v.print.Number(h.File.WaitingMails), "")
}

// duration returns a time span in its largest unit.
func (v *visit) duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return v.print.T("{0} day|{0} days", int64(d/day))
	case d >= 2*time.Hour || d == time.Hour:
		return v.print.T("{0} hour|{0} hours", int64(d/time.Hour))
	}
	return v.print.T("{0} minute|{0} minutes", int64(d/time.Minute))
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
	web.SetHeaders(v.w.Header())
	v.w.Header().Set("Content-Type", "application/vnd.sqlite3")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
	v.w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	v.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(v.w)
	for err == nil {
		rc.SetWriteDeadline(time.Now().Add(streamWrite))
		_, err = io.CopyN(v.w, f, backupChunk)
	}
	return nil // the status is sent; the browser notices if the file is not complete
}
