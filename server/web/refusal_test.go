package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// refusing are the folders of the packages whose refusals pages can receive.
var refusing = strings.Fields(`
	../../store ../../store/password ../operation ../kernel ../wire ../logo ../../webhook ../dashboard ../holder ../tillpage ../app ../sheet
	../wallet/apple ../wallet/google
`)

// A message is a refusal if it is an argument of a function or in a literal that makes one, or
// if it looks like one: as the rule of a field, or as a sentence in a package that refuses.
var (
	refusers  = strings.Fields("refuse Refuse refuseAs refuseLocked tooMany Unauthenticated Detail Error Problem invalid InvalidField")
	looksLike = regexp.MustCompile(`^((must|is|cannot|has|appears) .+|the (body|query) .+|[A-Z][^ ]* .*[.])$`)
	faces     = []string{"../dashboard", "../holder", "../tillpage", "../app"} // whose sentences are not all refusals
)

// found is where a message is, and the name of its code if that is beside it.
type found struct{ where, code string }

// messages returns the messages of the refusals in a folder, with %s for what varies.
func messages(t *testing.T, dir string) map[string]found {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %d files", dir, err, len(files))
	}
	all := map[string]found{}
	for _, path := range files {
		if !strings.HasSuffix(path, "_test.go") {
			addMessages(t, all, path, slices.Contains(faces, dir))
		}
	}
	return all
}

// addMessages adds the messages in a file. Those of a face count only where they refuse.
func addMessages(t *testing.T, all map[string]found, path string, face bool) {
	t.Helper()
	fset := token.NewFileSet()
	file := require.Must(parser.ParseFile(fset, path, nil, 0))
	add := func(n ast.Node, code string, ok func(string) bool) bool {
		e, _ := n.(ast.Expr)
		text, literal := varying(e)
		if literal && ok(text) && all[text].code == "" {
			all[text] = found{fset.Position(n.Pos()).String(), code}
		}
		return literal
	}
	addAll := func(kind string, list []ast.Expr) {
		code := ""
		if slices.Contains([]string{"Detail", "invalid", "InvalidField"}, kind) {
			code = "ValidationFailed"
		}
		for i, e := range list {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				list[i] = kv.Value
			}
			if name := nameOf(list[i]); slices.Contains(codes(t), name) {
				code = name
			}
		}
		for _, e := range list {
			add(e, code, func(s string) bool { return strings.Contains(s, " ") })
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				if words := reflect.StructTag(tag).Get("words"); words != "" {
					all[words] = found{fset.Position(n.Pos()).String(), "ValidationFailed"}
				}
			}
			return false
		case *ast.KeyValueExpr:
			if name := nameOf(n.Key); name == "Doc" || name == "Title" || name == "Codes" {
				return false
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == "Codes" { // of kernel, for the documents
				return false
			}
		case *ast.CompositeLit:
			if kind := nameOf(n.Type); slices.Contains(refusers, kind) {
				addAll(kind, slices.Clone(n.Elts))
			}
		case *ast.CallExpr:
			switch name := nameOf(n.Fun); {
			case slices.Contains([]string{"only", "reads", "manages", "programAction", "presentation", "locationSwitch"},
				name): // documents
				return false
			case name != "Error" && slices.Contains(refusers, name): // Error is of a log
				addAll(name, slices.Clone(n.Args))
			}
		}
		return !add(n, "", func(s string) bool { return !face && looksLike.MatchString(s) })
	})
}

// codes returns the names of all codes.
var codes = func() func(t *testing.T) []string {
	var names []string
	return func(t *testing.T) []string {
		if names != nil {
			return names
		}
		file := require.Must(parser.ParseFile(token.NewFileSet(), "../../store/errors.go", nil, 0))
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && nameOf(spec.Type) == "Code" {
				names = append(names, spec.Names[0].Name)
			}
			return true
		})
		return names
	}
}()

// nameOf returns the name of a function or a type, without its package, or that of the items of
// a slice.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ArrayType:
		return nameOf(e.Elt)
	case *ast.UnaryExpr:
		return nameOf(e.X)
	}
	return ""
}

// varying returns the text of an expression that has a literal in it, with %s for the rest.
func varying(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e)
	case *ast.BinaryExpr:
		a, ok := varying(e.X)
		b, also := varying(e.Y)
		if !ok {
			a = "%s"
		}
		if !also {
			b = "%s"
		}
		return a + b, (ok || also) && e.Op == token.ADD
	case *ast.CallExpr:
		switch nameOf(e.Fun) {
		case "plural": // of wire, which adds an s
			unit, ok := literal(e.Args[1])
			return unit + "s", ok
		case "Sprintf":
			return varying(e.Args[0])
		}
	}
	return "", false
}

