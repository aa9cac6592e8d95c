package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"punchcard/server/operation"
	"punchcard/store"
)

// Audit is the command that prints the audit log.
type Audit struct {
	OfShop
	Limit int `default:"100" env:"-" help:"Maximum number of rows; 0 for all."`
}

// Run prints the audit log, newest first.
func (c *Audit) Run() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit: must not be negative")
	}
	return list(c.OfShop, operation.ListAudit, c.Limit, func(w io.Writer, rows ...store.AuditRow) {
		fmt.Fprintln(w, "AT\tACTOR\tACTION\tTARGET")
		for _, a := range rows {
			actor := strings.TrimSpace(a.Actor.Type + " " + cmp.Or(a.Actor.ID.V, a.Actor.Name.V))
			printf(w, "%s\t%s\t%s\t%s\n", a.At, actor, a.Action, a.TargetID)
		}
	})
}
