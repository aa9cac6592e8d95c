package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/sheet"
	"punchcard/server/wire"
	"punchcard/store"
)

// importBinding is the command that imports cards from a file, and undoes an import.
var importBinding = binding{
	path: "card import",
	help: "Import the cards of a CSV file from another system, or with undo erase those of an import that were not used since.",
	op:   operation.ImportCards,
	args: []argument{
		{name: "file", field: "file", help: "The file, whose first row names the columns; undo to undo the import that follows."},
		{name: "run", kind: importKind, param: "id", optional: true, help: "After undo: the import, by its id."},
	},
	other: operation.UndoImport,
	extra: flags[importFlags],
	columns: []string{
		"file=run.file_name", "import=run.id", "state=run.state", "rows", "new cards=new", "cards to change=updates",
		"cards that must not change=refused", "rows of other programs=other_program",
		"rows of archived cards=archived", "points left=points_left", "faulty rows=faulty",
		"cards added=run.added", "cards changed=run.updated", "cards left as they are=run.unchanged", "rows left out=run.skipped",
	},
	otherColumns: []string{"import=id", "state", "cards erased=removed", "cards kept=kept"},
	lists: []list{
		{"columns", []string{"column=name", "field"}}, {"faults", []string{"line", "column", "value", "rule=message"}},
		{"notes", []string{"line", "card=card_id", "field", "rule=message"}},
	},
	below:  hintKnownImport,
	asList: true,
}

// hintKnownImport says that a file was imported before: then no row was checked.
func hintKnownImport(w output, report row) {
	checked := report.value("new") + report.value("updates") + report.value("refused") + report.value("faulty")
	if began := report.text("run.created_at"); began != "" && checked == "0000" {
		printf(w, "\nThe file was imported already: the import began at %s.\n", began)
	}
}

// importFlags reads the file of an import, and works on it to its end.
type importFlags struct {
	linkFlag
}

func (f *importFlags) prepare(i *invocation) error {
	path := i.args.Fields.Get("file")
	i.args.Fields.Del("file")
	if i.args.Fields.Get("dry_run") != "true" {
		i.then = (*invocation).continueImport
	}
	switch {
	case i.op == operation.UndoImport && path != "undo":
		return usagef("unexpected argument after %s: only undo takes the id of an import", path)
	case i.op == operation.UndoImport:
		return nil
	case path == "undo":
		return usagef("missing argument: undo takes the id of an import")
	}
	i.verdict = importVerdict
	if err := f.linkFlag.prepare(i); err != nil {
		return err
	}
	i.needsURL = i.args.Fields.Get("send_email") == "true"
	file, err := readWhole(path)
	i.args.Fields.Set("file", string(file))
	i.args.Fields.Set("file_name", filepath.Base(path))
	return err
}

// readWhole reads a file that nobody writes meanwhile: the end of one that grows may be half a row.
func readWhole(path string) ([]byte, error) {
	if path == "" {
		return nil, usagef("<file>: must not be empty")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, usagef("%s: is no regular file", path) // to open a pipe may wait for ever
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, sheet.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	after, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, fmt.Errorf("%s: was changed while it was read", path)
	}
	return content, nil
}

// continueImport works on an import that has begun until it has ended, and adds to the answer how it
// went. A server that runs works on it too.
func (i *invocation) continueImport(answer []byte) ([]byte, error) {
	var report store.ImportReport
	run := &report.Run.V
	var into any = &report
	if i.op == operation.UndoImport {
		into = run
	}
	if err := json.Unmarshal(answer, into); err != nil || run.ID == "" {
		return answer, err
	}
	known := run.State == store.ImportDone
	if err := i.finishImport(run); err != nil || known {
		return wire.Append(nil, into), err
	}
	ended, err := kernel.Do[store.ImportRunReport](i.ctx, i.kernel, i.caller, operation.GetImport, kernel.Form{Params: on(run.ID)})
	if i.op == operation.UndoImport {
		ended.Notes = slices.DeleteFunc(ended.Notes, func(n store.ImportNote) bool { return !n.CardID.Valid })
		return wire.Append(nil, &ended), err
	}
	listed := map[int]bool{} // lines whose faults are there with their values
	for _, f := range report.Faults {
		listed[f.Line] = true
	}
	report.Notes = slices.DeleteFunc(ended.Notes, func(n store.ImportNote) bool { return listed[n.Line] })
	return wire.Append(nil, &report), err
}

// finishImport works on an import until it has ended.
func (i *invocation) finishImport(run *store.ImportRun) (err error) {
	report := commandProgress(false)
	defer report.End()
	total := int64(0)
	for run.State == store.ImportRunning || run.State == store.ImportUndoing {
		if i.ctx.Err() != nil {
			return errors.New("interrupted; the same command continues, and so does a server that runs")
		}
		start := time.Now()
		args := kernel.Form{Params: on(run.ID)}
		*run, err = kernel.Do[store.ImportRun](i.ctx, i.kernel, i.caller, operation.ContinueImport, args)
		if err != nil {
			return err
		}
		total = max(total, run.Left)
		report(store.Step{Name: "importing", Unit: store.Rows}, total-run.Left, total)
		select { // so that tills need not wait for long
		case <-i.ctx.Done():
		case <-time.After(time.Since(start) / 2):
		}
	}
	return nil
}

// importVerdict is the error of an import that a fault has kept from beginning.
func importVerdict(i *invocation, answer []byte) error {
	r, err := decode(answer)
	if err == nil && r.value("rows") == "0" && r.value("other_program") != "0" {
		return fmt.Errorf("nothing was imported: all rows are of other programs (%s)", r.value("other_program"))
	}
	if err != nil || r.value("faulty") == "0" || i.args.Fields.Get("skip_faulty") == "true" {
		return err
	}
	lifts := "--skip-faulty imports the others"
	if text := string(answer); strings.Contains(text, "unless rows without either are allowed") {
		lifts += ", and --allow-unkeyed takes rows with neither a reference nor a code"
	} else if strings.Contains(text, "that is there already") {
		lifts += ", and --update changes the cards that are there already"
	}
	return fmt.Errorf("nothing was imported, since rows are faulty (%s); %s", r.value("faulty"), lifts)
}
