package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestHostileMessages sends messages that are valid JSON-RPC and ask for what is not there, or
// have values that no client sends. Each gets one answer with its id, and the server goes on. An id
// that no answer could repeat is refused.
func TestHostileMessages(t *testing.T) {
	a := start(t)
	ids := []string{`1`, `"x"`, `0`, `-1`, `""`, `"\ud83d\ude00"`}
	deep := strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000)
	for method, all := range map[string][]string{
		"resources/read": {
			`{"uri":"punchcard://nothing"}`, `{"uri":"file:///etc/passwd"}`, `{"uri":"punchcard://programs/"}`,
			`{"uri":"punchcard://programs/%00"}`, `{"uri":"punchcard://programs/prg_x/../shop"}`, `{"uri":""}`, `{"uri":null}`,
			`{"uri":7}`, `{"uri":["n0thing"]}`, `{}`, ``,
		},
		"prompts/get": {
			`{"name":"n0thing"}`, `{"name":"weekly_report","arguments":null}`, `{"name":"weekly_report","arguments":[]}`,
			`{"name":"weekly_report","arguments":{"x":"y"}}`, `{"name":"weekly_report","arguments":{"x":["n0thing"]}}`, `{"name":null}`,
			`{}`, ``,
		},
		"tools/call": {`{"name":"n0thing"}`, `{"name":"get_overview","arguments":null}`, `{"name":"get_overview","arguments":[]}`,
			`{"name":"get_overview","arguments":"{}"}`, `{"name":"get_overview","arguments":` + deep + `}`, `{"name":null}`, `{}`, ``,
			`{"name":"find_cards","arguments":{"limit":1e400}}`,
			`{"name":"find_cards","arguments":{"limit":-9223372036854775809}}`,
			`{"name":"find_cards","arguments":{"cursor":"\u202e\u0000"}}`,
			`{"name":"get_overview","inputResponses":{"confirm":{"action":7}}}`,
			`{"name":"get_overview","inputResponses":{"confirm":null}}`,
			`{"name":["n0thing"]}`, `{"name":"get_overview","inputResponses":[],"requestState":7}`, `{"name":"get_overview","_meta":7}`,
			`{"name":"get_overview","_meta":{"progressToken":{}}}`,
			`{"name":"get_overview","_meta":{"io.modelcontextprotocol/protocolVersion":7}}`,
			`{"name":"get_overview","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			`{"name":"get_overview","_meta":{"io.modelcontextprotocol/clientCapabilities":7}}`},
		"initialize": {
			`{}`, `{"protocolVersion":7}`, `{"protocolVersion":["n0thing"]}`, `{"protocolVersion":"1999-01-01"}`,
			`{"protocolVersion":"2025-06-18","capabilities":null,"clientInfo":null}`, ``,
		},
		"tools/list":               {`{"cursor":"x"}`, `{"cursor":7}`, `{"_meta":null}`},
		"resources/list":           {`{"cursor":"x"}`},
		"resources/templates/list": {`{"cursor":"x"}`},
		"prompts/list":             {`{"cursor":"x"}`},
		"server/discover":          {`{}`, ``, `{"_meta":7}`},
		"ping":                     {`{"_meta":null}`, ``},
	} {
		for i, params := range all {
			id := ids[i%len(ids)]
			body := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`
			if params != "" {
				body += `,"params":` + params
			}
			r := a.send(body+"}", nil)
			text := string(r.Body)
			if !strings.Contains(text, `"jsonrpc":"2.0"`) || strings.Contains(text, "panic") ||
				strings.Contains(text, "internal_error") ||
				r.Status >= 500 {
				t.Fatalf("%.300s: %d %.300s", body, r.Status, text)
			}
			var answer struct{ ID any }
			var sent any
			if json.Unmarshal([]byte(id), &sent); json.Unmarshal(r.Body, &answer) != nil || answer.ID != sent {
				t.Errorf("%.300s: the id of the answer is %v: %.300s", body, answer.ID, text)
			}
			if strings.Contains(text, "n0thing") {
				t.Fatalf("%s: the answer repeats the name: %s", body, text)
			}
		}
	}
	r := a.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_overview","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`, func(h http.Header) {
		h.Set("Mcp-Protocol-Version", "2026-07-28")
		h.Set("Mcp-Method", "tools/call")
		h.Set("Mcp-Name", "n0thing")
	})
	if text := string(r.Body); r.Status != 400 || !strings.Contains(text, `"code":-32020`) || strings.Contains(text, "n0thing") {
		t.Errorf("a header that differs from the body: %d %s", r.Status, text)
	}
	for id, want := range map[string]int{`1`: 200, `-7`: 200, `"a"`: 200, `9007199254740992`: 200, `9007199254740993`: 400, `1.5`: 400,
		`1e400`: 400, `123456789012345678901234567890`: 400,
		`null`: 400, `true`: 400, `[1]`: 400, `{"a":1}`: 400, `"` + strings.Repeat("x", 1000) + `"`: 200} {
		r := a.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, nil)
		if r.Status != want || want == 200 && !strings.Contains(string(r.Body), fmt.Sprintf(`"id":%s`, id)) {
			t.Errorf("%.40s: %d %.200s", id, r.Status, r.Body)
		}
	}
	a.call("get_overview", nil).ok()
}
