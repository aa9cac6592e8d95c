package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const keysPath = "/dashboard/keys"

// keyPages are the pages of keys.
var keyPages = []binding{
	page(keysPath, showKeys),
	page("/dashboard/new/key", func(v *visit) error { return showNewKey(v, v.newForm(url.Values{"class": {chosenClass(v)}})) }),
	post("/dashboard/new/key", action[operation.CreatedKey]{op: operation.CreateChosenKey, again: showNewKey, show: showNewSecret}),
	page("/dashboard/key/:id", showKey),
	page("/dashboard/key/:id/rotate", func(v *visit) error { return showRotateKey(v, v.newForm(nil)) }),
	post("/dashboard/key/:id/rotate", action[operation.CreatedKey]{op: operation.RotateKey, again: showRotateKey, show: showRotatedSecret}),
	page("/dashboard/key/:id/revoke", confirmRevokeKey),
	post(
		"/dashboard/key/:id/revoke",
		action[store.Key]{op: operation.RevokeKey, next: func(*visit, store.Key) (string, string) { return keysPath, keyRevoked }},
	),
	page("/dashboard/keys/revoke-all", confirmRevokeKeys),
	post(
		"/dashboard/keys/revoke-all",
		action[operation.RevokedKeys]{
			op:   operation.RevokeAllKeys,
			next: func(*visit, operation.RevokedKeys) (string, string) { return keysPath, keysRevoked },
		},
	),
}

var (
	keyRevoked  = says("key-revoked", web.Text("The key was revoked. It no longer works."))
	keysRevoked = says("keys-revoked", web.Text("All keys were revoked. None of them works any more."))
)

func keyPath(id string) string { return "/dashboard/key/" + id }

// keyRow is a key as its pages show it.
type keyRow struct {
	store.KeyInfo
	ClassName string
	State     web.Badge
	May       string // what it may do, in short
	Where     string
	By        string // who made it
	Usable    bool   // it works, and was not rotated
	Ended     bool
}

// keysPage is the list of keys.
type keysPage struct {
	web.Frame
	Actions []web.Action
	Sub     string
	Keys    []keyRow
	Ended   []keyRow
	Create  web.Action
}

// keys returns the keys of the shop, newest first.
func (v *visit) keys() (rows []keyRow, err error) {
	infos, err := read[operation.List[store.KeyInfo]](v, operation.ListKeyInfos, kernel.Args{})
	if err != nil || len(infos.Data) == 0 {
		return nil, err
	}
	locations, err := v.locations()
	if err != nil {
		return nil, err
	}
	for _, k := range infos.Data {
		rows = append(rows, v.keyRow(k, locations))
	}
	return rows, nil
}

// findKey returns the key of the path.
func (v *visit) findKey() (keyRow, error) {
	all, err := v.keys()
	if err != nil {
		return keyRow{}, err
	}
	return find(v, all, func(k keyRow) string { return k.ID }, "No such key.")
}

func (v *visit) keyRow(k store.KeyInfo, locations []store.Location) keyRow {
	row := keyRow{KeyInfo: k, ClassName: v.className(k.Class), Where: v.print.T("All locations"), By: v.partyName(k.CreatedBy.V)}
	switch reading := readScopes(); {
	case len(k.Scopes) == len(store.Scopes):
		row.May = v.print.T("Everything")
	case len(k.Scopes) == 0 && k.Class == "mcp", slices.Equal(k.Scopes, reading):
		row.May = v.print.T("Only reading")
	case len(k.Scopes) == 1:
		row.May = v.print.T(scopeWords[k.Scopes[0]].label)
	default:
		row.May = v.print.T("{0} of {1} scopes", len(k.Scopes), len(store.Scopes))
	}
	switch {
	case k.Restricted && len(k.LocationIDs) == 1:
		row.Where = locationName(locations, k.LocationIDs[0])
	case k.Restricted:
		row.Where = v.print.T("{0} location|{0} locations", len(k.LocationIDs))
	}
	now := v.Kernel.Store().Now()
	switch {
	case k.RevokedAt.Valid:
		row.State, row.Ended = web.Badge{Label: v.print.T("Revoked")}, true
	case k.RetiresAt.Valid && k.RetiresAt.V <= now:
		row.State, row.Ended = web.Badge{Label: v.print.T("Replaced")}, true
	case k.ExpiresAt.Valid && k.ExpiresAt.V <= now:
		row.State, row.Ended = web.Badge{Label: v.print.T("Expired")}, true
	case k.RetiresAt.Valid:
		row.State = web.Badge{Label: v.print.T("Being replaced"), Tone: "warn"}
	case k.DisabledByPlanAt.Valid:
		row.State, row.Usable = web.Badge{Label: v.print.T("Suspended"), Tone: "warn"}, true
	case k.ExpiresAt.Valid && k.ExpiresAt.V <= now.Add(14*24*time.Hour):
		row.State, row.Usable = web.Badge{Label: v.print.T("Expires soon"), Tone: "warn"}, true
	default:
		row.State, row.Usable = web.Badge{Label: v.print.T("Works"), Tone: "good"}, true
	}
	return row
}

