package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
	"punchcard/store/event"
	"punchcard/webhook"
)

// eventGroup is a heading of the event picker with the events below it.
type eventGroup struct {
	Label  string
	Events []web.Option
	Chosen int // of them
	Open   bool
}

// eventGroups returns the event picker: all that a webhook may name, by subject. What it
// names besides, such as stamp.*, is the last group.
func (v *visit) eventGroups(f *web.Form) []eventGroup {
	groups := []eventGroup{{Label: v.T("Everything"), Open: true, Events: []web.Option{
		{Value: "*", Label: "*", Hint: v.T("Every event, also those to come, except transaction.created.")},
	}}}
	shown := map[string]bool{"*": true}
	for _, subject := range []struct {
		label              web.Text
		families, wildcard string
		hint               web.Text
	}{
		{"At the till", "stamp prize value transaction", "", ""},
		{"Cards", "card", "card.*", "Every event of cards, also those to come."},
		{"Programs", "program", "program.*", "Every event of programs, also those to come."},
		{"Locations", "location", "location.*", "Every event of locations, also those to come."},
		{"Shop", "subscription", "", ""},
	} {
		g := eventGroup{Label: v.T(subject.label)}
		if subject.wildcard != "" {
			g.Events = append(g.Events, web.Option{Value: subject.wildcard, Label: subject.wildcard, Hint: v.T(subject.hint)})
		}
		for _, in := range event.All() {
			family, _, _ := strings.Cut(string(in.Name), ".")
			if slices.Contains(strings.Fields(subject.families), family) {
				g.Events = append(g.Events, v.eventOption(in))
			}
		}
		groups = append(groups, g)
		for _, o := range g.Events {
			shown[o.Value] = true
		}
	}
	other := eventGroup{Label: v.T("Others")}
	for _, pattern := range f.Values["events"] {
		if !shown[pattern] && pattern != "" {
			other.Events = append(other.Events, itself(pattern))
		}
	}
	if other.Events != nil {
		groups = append(groups, other)
	}
	for i := range groups {
		for _, o := range groups[i].Events {
			if f.Checked("events", o.Value) {
				groups[i].Chosen++
			}
		}
		groups[i].Open = groups[i].Open || groups[i].Chosen > 0 || i == 1
	}
	return groups
}

// eventOption returns an event as a choice.
func (v *visit) eventOption(in event.Info) web.Option {
	hint := v.T(in.Doc)
	switch {
	case !in.Sends && !v.Kernel.Store().Limits().PreviewEvents:
		hint = v.T("{0} Not sent yet.", hint)
	case in.Name == event.TransactionCreated:
		hint = v.T("{0} Not together with the other events here and card.used.", hint)
	}
	return web.Option{Value: string(in.Name), Label: string(in.Name), Hint: hint}
}

// webhookProgram returns the program to which a new webhook belongs.
func webhookProgram(v *visit) (map[string]string, error) {
	return map[string]string{"id": v.form.Get("_program_id")}, nil
}

// webhookFields returns the fields of a new webhook.
func webhookFields(v *visit, form url.Values) url.Values {
	addHeaders(form, v.form.Get("_custom_headers"))
	return form
}

// addHeaders adds the custom headers that were typed, one on each line. What is no header
// becomes a name that the operation refuses.
func addHeaders(form url.Values, typed string) {
	for line := range strings.Lines(typed) {
		if line = strings.TrimSpace(line); line != "" {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			if value == "" {
				name, value = line, "-"
			}
			form.Set("custom_headers."+strings.TrimSpace(name), value)
		}
	}
}

// webhookChanges returns what the form of a webhook changes. The token and the custom
// headers, which it does not show, stay unless others are typed or they are removed. An
// address that stays is left out, since a change of it needs a recent proof.
func webhookChanges(v *visit, form url.Values) url.Values {
	if w, err := findWebhook(v); err == nil && w.URL == strings.TrimSpace(form.Get("url")) {
		form.Del("url")
	}
	form.Del("payload_version")
	if form.Get("bearer_token") == "" && v.form.Get("_remove_token") == "" {
		form.Del("bearer_token")
	}
	addHeaders(form, v.form.Get("_custom_headers"))
	if v.form.Get("_remove_headers") != "" && strings.TrimSpace(v.form.Get("_custom_headers")) == "" {
		form.Set("custom_headers.removed", "") // without content: no header is left
	}
	return form
}

func showNewWebhook(v *visit) error {
	v.fill(url.Values{
		"include_shop_wide_events": {"true"},
		"payload_version":          {"v2"},
		"_program_id":              {v.r.URL.Query().Get("program_id")},
	})
	p := webhookPage{Frame: v.narrow("New webhook", webhooksPath)}
	p.Versions = []web.Option{
		v.option("v2", "v2, with details", "What happened, and the shop, location, program, card, transaction and actor."),
		v.option("v1", "v1, only ids", "No names or emails leave the shop. The receiver reads the rest with a key."),
	}
	return v.webhookForm(p)
}

