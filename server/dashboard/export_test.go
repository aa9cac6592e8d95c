package dashboard

import "net/http"

// Binding is a page or a form, as tests go through them.
type Binding struct{ Method, Pattern string }

// Bindings returns all pages and forms.
func Bindings() (list []Binding) {
	for _, b := range bindings() {
		if b.get != nil {
			list = append(list, Binding{http.MethodGet, b.pattern})
		}
		if b.post != nil {
			list = append(list, Binding{http.MethodPost, b.pattern})
		}
	}
	return list
}

// ImportLabels are the names of the fields of imports.
var ImportLabels = importLabels
