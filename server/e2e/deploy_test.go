package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
)

// TestUnit checks that the flags in the unit file exist and are valid, and that its folders are those
// that systemd makes.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit := string(must(os.ReadFile("deploy/punchcard.service")))
	_, rest, _ := strings.Cut(unit, "\nExecStart=/usr/local/bin/punchcard ")
	line, _, _ := strings.Cut(rest, "\n")
	cli := command.New()
	parser := must(kong.New(cli, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	if _, err := parser.Parse(strings.Fields(line)); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	for _, folder := range []string{filepath.Dir(cli.Serve.DB), cli.Serve.BackupDir} {
		state := strings.TrimPrefix(folder, "/var/lib/")
		if !regexp.MustCompile(`(?m)^StateDirectory=(.* )?` + regexp.QuoteMeta(state) + `( |$)`).MatchString(unit) {
			t.Errorf("systemd does not make %s", folder)
		}
	}
}

// variables returns the environment variables of serve.
func variables(t *testing.T) (names []string) {
	t.Helper()
	parser := must(kong.New(new(command.CLI), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	for _, f := range flagsOf(parser, "serve") {
		names = append(names, f.Envs...)
	}
	return names
}

// TestDeployVariables checks that every variable in the files for deployments is one of
// serve.
func TestDeployVariables(t *testing.T) {
	t.Parallel()
	known := variables(t)
	for _, file := range []string{"Dockerfile", "deploy/compose.yaml", "deploy/punchcard.env"} {
		found := regexp.MustCompile(`PUNCHCARD_[A-Z_]+`).FindAllString(string(must(os.ReadFile(file))), -1)
		if len(found) == 0 {
			t.Errorf("%s sets nothing", file)
		}
		for _, name := range found {
			if !slices.Contains(known, name) {
				t.Errorf("%s: serve has no variable %s", file, name)
			}
		}
	}
}

// TestContainerFiles checks the commands of the image, and that the paths of all files
// about containers are the same.
func TestContainerFiles(t *testing.T) {
	t.Parallel()
	image := string(must(os.ReadFile("Dockerfile")))
	lines := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:HEALTHCHECK .*)?(CMD|ENTRYPOINT) (\[.*\])$`).FindAllStringSubmatch(image, -1) {
		var args []string
		if err := json.Unmarshal([]byte(m[2]), &args); err != nil {
			t.Fatalf("%s: %v", m[0], err)
		}
		if strings.HasPrefix(m[0], "HEALTHCHECK") {
			m[1] = "HEALTHCHECK"
			args = args[1:]
		}
		lines[m[1]] = args
	}
	if len(lines) != 3 || !slices.Equal(lines["ENTRYPOINT"], []string{"/punchcard"}) {
		t.Fatalf("the commands of the image: %q", lines)
	}
	for _, name := range []string{"CMD", "HEALTHCHECK"} {
		var cli command.CLI
		if _, err := must(kong.New(&cli, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD"))).Parse(lines[name]); err != nil {
			t.Errorf("%s %q: %v", name, lines[name], err)
		}
	}
	for file, wanted := range map[string][]string{
		"Dockerfile": {
			"USER 65532:65532\n", "VOLUME /data\n", "EXPOSE 8080\n",
			"ENV PUNCHCARD_DB=/data/shop.db PUNCHCARD_LISTEN=0.0.0.0:8080\n", "CGO_ENABLED=0 go build -trimpath",
		},
		"deploy/compose.yaml": {
			"- data:/data\n", "./litestream.yml:/etc/litestream.yml:ro\n", "127.0.0.1:8080:8080\n", `user: "65532:65532"`,
			"replicate -config /etc/litestream.yml\n", "condition: service_healthy\n", "litestream/litestream:0.5.18\n",
		},
		"deploy/litestream.yml": {"- path: /data/shop.db\n"},
	} {
		text := string(must(os.ReadFile(file)))
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %q", file, want)
			}
		}
		if strings.Contains(text, "\t") {
			t.Errorf("%s has a tab", file)
		}
	}
}
