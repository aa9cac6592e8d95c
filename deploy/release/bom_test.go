package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBillOfMaterials checks that the list has what is in the binary, with versions and
// dependencies, and is the same each time, and that no license is missing.
func TestBillOfMaterials(t *testing.T) {
	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{version: "1.2.3", targets: []string{"linux/amd64", "windows/amd64"}, commit: "c0ffee", time: time.Unix(1_800_000_000, 0).UTC()}
	modules, err := r.readModules(sources)
	if err != nil {
		t.Fatal(err)
	}
	bom, err := r.billOfMaterials(modules)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := r.billOfMaterials(modules); !bytes.Equal(again, bom) {
		t.Error("the list differs when it is made again")
	}
	var got document
	if err := json.Unmarshal(bom, &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Metadata.Component; c.Ref != "pkg:golang/punchcard@v1.2.3" || c.Type != "application" || got.Metadata.Timestamp != "2027-01-15T08:00:00Z" || c.Properties[0].Value != "c0ffee" {
		t.Errorf("%+v", got.Metadata)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got.Serial) {
		t.Errorf("the serial number is %s", got.Serial)
	}
	known, needs := map[string]string{}, map[string][]string{}
	for _, c := range got.Components {
		if c.Version == "" || !strings.HasSuffix(c.PURL, "@"+c.Version) {
			t.Errorf("%+v", c)
		}
		known[c.Ref] = c.Name
	}
	for _, d := range got.Dependencies {
		needs[known[d.Ref]] = d.DependsOn
		for _, ref := range d.DependsOn {
			if known[ref] == "" {
				t.Errorf("%s needs %s, which is not in the list", d.Ref, ref)
			}
		}
	}
	if len(needs["modernc.org/sqlite"]) == 0 {
		t.Error("modernc.org/sqlite needs nothing")
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"modernc.org/sqlite", "github.com/alecthomas/kong", "github.com/julienschmidt/httprouter", "golang.org/x/sys", "std", "zxing-wasm"} {
		found := false
		for _, c := range got.Components {
			found = found || c.Name == path && (!strings.Contains(path, "/") || bytes.Contains(mod, []byte(path+" v"+strings.TrimPrefix(c.Version, "v"))))
		}
		if !found {
			t.Errorf("%s is not in the list with the version of go.mod", path)
		}
	}
	for _, path := range []string{"github.com/chromedp/chromedp", "github.com/getkin/kin-openapi"} {
		for _, name := range known {
			if name == path {
				t.Errorf("%s is in the list, and is used by tests alone", path)
			}
		}
	}
	licenses, err := licenseText(modules)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		if !bytes.Contains(licenses, []byte("\n"+name+" ")) {
			t.Errorf("the license of %s is missing", name)
		}
	}
}
