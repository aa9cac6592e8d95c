package dashboard

import (
	"strconv"
	"strings"

	"punchcard/server/web"
)

// name gives the fields of a form the labels that the summary of its errors shows. Those
// of rows and of languages follow from their names.
func (v *visit) name(f *web.Form, labels map[string]string) {
	f.Labels = map[string]string{}
	for name := range f.Errors {
		base, part, nested := strings.Cut(name, ".")
		label := labels[base]
		switch {
		case label == "":
			continue
		case nested && strings.HasSuffix(base, "_localizations"):
			label = v.print.T(label) + " (" + part + ")"
		case nested:
			row, _, _ := strings.Cut(part, ".")
			n, _ := strconv.Atoi(row)
			label = v.print.T(label, n+1)
		default:
			label = v.print.T(label)
		}
		f.Labels[name] = label
	}
}
