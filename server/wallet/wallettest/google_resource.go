package wallettest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The fields of classes and objects that a caller may set, as far as the server may want them.
var googleFields = map[string]string{
	"loyaltyClass": "id issuerName programName localizedProgramName programLogo reviewStatus hexBackgroundColor countryCode " +
		"callbackOptions homepageUri linksModuleData textModulesData",
	"loyaltyObject": "id classId state accountName accountId barcode loyaltyPoints secondaryLoyaltyPoints textModulesData " +
		"linksModuleData validTimeInterval messages notifyPreference",
}

var (
	googleID     = regexp.MustCompile(`^\d+\.[\w.-]+$`)
	googleColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	googleStates = []string{"ACTIVE", "COMPLETED", "EXPIRED", "INACTIVE"}
)

// cloneJSON returns a copy of a resource.
func cloneJSON(resource map[string]any) (c map[string]any) {
	raw, _ := json.Marshal(resource)
	json.Unmarshal(raw, &c)
	return c
}

// get returns a class or an object, nil if there is none.
func (g *Google) get(kind, id string) map[string]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cloneJSON(g.resources[kind+"/"+id])
}

// Class returns a class as it was sent, nil if there is none.
func (g *Google) Class(id string) map[string]any { return g.get("loyaltyClass", id) }

// Object returns an object as it was sent, nil if there is none.
func (g *Google) Object(id string) map[string]any { return g.get("loyaltyObject", id) }

