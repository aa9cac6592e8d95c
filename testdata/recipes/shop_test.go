// A test that starts the binary, with what the standard library has. A test in a module that
// requires punchcard needs no binary: see server/punchtest.
//
//	PUNCHCARD=$PWD/punchcard go test testdata/recipes/shop_test.go
package shop

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fixture has the fields of the ready line that this test needs.
type fixture struct {
	BaseURL    string            `json:"base_url"`
	Origin     string            `json:"origin"`
	APIKey     string            `json:"api_key"`
	ProgramIDs map[string]string `json:"program_ids"`
}

// start starts the server. It ends with the test, and also if the process of the test is killed,
// since the system then closes the pipe of its standard input.
func start(t *testing.T) (f fixture) {
	t.Helper()
	cmd := exec.Command(cmp.Or(os.Getenv("PUNCHCARD"), "../../punchcard"), "dev", "--listen", "127.0.0.1:0", "--exit-with-stdin")
	var log bytes.Buffer
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v:\n%s", err, &log)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n') // no port is guessed, nothing sleeps
	if err == nil {
		err = json.Unmarshal(line, &f)
	}
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	return f
}

func TestIssue(t *testing.T) {
	f := start(t)
	req, err := http.NewRequest("POST", f.BaseURL+"/programs/"+f.ProgramIDs["standard"]+"/cards",
		strings.NewReader(`{"holder_name": "Ada"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + f.APIKey}, "Content-Type": {"application/json"}}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Errorf("the card was answered %s", answer.Status)
	}
}
