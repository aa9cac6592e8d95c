package mcp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

type fields = servertest.Fields

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { servertest.Main(m, nil) }

// start serves a new demo shop that sends no webhooks. Its clock stands still.
func start(t testing.TB, options ...func(*app.Config)) *assistant {
	t.Helper()
	servertest.Parallel(t)
	s := servertest.Start(t, append([]func(*app.Config){servertest.Frozen, func(c *app.Config) {
		c.HoldWebhooks = true
		c.Limits.MCPKeyRateLimitPerMinute, c.Limits.MCPKeyDailyCallBudget = 0, 0
	}}, options...)...)
	return &assistant{Server: s, key: s.MCPKey}
}

// assistant is a client of /mcp with a key.
type assistant struct {
	*servertest.Server
	key string
	id  int
}

// with returns an assistant with another key.
func (a *assistant) with(key string) *assistant { return &assistant{Server: a.Server, key: key} }

// newKey returns an assistant with a new key.
func (a *assistant) newKey(body fields) *assistant {
	a.T.Helper()
	return a.with(a.Control("POST", "/keys", servertest.Merge(body, fields{"class": "mcp"})).Str("key"))
}

// headers returns the headers of every request.
func (a *assistant) headers() http.Header {
	return http.Header{
		"Authorization": {"Bearer " + a.key},
		"Content-Type":  {"application/json"},
		"Accept":        {"application/json, text/event-stream"},
	}
}

// send sends a body, with headers that change, if it is not nil, has changed.
func (a *assistant) send(body string, change func(http.Header)) *servertest.Reply {
	a.T.Helper()
	h := a.headers()
	if change != nil {
		change(h)
	}
	return a.Fetch("POST", a.Origin+"/mcp", []byte(body), h)
}

// rpc calls a method and returns the answer, which must be one of JSON-RPC.
func (a *assistant) rpc(method string, params any) (reply *servertest.Reply, result map[string]any, fault map[string]any) {
	a.T.Helper()
	a.id++
	body := require.Must(json.Marshal(fields{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params}))
	reply = a.send(string(body), nil)
	var answer struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Result  map[string]any `json:"result"`
		Error   map[string]any `json:"error"`
	}
	if err := json.Unmarshal(reply.Body, &answer); err != nil || answer.JSONRPC != "2.0" || fmt.Sprint(answer.ID) != fmt.Sprint(a.id) ||
		(answer.Result == nil) == (answer.Error == nil) {
		a.T.Fatalf("%s: %d %s (%v)", method, reply.Status, reply.Body, err)
	}
	return reply, answer.Result, answer.Error
}

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 20_000

// outcome is the result of a tool.
type outcome struct {
	t     testing.TB
	what  string
	fails bool
	data  map[string]any
	text  string
	meta  map[string]any
}

// call calls a tool, which must answer with a result.
func (a *assistant) call(tool string, args any) *outcome {
	a.T.Helper()
	if args == nil {
		args = fields{}
	}
	_, result, fault := a.rpc("tools/call", fields{"name": tool, "arguments": args})
	if fault != nil {
		a.T.Fatalf("%s %v: %v", tool, args, fault)
	}
	return a.outcome(fmt.Sprintf("%s %v", tool, args), result)
}

// outcome checks what every result of a tool has: one text, which is the structure as JSON, of at
// most maxAnswer bytes.
func (a *assistant) outcome(what string, result map[string]any) *outcome {
	a.T.Helper()
	o := &outcome{t: a.T, what: what}
	o.fails, _ = result["isError"].(bool)
	o.data, _ = result["structuredContent"].(map[string]any)
	o.meta, _ = result["_meta"].(map[string]any)
	content, _ := result["content"].([]any)
	if len(content) != 1 || o.data == nil {
		a.T.Fatalf("%s: %v", what, result)
	}
	o.text, _ = content[0].(map[string]any)["text"].(string)
	var same map[string]any
	if err := json.Unmarshal([]byte(o.text), &same); err != nil || fmt.Sprint(same) != fmt.Sprint(o.data) {
		a.T.Errorf("%s: the text is %s\nbut the structure %v (%v)", what, o.text, o.data, err)
	}
	if len(o.text) > maxAnswer {
		a.T.Errorf("%s: the answer has %d bytes", what, len(o.text))
	}
	return o
}

// ok fails the test if the tool has refused.
func (o *outcome) ok() *outcome {
	o.t.Helper()
	if o.fails {
		o.t.Fatalf("%s: %s", o.what, o.text)
	}
	return o
}

// refused fails the test unless the tool has refused with a code. It returns the fields and
// codes of the details.
func (o *outcome) refused(code string) string {
	o.t.Helper()
	if !o.fails || o.data["code"] != code {
		o.t.Fatalf("%s: want %s, got %s", o.what, code, o.text)
	}
	var list []string
	details, _ := o.data["details"].([]any)
	for _, d := range details {
		list = append(list, fmt.Sprint(d.(map[string]any)["field"], " ", d.(map[string]any)["code"]))
	}
	return strings.Join(list, ", ")
}

// at returns the value at a path such as data.0.id.
func (o *outcome) at(path string) any {
	o.t.Helper()
	var v any = o.data
	for _, part := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			n := 0
			if _, err := fmt.Sscan(part, &n); err != nil || n >= len(x) {
				o.t.Fatalf("%s: nothing at %s in %s", o.what, path, o.text)
			}
			v = x[n]
		default:
			o.t.Fatalf("%s: nothing at %s in %s", o.what, path, o.text)
		}
	}
	return v
}

// str returns the text at a path.
func (o *outcome) str(path string) string {
	o.t.Helper()
	s, ok := o.at(path).(string)
	if !ok {
		o.t.Fatalf("%s: no text at %s in %s", o.what, path, o.text)
	}
	return s
}

// rows returns how many rows the answer has.
func (o *outcome) rows() int {
	list, _ := o.data["data"].([]any)
	return len(list)
}

// shows checks that the tool has not refused, and the values at paths of the answer, which come in
// pairs. "rows" stands for the number of rows.
func (o *outcome) shows(pairs ...any) {
	o.t.Helper()
	o.ok()
	for i := 0; i < len(pairs); i += 2 {
		var have any = o.rows()
		if path := pairs[i].(string); path != "rows" {
			have = o.at(path)
		}
		if fmt.Sprint(have) != fmt.Sprint(pairs[i+1]) {
			o.t.Errorf("%s: %v is %v, want %v: %s", o.what, pairs[i], have, pairs[i+1], o.text)
		}
	}
}

// newWebhook makes a webhook of a program and returns its id.
func (a *assistant) newWebhook(program string, more fields) string {
	a.T.Helper()
	body := servertest.Merge(fields{"url": "https://example.com/in", "events": []string{"*"}}, more)
	return a.REST().Post("/programs/"+program+"/webhooks", body).NewID()
}

// count returns the number of rows of a table that a condition selects.
func (a *assistant) count(rows string) string {
	a.T.Helper()
	return a.Value("SELECT count(*) FROM " + rows)
}
