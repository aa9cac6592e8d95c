package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/openapi"
	"punchcard/server/till"
)

var update = flag.Bool("update", false, "write the golden documents")

// TestGoldenDocuments compares the three documents, with the server's own limits, with the
// files in testdata/openapi, which show each change of a route, field, limit or code in a diff:
//
//	go test ./server/openapi -run TestGoldenDocuments -update
func TestGoldenDocuments(t *testing.T) {
	limits := app.DefaultLimits().Fields()
	const origin = "https://cards.example.com"
	for name, doc := range map[string]*openapi.Document{
		"rest": openapi.New(api.About, api.Routes(), limits, origin+api.Prefix, nil),
		"till": openapi.New(till.About, till.Routes(), limits, origin+till.Prefix, nil),
		"dev":  openapi.New(dev.About, dev.Routes(), limits, origin+dev.Prefix, nil),
	} {
		var got bytes.Buffer
		if err := json.Indent(&got, doc.JSON(), "", " "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		file := filepath.Join("../../testdata/openapi", name+".json")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		have, wanted := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
		for i, line := range have {
			if i >= len(wanted) || !bytes.Equal(line, wanted[i]) {
				t.Errorf("%s:%d differs, from %s on; -update writes what is documented now", file, i+1, line)
				break
			}
		}
		if len(have) < len(wanted) {
			t.Errorf("%s has %d lines, want %d", file, len(wanted), len(have))
		}
	}
}
