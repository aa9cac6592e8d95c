package command

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"punchcard/store"
)

// list is a list of objects in an answer, with the columns of its table.
type list struct {
	field   string
	columns []string
}

// print prints the answer as text: a table, those of its lists, and what comes below them.
func (b *Bound) print(out io.Writer, i *invocation, answer []byte) error {
	all, err := decode(answer)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	columns := b.binding.columns
	if i.op == b.binding.other {
		columns = b.binding.otherColumns
	}
	rows := []row{all}
	if _, ok := all["data"]; ok {
		rows = all.rows("data")
	}
	switch {
	case b.binding.asList:
		for _, column := range columns {
			heading, path := headingOf(column)
			if text := all.text(path); text != "" {
				printf(w, "%s\t%s\n", heading, text)
			}
		}
	case columns != nil:
		i.printTable(w, rows, columns)
	}
	for _, l := range b.binding.lists {
		if rows := all.rows(l.field); len(rows) > 0 {
			fmt.Fprintln(w)
			i.printTable(w, rows, l.columns)
		}
	}
	switch {
	case i.op.Out == nil:
		printf(w, "%s deleted\n", all.text("id"))
	case b.binding.below != nil:
		b.binding.below(output{w, i}, all)
	}
	return w.Flush()
}

// headingOf returns the heading and the path of a column, which is the path, with its heading before
// it if that is another.
func headingOf(column string) (heading, path string) {
	heading, path, ok := strings.Cut(column, "=")
	if !ok {
		path = heading
	}
	heading = strings.ReplaceAll(heading, "_", " ")
	return strings.ToUpper(heading[:1]) + heading[1:], path
}

// printTable prints rows as a table, with names beside ids.
func (i *invocation) printTable(w io.Writer, rows []row, columns []string) {
	names := i.namesOf(rows, columns)
	var headings []string
	for _, column := range columns {
		heading, _ := headingOf(column)
		headings = append(headings, strings.ToUpper(heading))
	}
	fmt.Fprintln(w, strings.Join(headings, "\t"))
	for _, r := range rows {
		var cells []string
		for _, column := range columns {
			_, path := headingOf(column)
			text := r.text(path)
			if path != "id" {
				text = someID.ReplaceAllStringFunc(text, names)
			}
			cells = append(cells, Printable(text))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
}

// someID matches the id of a resource in a text.
var someID = regexp.MustCompile(`\b[a-z]{3}_[a-z0-9]{26}\b`)

// namesOf returns a function that returns an id in a column with the name of what it stands for. Where
// no name can be read, there is the id.
func (i *invocation) namesOf(rows []row, columns []string) func(id string) string {
	var ids []string
	for _, r := range rows {
		for _, column := range columns {
			if _, path := headingOf(column); path != "id" {
				ids = append(ids, someID.FindAllString(r.text(path), -1)...)
			}
		}
	}
	byID := map[string]string{}
	if len(ids) > 0 && i.caller.Access.Shop != 0 {
		i.kernel.Store().View(0, func(v *store.View) (err error) {
			byID, err = v.Names(i.caller.Access.Shop, ids)
			return err
		})
	}
	return func(id string) string {
		if name := byID[id]; name != "" {
			return id + " (" + name + ")"
		}
		return id
	}
}
