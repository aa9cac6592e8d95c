package command

import (
	"cmp"
	"fmt"
	"strings"

	"punchcard/store"
)

// printAudit prints a table of rows of the audit log.
func printAudit(o output, rows ...store.AuditRow) {
	target := func(a store.AuditRow) string { return a.TargetID }
	actorID := func(a store.AuditRow) string { return a.Actor.ID.V }
	named := namesOf(o, rows, target, actorID)
	fmt.Fprintln(o, "AT\tACTOR\tACTION\tTARGET")
	for _, a := range rows {
		actor := strings.TrimSpace(a.Actor.Type + " " + cmp.Or(named(a.Actor.ID.V), a.Actor.Name.V))
		printf(o, "%s\t%s\t%s\t%s\n", a.At, actor, a.Action, named(a.TargetID))
	}
}
