package dashboard

// CheckTemplates parses all pages.
func CheckTemplates() error { return templates().Check() }

// Binding is a page or a form, as tests go through them.
type Binding struct{ Method, Pattern string }

// Bindings returns all pages and forms.
func Bindings() (list []Binding) {
	for _, b := range bindings() {
		list = append(list, Binding{b.method, b.pattern})
	}
	return list
}