// samples returns what a message may be: what varies is a number, a word or a text.
func samples(message string) (list []string) {
	for _, part := range []string{"7", "word", "some text"} {
		list = append(list, strings.NewReplacer("%d", "7", "%s", part).Replace(message))
	}
	if one, ok := strings.CutSuffix(list[0], "s"); ok {
		list = append(list, strings.Replace(one, "7", "1", 1))
	}
	return list
}

// notOnPages are the messages of refusals that no page shows, by the reason.
var notOnPages = map[string][]string{
	"no refusal": {
		"This is a test delivery; nothing happened in the shop.",
		"has been rotated before", "has expired", "is revoked", // in "The key cannot be rotated: it %s."
		"has reached its greatest age", "has waited too long for the second factor", // of sessions, for the log
		"has the %s, which is not punchcard's", "is being restored", "has an older schema", // of files, at the start
		"must be host names or addresses without a port, such as punchcard or 192.168.1.5, not %q", // of --allow-host
	},
	"phones and their wallets read it": {
		"The shop has no passes for Apple Wallet.",
		"The shop has not set up Google Wallet.",
		"Google Wallet cannot be reached now. Try again in a few minutes.", // the page has a sentence of its own for this status
		"The keys of Google cannot be fetched, so the callback cannot be verified now.",
		"This is no callback that Google has signed for an issuer of this server.",
		"the body is no JSON object of a callback", "without JSON", "without a token", // for the log
		"This serial number and token are of no pass.",
		"must be letters and digits",
		"the body must be JSON with a pushToken",
	},
	"the browser is led to the page where it can be done": {
		"Sign in first.",
		"Give the code of your second factor first.",
		"The shop demands a second factor. Set it up first.",
		"Give your password or a code of your second factor again.",
	},
	"for keys": {
		"A location-restricted key cannot read this: it is not made of transactions alone.",
		"Every location of this key is disabled.",
		"Keys may not do this.",
		"Send one Authorization header, not several.",
		"The Authorization header must be: Bearer and your key.",
		"The key is %s.",
		"The key is malformed; %s",
		"This is %s; %s",
		"The key lacks the scope %s.",
		"The shop's subscription is %s. The key is intact.",
		"The shop has no active Business API add-on. The key is intact and works again once it has.",
		"The shop may not use the MCP connector. The key is intact.",
		"This key is restricted to locations and cannot change location_scope or scoped_location_ids.",
		"This key is restricted to locations where the program's cards do not work.",
		"This key is restricted to locations: location_ids must name some, all of them its own, and include_shop_wide_events must " +
			"be false.",
		"This key is restricted to other locations.",
		"must be a phone number as E.164; write the + as %2B",
	},
	"for assistants": {
		"It was changed since the impact was shown. Call again without confirm_token.",
		"The webhook is inactive; a person can activate it in the dashboard.",
		"must be last_seen with not_seen_days",
	},
	"for commands": {
		"No card has this email or phone number.", "More than %d cards have this email or phone number. Export all data of the shop.",
		"must be an email or a phone number, such as +390612345678", "is required, or card_ids", "must not be given beside person",
		"Sign in to send a test message: it goes to your own address.",
		"The file has no shop yet.",
		"The file has several shops.",
		"Another shop has this host in its public URL.",
		"is required: the passes on phones keep the present public URL for ever (%d)",
		"must be https:// and the name of a host on the internet, without a path, such as https://cards.example.com",
		"The move was aborted meanwhile.", "The shop has moved to %s already.", "The shop is being moved to %s already.",
		"The shop is not being moved.", "The shop has not moved.", "must not be the public URL of this server",
		"No more shops can be moved out of this file: too many were.",
		"The program has amounts in %s, and the other shop's currency is %s: make the program there by hand.",
	},
	"for scripts of pages, which have a sentence for each code (server/tillpage/assets/refusals.js) or try again": {
		"The card has %d codes of earlier cards, which is the maximum.", "The card has a holder already.",
		"The code of an earlier card takes a prize, money or a holder only where staff sign in or the location asks for its PIN. Set a " +
			"PIN for the location, sign in, or use the card's own code.",
		"A prize of this threshold was redeemed already.",
		"The PIN is wrong.", "The card expired on %s.",
		"The client_reference was used for another action or another card.",
		"The device has searched too often; scan the card's code or type it.",
		"The location demands a staff PIN but none is set; set one with: punchcard location set-pin.",
		"The location demands a signed-in member of staff but nobody can sign in there; add a person with: punchcard staff add.",
		"The location demands a signed-in member of staff: sign in with POST /session and send the token as X-Staff-Session.",
		"The location demands the staff PIN: send it as X-Staff-Pin.", "The prize needs %d stamps; the card has %d.",
		"The program demands a purchase: give spend_cents.",
		"The program demands no purchase: spend_cents is not allowed.",
		"The program gives a card at most %d stamps a day; this one has %d of today.", "The program is suspended.",
		"The purchase is below the %d cents that a stamp demands.",
		"The staff PIN is wrong.", "The staff session has ended. Sign in with your PIN again.",
		"This device cannot use a card's id to write; send the content of the QR code, or the short code.",
		"This location is disabled.", "Too many pages are open.",
		"Too many unknown codes; for a minute the device takes none but the card's own QR code.",
		"Too many wrong codes. Try again later, or use the link.",
		"must be an uncompressed point on P-256 in base64url", "must be 16 bytes in base64url",
		"Too many wrong staff PINs at this location; it takes none for five minutes.",
		"Too many wrong staff PINs; the device is locked for a minute.",
		"must be a UUID such as 0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c11", "must be at most 7 days ago",
		"must be the id of a %s", "must not be given with token",
	},
	"for bodies of JSON and queries of programs; pages make them": {
		"The Content-Type must be application/json.", "The database takes no writes.",
		"The fixture could not be reset, and answers nothing before POST /dev/reset succeeds: %s",
		"The fixture has ended.", "The body could not be read to its end.",
		"The charset of the Content-Type must be utf-8.", "appears twice",
		"has a number that is out of the range of a double", "must be a string", "must be an array of objects",
		"must be an array of strings", "must be an object", "must be an object of strings",
		"must be at most %s bytes of JSON", "must be sent once", "must not be empty", "must not be null",
		"must not be repeated", "the body is not valid JSON", "the body is not valid JSON: %s at byte %d",
		"the body must be a JSON object", "the body must not be nested deeper than %d levels",
		"the query string is malformed",
	},
}

