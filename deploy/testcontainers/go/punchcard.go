// Package punchcard starts a punchcard server in a container, as a fixture for tests: a real
// loyalty API with a demo shop, a clock that the test moves, signed webhooks and faults.
//
//	server, err := punchcard.Run(ctx, "punchcard:1.2.0")
//	testcontainers.CleanupContainer(t, server)
//	if err != nil {
//		t.Fatal(err)
//	}
//	shop := myshop.New(server.URL, server.APIKey)
package punchcard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// port is the port of the server in its container.
const port = "8080/tcp"

// Ready is what the server says when it is ready. Keys and ids are the same at each start.
type Ready struct {
	ShopID           string            `json:"shop_id"`
	APIKey           string            `json:"api_key"`            // with every scope
	RestrictedAPIKey string            `json:"restricted_api_key"` // with every scope, at LocationIDs[0] only
	MCPKey           string            `json:"mcp_key"`
	TillToken        string            `json:"till_token"`  // of a till at LocationIDs[0]
	ProgramIDs       map[string]string `json:"program_ids"` // by type: standard, private, discount, access, prepaid
	LocationIDs      []string          `json:"location_ids"`
	Refs             map[string]string `json:"refs"` // of a seed file: ids by its refs
	OwnerEmail       string            `json:"owner_email"`
	OwnerPassword    string            `json:"owner_password"`
}

// Server is a running server with the demo shop.
type Server struct {
	testcontainers.Container
	Ready

	Origin  string // http://HOST:PORT, for tests; the control API is Origin + /dev
	URL     string // of the REST API: Origin + /api/public/v1
	TillURL string // of the till API: Origin + /till/v1
}

// Run starts a server of an image and waits until it answers. If it returns an error, the server
// may be there all the same, so that [testcontainers.CleanupContainer] can remove it.
func Run(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*Server, error) {
	host, err := daemonHost(ctx)
	if err != nil {
		return nil, err
	}
	c, err := testcontainers.Run(ctx, image, append(defaults(host), options...)...)
	if c == nil {
		return nil, err
	}
	s := &Server{Container: c}
	if err != nil {
		return s, err
	}
	if s.Origin, err = c.PortEndpoint(ctx, port, "http"); err != nil {
		return s, err
	}
	s.URL, s.TillURL = s.Origin+"/api/public/v1", s.Origin+"/till/v1"
	log, err := c.Logs(ctx)
	if err != nil {
		return s, err
	}
	defer log.Close()
	s.Ready, err = readReady(log)
	return s, err
}

// daemonHost returns the host by which tests reach the ports of containers.
func daemonHost(ctx context.Context) (string, error) {
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return "", err
	}
	defer provider.Close()
	return provider.DaemonHost(ctx)
}

// defaults are the options of each server. The server answers only requests to loopback and to hosts
// that --allow-host names, here the one by which tests reach it.
func defaults(host string) []testcontainers.ContainerCustomizer {
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithCmd("dev", "--listen", "0.0.0.0:8080", "--allow-remote", "--db", "/tmp/fixture.db"),
		AllowHost(host),
		testcontainers.WithTmpfs(map[string]string{"/tmp": "rw,mode=1777"}),
		testcontainers.WithExposedPorts(port),
		testcontainers.WithWaitStrategy(wait.ForLog(`"api_key":`), wait.ForHTTP("/healthz").WithPort(port)),
	}
}

// Flags adds flags of "punchcard dev", such as "--clock", "2026-03-01T09:00:00Z".
func Flags(flags ...string) testcontainers.CustomizeRequestOption {
	return testcontainers.WithCmdArgs(flags...)
}

// AllowHost makes the server also answer requests to a host, such as the alias that other
// containers of its network use for it.
func AllowHost(host string) testcontainers.CustomizeRequestOption {
	return Flags("--allow-host", host)
}

// HostPorts permits webhooks to programs that listen on the ports of the machine of the tests. Their URLs begin with
// http://host.testcontainers.internal and have one of the ports.
func HostPorts(ports ...int) testcontainers.CustomizeRequestOption {
	return func(req *testcontainers.GenericContainerRequest) error {
		return errors.Join(
			testcontainers.WithHostPortAccess(ports...)(req),
			Flags("--webhook-allow-http", "--webhook-allow-cidr", "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16")(req),
		)
	}
}

// readReady returns the ready line among the lines of a log.
func readReady(log io.Reader) (r Ready, err error) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := lines.Text()
		if start := strings.Index(line, "{"); start >= 0 && json.Unmarshal([]byte(line[start:]), &r) == nil && r.APIKey != "" {
			return r, nil
		}
	}
	if err := lines.Err(); err != nil {
		return Ready{}, fmt.Errorf("the log of the server: %w", err)
	}
	return Ready{}, errors.New("the log of the server has no ready line")
}
