package dashboard

import (
	"os"
	"strconv"

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

// healthPage is the page of the server's health, and that of its limits.
type healthPage struct {
	web.Frame
	Tabs      []web.NavItem
	Attention []attention
	Status    Status
	Health    operation.Health
	Now       store.Time
}

// healthTabs are the pages of the server's health.
func (v *visit) healthTabs(current string) []web.NavItem {
	return []web.NavItem{
		v.tab("State", healthPath, current == healthPath),
		v.tab("Limits", healthPath+"/limits", current != healthPath),
	}
}

func showHealth(v *visit) error {
	h, err := read[operation.Health](v, operation.GetHealth)
	if err != nil {
		return err
	}
	p := healthPage{
		Frame:  v.frame("Health", healthPath),
		Tabs:   v.healthTabs(healthPath),
		Status: v.Status(),
		Health: h,
		Now:    v.now(),
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
	return v.render("health", p)
}

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
	v.w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	return v.sendFile(f, "application/vnd.sqlite3", b.Name)
}
