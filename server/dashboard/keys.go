package dashboard

import (
	"slices"
	"strconv"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const keysPath = "/dashboard/keys"

// keyPages are the pages of keys.
var keyPages = []binding{
	page(keysPath, showKeys),
	form("/dashboard/new/key", showNewKey, action{op: operation.CreateChosenKey, then: then(showNewSecret)}),
	page(keyAt, about(findKey, showKey)),
	edit(keyAt+"/rotate", findKey, showRotateKey, action{op: operation.RotateKey, then: then(showRotatedSecret)}),
	confirm(keyAt+"/revoke", findKey, askRevokeKey, action{
		op:   operation.RevokeKey,
		to:   keysPath,
		done: "The key was revoked. It no longer works.",
	}),
	confirm(keysPath+"/revoke-all", allKeys, askRevokeKeys, action{
		op:   operation.RevokeAllKeys,
		to:   keysPath,
		done: "All keys were revoked. None of them works any more.",
	}),
}

// keyAt is the pattern of the page of a key.
const keyAt = "/dashboard/key/:id"

func keyPath(id string) string { return "/dashboard/key/" + id }

// keyRow is a key as its pages show it.
type keyRow struct {
	store.KeyInfo
	State  web.Badge
	May    string // what it may do, in short
	Where  string
	By     string // who made it
	Usable bool   // it works, and was not rotated
	Ended  bool
}

// keysPage is the list of keys.
type keysPage struct {
	web.Frame
	Sub   string
	Keys  []keyRow
	Ended []keyRow
}

// allKeys returns the keys of the shop, newest first.
func allKeys(v *visit) (rows []keyRow, err error) {
	infos, err := read[operation.List[store.KeyInfo]](v, operation.ListKeyInfos)
	if err != nil || len(infos.Data) == 0 {
		return nil, err
	}
	locations, err := v.locations()
	if err != nil {
		return nil, err
	}
	return each(infos.Data, func(k store.KeyInfo) keyRow { return v.keyRow(k, locations) }), nil
}

// findKey returns the key of the path.
func findKey(v *visit) (keyRow, error) {
	all, err := allKeys(v)
	return find(v, all, err, func(k keyRow) string { return k.ID }, "No such key.")
}

func (v *visit) keyRow(k store.KeyInfo, locations []store.Location) keyRow {
	row := keyRow{KeyInfo: k, Where: v.T("All locations"), By: v.partyName(k.CreatedBy.V)}
	switch {
	case len(k.Scopes) == len(store.Scopes):
		row.May = v.T("Everything")
	case len(k.Scopes) == 0 && k.Class == "mcp", slices.Equal(k.Scopes, store.ReadScopes):
		row.May = v.T("Only reading")
	case len(k.Scopes) == 1:
		row.May = v.T(scopeWords[k.Scopes[0]].label)
	default:
		row.May = v.T("{0} of {1} scopes", len(k.Scopes), len(store.Scopes))
	}
	switch {
	case k.Restricted && len(k.LocationIDs) == 1:
		row.Where = locationName(locations, k.LocationIDs[0])
	case k.Restricted:
		row.Where = v.T("{0} location|{0} locations", len(k.LocationIDs))
	}
	now := v.now()
	row.Ended = k.RevokedAt.Valid || k.RetiresAt.Valid && k.RetiresAt.V <= now || k.ExpiresAt.Valid && k.ExpiresAt.V <= now
	row.Usable = !row.Ended && !k.RetiresAt.Valid
	switch {
	case k.RevokedAt.Valid:
		row.State = v.badge("Revoked", "")
	case k.RetiresAt.Valid && k.RetiresAt.V <= now:
		row.State = v.badge("Replaced", "")
	case row.Ended:
		row.State = v.badge("Expired", "")
	case k.RetiresAt.Valid:
		row.State = v.badge("Being replaced", "warn")
	case k.DisabledByPlanAt.Valid:
		row.State = v.badge("Suspended", "warn")
	case k.ExpiresAt.Valid && k.ExpiresAt.V <= now.Add(14*24*time.Hour):
		row.State = v.badge("Expires soon", "warn")
	default:
		row.State = v.badge("Works", "good")
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

func showKeys(v *visit) error {
	all, err := allKeys(v)
	if err != nil {
		return err
	}
	p := keysPage{Frame: v.frame("Keys", keysPath)}
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
	p.Sub = v.T(
		"{0} of {1} REST keys and {2} of {3} MCP keys are in use.",
		used["api"],
		limits.KeysPerShop,
		used["mcp"],
		limits.MCPKeysPerShop,
	)
	return v.render("keys", p)
}

// keyPage is the page of a key, also with its forms and its secret.
type keyPage struct {
	web.Frame
	Key       keyRow       // before its rotation, if it was rotated
	Scopes    []web.Option // of the key, or those to choose
	Locations []web.Option
	Classes   []web.Option
	Where     []web.Option
	Overlaps  []web.Option
	Overlap   string

	Created operation.CreatedKey // with the secret that is shown once
	Check   string               // a command that tries the key
	Clients []Client             // how assistants are set up with the key
}

func showKey(v *visit, k keyRow) error {
	p := keyPage{Frame: v.named(k.Name, keysPath), Key: k}
	p.Scopes = each(k.Scopes, v.scopeOption)
	if k.Restricted {
		locations, err := v.locations()
		if err != nil {
			return err
		}
		for _, id := range k.LocationIDs {
			p.Locations = append(p.Locations, web.Option{Value: id, Label: locationName(locations, id)})
		}
	}
	return v.render("key", p)
}

func showRotateKey(v *visit, k keyRow) error {
	p := keyPage{Frame: v.narrow("Rotate {0}", keysPath, k.Name), Key: k}
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
			o.Label = v.T("Not at all: it ends at once")
		case h%24 == 0 && h > 24:
			o.Label = v.T("{0} day|{0} days", h/24)
		default:
			o.Label = v.T("{0} hour|{0} hours", h)
		}
		p.Overlaps = append(p.Overlaps, o)
	}
	return v.render("key_rotate", p)
}

func askRevokeKey(v *visit, k keyRow) web.ConfirmPage {
	c := v.danger(keysPath, "Revoke {0}?",
		"What uses the key {1} stops working with its next request. This cannot be undone. To replace a key without a break, "+
			"rotate it instead.",
		"Revoke the key", k.Name, k.Prefix+"…")
	c.Cancel = keyPath(k.ID)
	return c
}

func askRevokeKeys(v *visit, all []keyRow) web.ConfirmPage {
	var names []string
	for _, k := range all {
		if !k.Ended {
			names = append(names, k.Name+" – "+k.Prefix+"…")
		}
	}
	c := v.danger(keysPath, "Revoke all keys?",
		"{0} key stops working with its next request, and so does everything that uses it. This cannot be undone. "+
			"Tills are not affected.|"+
			"{0} keys stop working with their next request, and so does everything that uses them. This cannot be undone. "+
			"Tills are not affected.",
		"Revoke all keys", len(names))
	c.Consequences = names
	return c
}