// codesNotOnPages are the codes that no page receives, or for which scripts have a sentence.
var codesNotOnPages = []string{
	"BusinessAPIRequired", "MCPAccessRequired", "LocationScopeUnsupported", // keys
	"Unauthenticated", "ProofRequired", "TOTPRequired", // the browser is led to the page where it can be done
	"AmountBelowMinStamp", "CardSuspended", "SpendNotEnabled", "SpendRequired", "ThresholdAlreadyClaimed", // tills
}

// TestRefusals checks that every refusal and every code that a page can receive has a text of
// its own, and that each text has a refusal.
func TestRefusals(t *testing.T) {
	all := map[string]found{}
	for _, dir := range refusing {
		maps.Copy(all, messages(t, dir))
	}
	for _, list := range notOnPages {
		for _, message := range list {
			if _, ok := all[message]; !ok {
				t.Errorf("no refusal says %q any more", message)
			}
			if found, _ := lookUp(message); found != nil {
				t.Errorf("%q has a text and is said to be on no page", message)
			}
			delete(all, message)
		}
	}
	used, said := map[*refusalPattern]bool{}, map[string]bool{}
	for _, message := range slices.Sorted(maps.Keys(all)) {
		hasText := false
		for _, sample := range samples(message) {
			if found, _ := lookUp(sample); found != nil {
				hasText, used[found], said[all[message].code] = true, true, true
			}
		}
		if !hasText {
			t.Errorf("%s: pages have no text for %q", all[message].where, message)
		}
	}
	for i, r := range refusals() {
		if !used[&refusals()[i]] {
			t.Errorf("no refusal says %q", r.message)
		}
	}
	for _, code := range codes(t) {
		if said[code] == slices.Contains(codesNotOnPages, code) {
			t.Errorf("pages have texts for the code %s: %v", code, said[code])
		}
	}
}

// TestRefusedParts checks that numbers are written as in the language, and that codes, which may be digits alone, stay as they are.
func TestRefusedParts(t *testing.T) {
	p := PrinterFor("de")
	for message, want := range map[string]string{
		"Another card has the code 0036000291452.": "Eine andere Karte hat den Code 0036000291452.",
		"must be at most 1000000":                  "Geben Sie höchstens 1.000.000 ein.",
	} {
		if got := p.Refused(message, ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
