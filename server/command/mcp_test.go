package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestRelay relays the messages of a client that speaks stdio to a server: each request has
// one line of answer, whatever becomes of it, and notifications have none.
func TestRelay(t *testing.T) {
	s := servertest.Start(t)
	var out bytes.Buffer
	relayTo := func(url, key, in string) map[string]map[string]any {
		t.Helper()
		out.Reset()
		r := &relay{url: url, key: key, client: &http.Client{Timeout: servertest.Patience}, out: &out}
		noError(t, r.run(strings.NewReader(in)))
		answers := map[string]map[string]any{}
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			answers[fmt.Sprint(m["id"])] = m
		}
		return answers
	}
	const client = `{"name":"test","version":"1"}`
	in := `{"jsonrpc":"2.0","id":"first","method":"initialize",` +
		`"params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":` + client + `}}
{"jsonrpc":"2.0","method":"notifications/initialized"}

{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_overview","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_overview","arguments":{},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":` + client + `}}}
[{"jsonrpc":"2.0","id":5,"method":"ping"}]
{"jsonrpc":"2.0","id":6,"method":"no/such"}
`
	answers := relayTo(s.Origin+"/mcp", s.MCPKey, in)
	for _, id := range []string{"first", "2", "3", "4"} {
		if answers[id]["result"] == nil {
			t.Errorf("%s: %v", id, answers[id])
		}
	}
	if answers["6"]["error"] == nil || len(answers) != 5 {
		t.Errorf("%d answers: %s", len(answers), out.String())
	}
	if a := relayTo(s.Origin+"/mcp", "tmk_test_wrong", in); a["3"]["error"] == nil || strings.Contains(out.String(), "tmk_test_wrong") {
		t.Errorf("with a wrong key: %s", out.String())
	}
	if a := relayTo(s.Origin+"/nothing", s.MCPKey, in); a["3"]["error"] == nil || len(a) != 5 {
		t.Errorf("at another path: %s", out.String())
	}
	s.Stop()
	if a := relayTo(s.Origin+"/mcp", s.MCPKey, in); a["3"]["error"] == nil || strings.Contains(out.String(), s.MCPKey) {
		t.Errorf("without a server: %s", out.String())
	}
}