func showEditWebhook(v *visit, w store.WebhookOverview) error {
	v.fill(formValues(&w))
	return v.webhookForm(webhookPage{
		Frame:   v.narrow("Edit webhook", webhooksPath),
		Webhook: v.webhookRow(w),
	})
}

// webhookForm shows the form of a webhook.
func (v *visit) webhookForm(p webhookPage) error {
	p.Sends = v.CustomHeaders
	f := p.Form
	for name, problem := range f.Errors {
		switch field, _, nested := strings.Cut(name, "."); {
		case nested:
			delete(f.Errors, name) // the field has the same error
		case field == "custom_headers":
			delete(f.Errors, name)
			f.Errors["_custom_headers"] = problem
		}
	}
	p.Groups = v.eventGroups(f)
	if f.Errors["events"] != "" && strings.Join(f.Values["events"], "") == "" {
		f.Errors["events"] = v.T("Choose at least one event.")
	}
	programs, err := v.programs()
	if err != nil {
		return err
	}
	slices.Reverse(programs)
	p.Addresses = each(programs, programOption)
	locations, err := v.locationOptions()
	if err != nil {
		return err
	}
	p.Programs = withGone(p.Addresses, p.Webhook.Programs)
	p.Locations = withGone(locations, p.Webhook.Locations)
	switch {
	case p.Webhook.ID != "":
	case len(p.Addresses) == 0:
		return kernel.Refuse(store.Conflict, "A webhook belongs to a program. Create a program first.")
	case f.Value("_program_id") == "":
		f.Values.Set("_program_id", p.Addresses[0].Value)
	}
	return v.render("webhook_form", p)
}

// withGone returns choices with those that a webhook has and that are gone or not listed.
func withGone(options []web.Option, have []store.Named) []web.Option {
	options = slices.Clone(options)
	for _, n := range have {
		if !slices.ContainsFunc(options, func(o web.Option) bool { return o.Value == n.ID.V }) {
			options = append(options, web.Option{Value: n.ID.V, Label: n.Name.V})
		}
	}
	return options
}

// showCreatedWebhook shows the secret of a new webhook. A form that is sent again has none to
// show.
func showCreatedWebhook(v *visit, w store.CreatedWebhook) error {
	return v.webhookSecret("The webhook was created", w.Webhook, w.Secret)
}

// showRotatedWebhook shows the new secret of a webhook. A form that is sent again has none to
// show.
func showRotatedWebhook(v *visit, w store.UpdatedWebhook) error {
	return v.webhookSecret("The secret was rotated", w.Webhook, w.Secret)
}

func (v *visit) webhookSecret(title web.Text, w store.Webhook, secret string) error {
	p := webhookPage{Frame: v.frame(title, webhooksPath), Secret: secret}
	p.Webhook.Webhook = w
	p.fillReceivers(v)
	return v.render("webhook_secret", p)
}

// showReceiver shows an example of a receiver.
func showReceiver(v *visit, w store.WebhookOverview) error {
	p := webhookPage{Frame: v.frame("Receiver", webhooksPath), Webhook: v.webhookRow(w)}
	p.fillReceivers(v)
	return v.render("webhook_receiver", p)
}

// fillReceivers fills the examples in with the webhook: its secret, if it is shown, and
// the port of its address where that is on this machine.
func (p *webhookPage) fillReceivers(v *visit) {
	secret, port := p.Secret, "9000"
	if secret == "" {
		secret = "whsec_…"
	}
	if u, err := url.Parse(p.Webhook.URL); err == nil && u.Port() != "" && kernel.IsLoopbackURL(p.Webhook.URL) {
		port = u.Port()
	}
	for _, r := range webhook.Receivers() {
		r.Text = strings.Replace(r.Text, "whsec_…", secret, 1)
		r.Run = "WEBHOOK_SECRET='" + secret + "' PORT=" + port + " " + r.Run
		p.Receivers = append(p.Receivers, r)
	}
	asked := v.r.URL.Query().Get("language")
	current := max(0, slices.IndexFunc(p.Receivers, func(r webhook.Receiver) bool { return strings.EqualFold(asked, r.Language) }))
	p.Current = p.Receivers[current]
	for i, r := range p.Receivers {
		path := webhookPath(p.Webhook.ID) + "/receiver?language=" + strings.ToLower(r.Language)
		p.Tabs = append(p.Tabs, web.NavItem{Label: r.Language, Path: path, Current: i == current})
	}
}
