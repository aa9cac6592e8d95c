package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// MCP is the command that connects an assistant which speaks stdio to the endpoint of a
// server: each line of standard input is one message, and so is each line of standard output.
// It adds the key and keeps nothing.
type MCP struct {
	URL string `name:"url" required:"" env:"PUNCHCARD_MCP_URL" placeholder:"URL" help:"The endpoint, such as https://cards.example.com/mcp."`
}

// The bounds of a relay.
const (
	relayLine    = 2 << 20 // bytes of one message
	relayTimeout = 90 * time.Second
	relayAtOnce  = 8 // messages that wait for their answers
)

// Run relays until standard input ends, and then waits for the answers.
func (c *MCP) Run() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("--url (PUNCHCARD_MCP_URL): must be the http or https URL of the endpoint, such as https://cards.example.com/mcp")
	}
	key := os.Getenv("PUNCHCARD_MCP_KEY") // no flag, since other programs can read arguments
	if !strings.HasPrefix(key, "tmk_") {
		return fmt.Errorf("PUNCHCARD_MCP_KEY: must be a key beginning tmk_")
	}
	r := &relay{url: c.URL, key: key, out: os.Stdout, client: &http.Client{Timeout: relayTimeout, CheckRedirect: noRedirect}}
	return r.run(os.Stdin)
}

// relay sends messages to an endpoint.
type relay struct {
	url, key string
	client   *http.Client

	mu      sync.Mutex // guards out and version
	out     io.Writer
	version string // of the protocol, from the answer to initialize
}

// run relays the lines of a reader.
func (r *relay) run(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), relayLine)
	var waiting sync.WaitGroup
	free := make(chan struct{}, relayAtOnce)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		line = bytes.Clone(line)
		var m relayed
		json.Unmarshal(line, &m) // the server refuses what is no message
		if m.Method == "initialize" || m.ID == nil {
			r.send(line, m) // what follows depends on it
			continue
		}
		free <- struct{}{}
		waiting.Go(func() {
			r.send(line, m)
			<-free
		})
	}
	waiting.Wait()
	return lines.Err()
}

// relayed is what a relay needs to know of a message.
type relayed struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// send sends a message and writes the answer. A request that the server cannot be asked, or
// does not answer with a message, gets an error.
func (r *relay) send(line []byte, m relayed) {
	status, body, err := r.post(line, m)
	switch {
	case err != nil:
		r.fail(m, "The server cannot be reached: "+err.Error())
	case isMessage(body):
		if m.Method == "initialize" {
			r.noteVersion(body)
		}
		if m.ID != nil {
			r.write(body)
		}
	case m.ID != nil:
		r.fail(m, fmt.Sprintf("The server answered %d and no message.", status))
	}
}

// isMessage reports whether a body is a message of JSON-RPC.
func isMessage(body []byte) bool {
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(body, &m) == nil && m.Version == "2.0"
}

// post sends a message with the headers that the protocol demands.
func (r *relay) post(line []byte, m relayed) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url, bytes.NewReader(line))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("User-Agent", "punchcard-mcp")
	r.mu.Lock()
	version := r.version
	r.mu.Unlock()
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
		req.Header.Set("Mcp-Method", m.Method)
		switch m.Method {
		case "tools/call", "prompts/get":
			req.Header.Set("Mcp-Name", m.Params.Name)
		case "resources/read":
			req.Header.Set("Mcp-Name", m.Params.URI)
		}
	}
	if version != "" && m.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, relayLine))
	return resp.StatusCode, body, err
}

// noteVersion keeps the version of the protocol that the server has chosen.
func (r *relay) noteVersion(body []byte) {
	var answer struct {
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	json.Unmarshal(body, &answer)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = answer.Result.Version
}

// fail answers a request with an error. A notification gets none.
func (r *relay) fail(m relayed, message string) {
	if m.ID == nil {
		return
	}
	text, _ := json.Marshal(message)
	r.write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32000,"message":` + string(text) + `}}`))
}

// write writes a message as one line.
func (r *relay) write(body []byte) {
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		return
	}
	line.WriteByte('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Write(line.Bytes())
}