// locationName returns the name of one of the locations, or its id.
func locationName(locations []store.Location, id string) string {
	if i := slices.IndexFunc(locations, func(l store.Location) bool { return l.ID == id }); i >= 0 && locations[i].Name != "" {
		return locations[i].Name
	}
	return id
}

func (v *visit) className(class string) string {
	if class == "mcp" {
		return v.print.T("MCP")
	}
	return v.print.T("REST")
}

func showKeys(v *visit) error {
	all, err := v.keys()
	if err != nil {
		return err
	}
	p := keysPage{Frame: v.frame(web.Text("Keys"), keysPath)}
	p.Create = web.Action{Label: v.print.T("New key"), Path: "/dashboard/new/key", Icon: "plus", Kind: "primary"}
	used := map[string]int{}
	for _, k := range all {
		if k.Ended {
			p.Ended = append(p.Ended, k)
			continue
		}
		p.Keys = append(p.Keys, k)
		if k.Usable {
			used[k.Class]++
		}
	}
	limits := v.Kernel.Store().Limits()
	p.Sub = v.print.T(
		"{0} of {1} REST keys and {2} of {3} MCP keys are in use.",
		used["api"],
		limits.KeysPerShop,
		used["mcp"],
		limits.MCPKeysPerShop,
	)
	if len(p.Keys) > 1 {
		p.Actions = append(p.Actions, web.Action{Label: v.print.T("Revoke all"), Path: keysPath + "/revoke-all"})
	}
	p.Actions = append(p.Actions, web.Action{Label: v.print.T("Set up an assistant"), Path: assistantPath}, p.Create)
	return v.render(http.StatusOK, "keys", p)
}

// keyPage is the page of a key, also with its forms and its secret.
type keyPage struct {
	web.Frame
	Form      *web.Form
	Key       keyRow
	Facts     []web.Fact
	Scopes    []web.Option // of the key, or those to choose
	Locations []web.Option
	Classes   []web.Option
	Where     []web.Option
	Expires   []web.Option
	Overlaps  []web.Option
	Overlap   string
	Actions   []web.Action
	Note      string

	Created operation.CreatedKey // with the secret that is shown once
	Check   string               // a command that tries the key
	Clients []Client             // how assistants are set up with the key
}

