package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
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
	asList: true,
}

// importFlags reads the file of an import, and works on it to its end.
type importFlags struct {
	linkFlag
}

func (f *importFlags) prepare(i *invocation) error {
	path := i.args.Fields.Get("file")
	i.args.Fields.Del("file")
	i.then = (*invocation).continueImport
	if i.op == operation.UndoImport {
		if path != "undo" {
			return usagef("unexpected argument after %s: only undo takes the id of an import", path)
		}
		return nil
	}
	i.verdict = importVerdict
	if err := f.linkFlag.prepare(i); err != nil {
		return err
	}
	i.needsURL = i.args.Fields.Get("send_email") == "true"
	var err error
	i.file, err = readWhole(path)
	i.args.Fields.Set("file_name", filepath.Base(path))
	return err
}

// readWhole reads a file that nobody writes meanwhile: the end of one that grows may be half a row.
func readWhole(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, usagef("%s: is no regular file", path)
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

// fileInput is a form with a file.
type fileInput struct {
	kernel.Form
	file []byte
}

// Decode decodes the fields of the form, and adds the file.
func (in fileInput) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	details, err := in.Form.Decode(dst, mode, lim)
	fields, ok := dst.(*operation.ImportFields)
	if !ok || err != nil {
		return details, err
	}
	fields.File = store.Given(in.file)
	var kept []store.Detail
	for _, d := range details {
		if d.Field != "file" || d.Code != wire.CodeRequired {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

// input returns the input of the operation.
func (i *invocation) input(fields url.Values) kernel.Input {
	form := kernel.Form{Params: i.args.Params, Fields: fields}
	if i.file == nil {
		return form
	}
	return fileInput{form, i.file}
}

// continueImport works on an import that has begun until it has ended, and adds to the answer how it
// went. A server that runs works on it too.
func (i *invocation) continueImport(answer []byte) ([]byte, error) {
	all, err := decode(answer)
	if err != nil {
		return nil, err
	}
	run := all
	if i.op == operation.ImportCards {
		run = all.object("run")
	}
	id := run.value("id")
	if id == "" {
		return answer, nil
	}
	args := kernel.Form{Params: map[string]string{"id": id}}
	report := commandProgress(false)
	defer report.End()
	step := store.Step{Name: "importing", Unit: store.Rows}
	total := int64(0)
	for run.value("state") == store.ImportRunning || run.value("state") == store.ImportUndoing {
		if err := i.ctx.Err(); err != nil {
			return nil, errors.New("interrupted; the same command continues, and so does a server that runs")
		}
		start := time.Now()
		next, err := i.call(i.ctx, operation.ContinueImport, args)
		if err != nil {
			return nil, err
		}
		if run, err = decode(next); err != nil {
			return nil, err
		}
		left, _ := strconv.ParseInt(run.value("left"), 10, 64)
		total = max(total, left)
		report(step, total-left, total)
		select { // so that tills need not wait for long
		case <-i.ctx.Done():
		case <-time.After(time.Since(start) / 2):
		}
	}
	if i.op == operation.UndoImport {
		return json.Marshal(run)
	}
	all["run"] = map[string]any(run)
	notes, err := i.call(i.ctx, operation.ListImportNotes, args)
	if err != nil {
		return nil, err
	}
	found, err := decode(notes)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{} // lines whose faults are there with their values
	for _, f := range all.rows("faults") {
		listed[f.value("line")] = true
	}
	var more []any
	for _, n := range found.rows("data") {
		if !listed[n.value("line")] {
			more = append(more, map[string]any(n))
		}
	}
	all["notes"] = more
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(all)
	return bytes.TrimSpace(b.Bytes()), err
}

// importVerdict is the error of an import that a fault has kept from beginning.
func importVerdict(i *invocation, answer []byte) error {
	r, err := decode(answer)
	if err != nil || r.value("faulty") == "0" || i.args.Fields.Get("skip_faulty") == "true" {
		return err
	}
	return fmt.Errorf("%s rows are faulty, so nothing was imported; --skip-faulty imports the others", r.value("faulty"))
}