// Objects returns the ids of all objects.
func (g *Google) Objects() (ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path := range g.resources {
		if id, ok := strings.CutPrefix(path, "loyaltyObject/"); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// insert makes a class or an object.
func (g *Google) insert(kind, id string, body map[string]any) (map[string]any, error) {
	if g.get(kind, id) != nil {
		return nil, refuseGoogle(409, "existingResource", "%s %s already exists.", kind, id)
	}
	return g.put(kind, id, nil, body)
}

// patch changes a class or an object: null ends a field, and what is absent stays.
func (g *Google) patch(kind, id string, body map[string]any) (map[string]any, error) {
	before := g.get(kind, id)
	if before == nil {
		return nil, refuseGoogle(404, "resourceNotFound", "%s %s not found.", kind, id)
	}
	return g.put(kind, id, before, body)
}

// put checks and stores a resource, and shows a notice if that is asked for.
func (g *Google) put(kind, id string, before, change map[string]any) (map[string]any, error) {
	for name := range change {
		if !slices.Contains(strings.Fields(googleFields[kind]), name) {
			return nil, refuseGoogle(400, "parseError", "Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
		}
	}
	notify := change["notifyPreference"]
	if notify != nil && notify != "NOTIFY_ON_UPDATE" {
		return nil, refuseGoogle(400, "invalidResource", "Invalid notifyPreference %v.", notify)
	}
	after := mergePatch(cloneJSON(before), change)
	delete(after, "notifyPreference")
	check := g.checkClass
	if kind == "loyaltyObject" {
		check = g.checkObject
	}
	if err := check(after); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.resources[kind+"/"+id] = cloneJSON(after)
	if before != nil && notify != nil && !reflect.DeepEqual(before["loyaltyPoints"], after["loyaltyPoints"]) {
		g.notify(id, "")
	}
	g.show(id)
	return after, nil
}

// mergePatch applies a change to a resource (RFC 7396).
func mergePatch(resource, change map[string]any) map[string]any {
	if resource == nil {
		resource = map[string]any{}
	}
	for name, value := range change {
		inner, ok := value.(map[string]any)
		switch {
		case value == nil:
			delete(resource, name)
		case ok:
			old, _ := resource[name].(map[string]any)
			resource[name] = mergePatch(old, inner)
		default:
			resource[name] = value
		}
	}
	return resource
}

// jsonText returns the text at a path of names in a resource, and an empty one if there is none.
func jsonText(resource map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		resource, _ = resource[name].(map[string]any)
	}
	s, _ := resource[path[len(path)-1]].(string)
	return s
}

// checkClass refuses a class as Google does.
func (g *Google) checkClass(c map[string]any) error {
	logo, callback := jsonText(c, "programLogo", "sourceUri", "uri"), jsonText(c, "callbackOptions", "url")
	colour := jsonText(c, "hexBackgroundColor")
	switch {
	case !googleID.MatchString(jsonText(c, "id")):
		return refuseGoogle(400, "invalidResource", "Invalid class id.")
	case jsonText(c, "issuerName") == "" || jsonText(c, "programName") == "":
		return refuseGoogle(400, "invalidResource", "issuerName and programName are required.")
	case jsonText(c, "reviewStatus") != "UNDER_REVIEW" && jsonText(c, "reviewStatus") != "DRAFT":
		return refuseGoogle(400, "invalidResource", "Invalid review status %v.", c["reviewStatus"])
	case colour != "" && !googleColour.MatchString(colour):
		return refuseGoogle(400, "invalidResource", "Invalid hexBackgroundColor %s.", colour)
	case !isPublicURL(logo):
		return refuseGoogle(400, "invalidResource", "programLogo needs an https URL.")
	case c["callbackOptions"] != nil && !isPublicURL(callback):
		return refuseGoogle(400, "invalidResource", "callbackOptions needs an https URL.")
	}
	if err := g.loadImage(logo); err != nil {
		return refuseGoogle(400, "invalidResource", "Image cannot be loaded: %v", err)
	}
	return checkLocalized(c)
}

// loadImage fetches a picture as Google does.
func (g *Google) loadImage(address string) error {
	resp, err := g.send(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, _, err = image.DecodeConfig(resp.Body)
	return err
}

// isPublicURL reports whether a URL is an https one, or one of this machine, which stands for it.
func isPublicURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// checkLocalized refuses a translated text, at any depth, without its default or with a language twice.
func checkLocalized(value any) error {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			if err := checkLocalized(inner); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, inner := range v {
			if err := checkLocalized(inner); err != nil {
				return err
			}
			if !strings.HasPrefix(name, "localized") {
				continue
			}
			l, _ := inner.(map[string]any)
			seen := map[string]bool{}
			translated, _ := l["translatedValues"].([]any)
			for _, t := range append([]any{l["defaultValue"]}, translated...) {
				m, _ := t.(map[string]any)
				if jsonText(m, "language") == "" || jsonText(m, "value") == "" || seen[jsonText(m, "language")] {
					return refuseGoogle(400, "invalidResource", "%s needs a language once, and a value.", name)
				}
				seen[jsonText(m, "language")] = true
			}
		}
	}
	return nil
}

// checkObject refuses an object as Google does.
func (g *Google) checkObject(o map[string]any) error {
	id, class := jsonText(o, "id"), jsonText(o, "classId")
	issuer, _, _ := strings.Cut(id, ".")
	end := jsonText(o, "validTimeInterval", "end", "date")
	_, dateErr := time.Parse(time.RFC3339, end)
	texts, _ := o["textModulesData"].([]any)
	links, _ := o["linksModuleData"].(map[string]any)
	uris, _ := links["uris"].([]any)
	switch {
	case !googleID.MatchString(id) || !strings.HasPrefix(class, issuer+"."):
		return refuseGoogle(400, "invalidResource", "Invalid ids %q and %q.", id, class)
	case g.Class(class) == nil:
		return refuseGoogle(404, "classNotFound", "Class %s not found.", class)
	case !slices.Contains(googleStates, jsonText(o, "state")):
		return refuseGoogle(400, "invalidResource", "Invalid state %v.", o["state"])
	case o["barcode"] != nil && (jsonText(o, "barcode", "type") != "QR_CODE" || jsonText(o, "barcode", "value") == ""):
		return refuseGoogle(400, "invalidResource", "A barcode needs a type and a value.")
	case o["validTimeInterval"] != nil && dateErr != nil:
		return refuseGoogle(400, "invalidResource", "Invalid date %q.", end)
	case len(texts) > 10:
		return refuseGoogle(400, "invalidResource", "An object has at most 10 text modules.")
	}
	for _, name := range []string{"loyaltyPoints", "secondaryLoyaltyPoints"} {
		p, _ := o[name].(map[string]any)
		balance, _ := p["balance"].(map[string]any)
		if p != nil && (jsonText(p, "label") == "" || len(slices.Collect(maps.Keys(balance))) != 1) {
			return refuseGoogle(400, "invalidResource", "%s needs a label and one form of a balance.", name)
		}
	}
	for _, t := range texts {
		if m, _ := t.(map[string]any); jsonText(m, "body") == "" {
			return refuseGoogle(400, "invalidResource", "A text module needs a body.")
		}
	}
	for _, u := range uris {
		if m, _ := u.(map[string]any); !isPublicURL(jsonText(m, "uri")) {
			return refuseGoogle(400, "invalidResource", "Invalid uri.")
		}
	}
	return checkLocalized(o)
}

// addMessage adds a message to an object.
func (g *Google) addMessage(id string, body map[string]any) (map[string]any, error) {
	object := g.Object(id)
	m, _ := body["message"].(map[string]any)
	kind := jsonText(m, "messageType")
	switch {
	case object == nil:
		return nil, refuseGoogle(404, "resourceNotFound", "loyaltyObject %s not found.", id)
	case jsonText(m, "header") == "" || jsonText(m, "body") == "":
		return nil, refuseGoogle(400, "invalidResource", "A message needs a header and a body.")
	case kind != "TEXT" && kind != "TEXT_AND_NOTIFY":
		return nil, refuseGoogle(400, "invalidResource", "Invalid messageType %q.", kind)
	}
	if err := checkLocalized(m); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == "TEXT_AND_NOTIFY" && !g.notify(id, jsonText(m, "body")) {
		return nil, refuseGoogle(429, "quotaExceeded", "The pass has notified three times in 24 hours.")
	}
	messages, _ := object["messages"].([]any)
	object["messages"] = append(messages, m)
	g.resources["loyaltyObject/"+id] = object
	g.show(id)
	return map[string]any{"resource": object}, nil
}

// notify shows a notice if the object is on a phone. It returns false if there were three in the last 24 hours. g.mu is held.
func (g *Google) notify(id, text string) bool {
	n := 0
	for _, old := range g.notices {
		if old.ObjectID == id && time.Since(old.at) < 24*time.Hour {
			n++
		}
	}
	if n >= 3 {
		return false
	}
	if g.phones[id] {
		g.notices = append(g.notices, GoogleNotice{id, text, time.Now()})
	}
	for p := range g.holders[id] {
		p.tell(cmp.Or(text, "Your pass has changed."))
	}
	return true
}