func showKey(v *visit) error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	p := keyPage{Frame: v.frame("", keysPath), Key: k}
	p.Title = k.Name
	p.Facts = []web.Fact{
		{Label: v.print.T("Key"), Value: k.Prefix + "…", Hint: v.print.T("The rest was shown once and cannot be read again.")},
		{Label: v.print.T("For"), Value: v.classUse(k.Class)},
		{Label: v.print.T("Created"), Value: v.print.DateTime(k.CreatedAt.Std()), Hint: k.By},
	}
	expires, used := v.print.T("Never"), v.print.T("Never")
	if k.LastUsedAt.Valid {
		used = v.print.DateTime(k.LastUsedAt.V.Std())
	}
	if k.ExpiresAt.Valid {
		expires = v.print.DateTime(k.ExpiresAt.V.Std())
	}
	p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Last used"), Value: used}, web.Fact{Label: v.print.T("Expires"), Value: expires})
	if k.Class == "mcp" {
		p.Facts = append(
			p.Facts,
			web.Fact{
				Label: v.print.T("Calls today"),
				Value: v.print.Number(k.CallsToday),
				Hint:  v.print.T("The day begins at midnight in UTC."),
			},
			web.Fact{Label: v.print.T("Calls in 30 days"), Value: v.print.Number(k.Calls30d)},
		)
	}
	if k.RetiresAt.Valid {
		p.Facts = append(
			p.Facts,
			web.Fact{
				Label: v.print.T("Works until"),
				Value: v.print.DateTime(k.RetiresAt.V.Std()),
				Hint:  v.print.T("It was replaced by a new key."),
			},
		)
	}
	if k.RevokedAt.Valid {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Revoked"), Value: v.print.DateTime(k.RevokedAt.V.Std())})
	}
	p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Id"), Value: k.ID})
	if k.DisabledByPlanAt.Valid && !k.Ended {
		p.Note = v.print.T(
			"The shop has no Business API add-on, so this key is suspended. It works again, unchanged, once the shop has it.",
		)
	}
	for _, sc := range k.Scopes {
		p.Scopes = append(p.Scopes, v.scopeOption(sc))
	}
	if k.Restricted {
		locations, err := v.locations()
		if err != nil {
			return err
		}
		for _, id := range k.LocationIDs {
			p.Locations = append(p.Locations, web.Option{Value: id, Label: locationName(locations, id)})
		}
	}
	if k.Usable {
		p.Actions = append(p.Actions, web.Action{Label: v.print.T("Rotate"), Path: keyPath(k.ID) + "/rotate", Icon: "refresh"})
	}
	if !k.Ended {
		p.Actions = append(p.Actions, web.Action{Label: v.print.T("Revoke"), Path: keyPath(k.ID) + "/revoke", Kind: "danger"})
	}
	return v.render(http.StatusOK, "key", p)
}

// classUse says what keys of a class are for.
func (v *visit) classUse(class string) string {
	if class == "mcp" {
		return v.print.T("AI assistants, through MCP")
	}
	return v.print.T("Programs, through the REST API")
}

func showRotateKey(v *visit, f *web.Form) error {
	if err := v.require(operation.RotateKey); err != nil {
		return err
	}
	k, err := v.findKey()
	if err != nil {
		return err
	}
	p := keyPage{Frame: v.frame("", keysPath), Key: k, Form: f}
	p.Title, p.Width = v.print.T("Rotate {0}", k.Name), "narrow"
	usual := v.Kernel.Store().Limits().RotationHours
	hours := []int{0, 1, 24, 72, 168}
	if !slices.Contains(hours, usual) {
		hours = append(hours, usual)
		slices.Sort(hours)
	}
	p.Overlap = strconv.Itoa(usual)
	for _, h := range hours {
		o := web.Option{Value: strconv.Itoa(h)}
		switch {
		case h == 0:
			o.Label = v.print.T("Not at all: it ends at once")
		case h%24 == 0 && h > 24:
			o.Label = v.print.T("{0} day|{0} days", h/24)
		default:
			o.Label = v.print.T("{0} hour|{0} hours", h)
		}
		p.Overlaps = append(p.Overlaps, o)
	}
	return v.render(v.status(), "key_rotate", p)
}

func confirmRevokeKey(v *visit) error {
	if err := v.require(operation.RevokeKey); err != nil {
		return err
	}
	k, err := v.findKey()
	if err != nil {
		return err
	}
	return v.confirm(keysPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Revoke {0}?", k.Name)},
		Path:  keyPath(k.ID) + "/revoke",
		Text: v.print.T(
			"What uses the key {0} stops working with its next request. This cannot be undone. To replace a key without a break, rotate it instead.",
			k.Prefix+"…",
		),
		Button: v.print.T("Revoke the key"),
		Cancel: keyPath(k.ID),
		Danger: true,
	})
}

func confirmRevokeKeys(v *visit) error {
	if err := v.require(operation.RevokeAllKeys); err != nil {
		return err
	}
	all, err := v.keys()
	if err != nil {
		return err
	}
	var names []string
	for _, k := range all {
		if !k.Ended {
			names = append(names, k.Name+" – "+k.Prefix+"…")
		}
	}
	return v.confirm(keysPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Revoke all keys?")},
		Path:  keysPath + "/revoke-all",
		Text: v.print.T(
			"{0} key stops working with its next request, and so does everything that uses it. This cannot be undone. Tills are not affected.|{0} keys stop working with their next request, and so does everything that uses them. This cannot be undone. Tills are not affected.",
			len(names),
		),
		Consequences: names,
		Button:       v.print.T("Revoke all keys"),
		Cancel:       keysPath,
		Danger:       true,
	})
}
