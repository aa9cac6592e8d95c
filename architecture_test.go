package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport lists, for each package of the module, the packages of the module
// that it may import. There is no cycle, and no face imports another face.
var mayImport = map[string]string{
	"":       "server/command",
	"deploy": "",
	"server/command": "deploy server/api server/app server/dev server/dev/seed server/kernel server/mail server/metrics " +
		"server/openapi server/operation server/qr server/sheet server/templates server/till server/wallet " +
		"server/wallet/google server/web server/wire store store/backup store/file store/money webhook",
	"server/app": "server/api server/background server/dashboard server/dev server/dev/seed server/holder server/kernel server/mcp " +
		"server/openapi server/operation server/till server/tillpage server/wallet server/wallet/apple " +
		"server/wallet/google server/wallet/wallettest server/web server/wire store store/backup store/file " +
		"webhook",
	"server/punchtest": "server/app server/dev server/dev/seed webhook",
	"server/servertest": "server/api server/app server/dev/seed server/kernel server/servertest/require server/till " +
		"store store/password store/sqlite",
	"server/servertest/require": "",
	"server/api":                "server/kernel server/openapi server/operation store",
	"server/till":               "server/kernel server/openapi server/operation store",
	"server/holder": "server/kernel server/logo server/operation server/qr server/static server/wallet server/web " +
		"server/wire store",
	"server/mcp":      "server/kernel server/operation server/wire store store/event",
	"server/tillpage": "server/kernel server/operation server/static server/web store",
	"server/dashboard": "server/kernel server/logo server/operation server/qr server/sheet server/static server/templates " +
		"server/web server/wire store store/backup store/money store/event webhook",
	"server/dev": "server/dev/seed server/mail/mailtext server/kernel server/openapi server/operation " +
		"server/wallet/wallettest server/web server/wire store",
	"server/dev/seed": "server/operation server/wallet/wallettest server/wire store",
	"server/openapi":  "server/kernel server/wire store store/event",
	"server/operation": "server/kernel server/logo server/qr server/sheet server/wallet server/wallet/apple " +
		"server/wallet/google server/web server/wire store store/money store/password store/phone",
	"server/kernel":            "server/static server/wire store store/password",
	"server/wire":              "store store/event",
	"server/mail":              "server/background server/mail/mailtext store",
	"server/mail/mailtest":     "",
	"server/mail/mailtext":     "store",
	"server/background":        "",
	"server/metrics":           "store",
	"server/qr":                "",
	"server/logo":              "",
	"server/static":            "",
	"server/templates":         "server/web store",
	"server/wallet":            "server/background server/wallet/apple server/wallet/google server/wallet/request server/web store webhook",
	"server/wallet/apple":      "server/logo",
	"server/wallet/google":     "server/wallet/request",
	"server/wallet/request":    "",
	"server/wallet/wallettest": "",
	"server/web":               "server/static store/money",
	"server/bench/load":        "server/dev/seed store store/sqlite webhook",
	"server/bench/life":        "server/wallet/wallettest store/sqlite",
	"server/bench/year":        "server/dev/seed store store/sqlite",
	"webhook":                  "store",
	"store/backup":             "store store/file store/sqlite",
	"store":                    "store/event store/file store/money store/password store/phone store/sqlite",
	"store/sqlite":             "",
	"store/event":              "",
	"store/file":               "",
	"store/money":              "",
	"store/password":           "",
	"store/phone":              "",
	"server/sheet":             "store",
}

// TestImports checks that every package imports only what mayImport permits.
// server/README.md draws these imports.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(words[0], "punchcard"), "/")
		allowed, known := mayImport[pkg]
		seen[pkg] = true
		if !known && pkg != "server/e2e" { // which has tests only
			t.Errorf("package %s is not in the table", pkg)
		}
		for _, path := range words[1:] {
			switch own, ok := strings.CutPrefix(path, "punchcard/"); {
			case ok && !slices.Contains(strings.Fields(allowed), own):
				t.Errorf("%s imports %s", pkg, own)
			case (strings.Contains(path, "zombiezen.com/") || strings.Contains(path, "modernc.org/")) &&
				pkg != "store/sqlite" && pkg != "server/servertest": // which reads files beside a server
				t.Errorf("%s imports %s, which only store/sqlite may", pkg, path)
			}
		}
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("there is no package %s", pkg)
		}
	}
}
