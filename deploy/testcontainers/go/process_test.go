package punchcard_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	punchcard "example.com/punchcard/testcontainers"
	"github.com/testcontainers/testcontainers-go"
)

// start starts the command of a container as a process, with the binary that $PUNCHCARD names, on a free
// port of loopback.
func start(t *testing.T, options ...testcontainers.ContainerCustomizer) *punchcard.Server {
	binary := os.Getenv("PUNCHCARD")
	if binary == "" {
		t.Fatal("PUNCHCARD does not name the binary")
	}
	command := punchcard.Command(t, "docker.example", options...)
	for i, word := range command {
		word = strings.Replace(word, "0.0.0.0:8080", "127.0.0.1:0", 1)
		command[i] = strings.Replace(word, "/tmp/", t.TempDir()+string(filepath.Separator), 1)
	}
	c := exec.Command(binary, append(command, "--exit-with-stdin")...)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c.Stderr = &log
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		c.Wait()
	})
	var read bytes.Buffer
	ready, err := punchcard.ReadReady(io.TeeReader(stdout, &read))
	if err != nil {
		t.Fatalf("%v: %v\n%s", c, err, log.Bytes())
	}
	_, after, _ := strings.Cut(read.String(), `"origin":"`)
	origin, _, _ := strings.Cut(after, `"`)
	return &punchcard.Server{Ready: ready, Origin: origin, URL: origin + "/api/public/v1", TillURL: origin + "/till/v1"}
}

func TestShop(t *testing.T) {
	stampCard(t, start(t))
}

// TestHosts checks that the server answers to the host of the tests and to that of another container,
// and to no other.
func TestHosts(t *testing.T) {
	s := start(t, punchcard.AllowHost("punchcard"))
	for host, want := range map[string]int{"docker.example:32768": 200, "punchcard:8080": 200, "other:8080": 403} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.Origin+"/dev/clock", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("the host %s gets %s", host, resp.Status)
		}
	}
}

// TestHostPorts checks which webhooks the server takes. None of them is sent.
func TestHostPorts(t *testing.T) {
	create := func(s *punchcard.Server, url string) int {
		body := fmt.Sprintf(`{"url": %q, "events": ["card.added"]}`, url)
		req, err := http.NewRequestWithContext(
			t.Context(),
			"POST",
			s.URL+"/programs/"+s.ProgramIDs["standard"]+"/webhooks",
			strings.NewReader(body),
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	plain, open := start(t), start(t, punchcard.HostPorts(3000))
	for _, url := range []string{"http://172.17.0.3:3000/hooks", "http://192.168.48.2:3000", "http://10.1.2.3:3000"} {
		if without, with := create(plain, url), create(open, url); without != 400 || with != 201 {
			t.Errorf("%s: %d without HostPorts, %d with it", url, without, with)
		}
	}
	if status := create(open, "http://169.254.169.254/"); status != 400 {
		t.Errorf("a metadata address: %d", status)
	}
}

func TestFlags(t *testing.T) {
	s := start(t, punchcard.Flags("--clock", "2026-03-01T09:00:00Z"))
	var clock struct{ Now string }
	send(t, "GET", s.Origin+"/dev/clock", "", "", &clock)
	if clock.Now != "2026-03-01T09:00:00.000Z" {
		t.Errorf("the clock is %s", clock.Now)
	}
}

// TestReadme checks that the README has the example as it is.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"example_test.go", "container_test.go"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, code, found := bytes.Cut(code, []byte("\n)\n")) // what follows the imports
		if !found || !bytes.Contains(readme, bytes.TrimSpace(code)) {
			t.Errorf("README.md does not have the code of %s", file)
		}
	}
}
