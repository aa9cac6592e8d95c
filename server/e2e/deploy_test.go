package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/deploy"
	"punchcard/server/command"
	"punchcard/server/servertest/require"
)

// unitVariables returns the variables that the unit file sets.
func unitVariables(t *testing.T) map[string]string {
	t.Helper()
	set := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^Environment=(.+)$`).FindAllStringSubmatch(deploy.Unit, -1) {
		for _, pair := range strings.Fields(m[1]) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
	}
	return set
}

// TestUnit checks that the variables in the unit file exist and are valid, and that its folders are
// those that systemd makes.
func TestUnit(t *testing.T) {
	set := unitVariables(t)
	known := variables(t)
	for name, value := range set {
		if !slices.Contains(known, name) && name != "GODEBUG" { // which Go reads
			t.Errorf("serve has no variable %s", name)
		}
		t.Setenv(name, value)
	}
	_, rest, _ := strings.Cut(deploy.Unit, "\nExecStart=/usr/local/bin/punchcard ")
	line, _, _ := strings.Cut(rest, "\n")
	cli := command.New()
	parser := require.Must(kong.New(cli, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	if _, err := parser.Parse(strings.Fields(line)); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	for _, folder := range []string{filepath.Dir(cli.Serve.DB), cli.Serve.BackupDir} {
		state := strings.TrimPrefix(folder, "/var/lib/")
		if !regexp.MustCompile(`(?m)^StateDirectory=(.* )?` + regexp.QuoteMeta(state) + `( |$)`).MatchString(deploy.Unit) {
			t.Errorf("systemd does not make %s", folder)
		}
	}
}

// TestReadmeEnvironment checks that the file of variables has each flag of serve with its help, and
// the value that the unit file sets, else the default. It is a part of the packages for Linux.
func TestReadmeEnvironment(t *testing.T) {
	const file = "deploy/punchcard.env"
	var b strings.Builder
	b.WriteString(`# Settings of the service punchcard: each flag of "punchcard serve" has a variable. Remove the # to set
# one, then run: systemctl restart punchcard. What follows a name here is the value without that.
`)
	set := unitVariables(t)
	group := ""
	for _, f := range flagsOf(require.Must(kong.New(command.New(), kong.DefaultEnvars("PUNCHCARD"))), "serve") {
		if f.Group != nil && f.Group.Key != group {
			group = f.Group.Key
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		value := cmp.Or(set[f.Envs[0]], f.Default)
		switch {
		case f.Envs[0] == "PUNCHCARD_PUBLIC_URL":
			value = "" // that of the unit is an example
		case value == "" && f.IsBool():
			value = "false"
		}
		fmt.Fprintf(&b, "\n# %s\n#%s=%s\n", strings.Join(wrap(f.Help, 98), "\n# "), f.Envs[0], value)
	}
	want := b.String()
	if got := string(require.Must(os.ReadFile(absolute(file)))); got == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the flags; run: go test ./server/e2e -run TestReadme -update\n%s", file, want)
	}
	noError(t, os.WriteFile(file, []byte(want), 0o644))
}

// wrap breaks a text into lines of at most width bytes, if its words allow.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// variables returns the environment variables of serve.
func variables(t *testing.T) (names []string) {
	t.Helper()
	parser := require.Must(kong.New(new(command.CLI), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
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
	for _, file := range []string{"deploy/image/main.go", "deploy/compose.yaml", "deploy/kubernetes.yaml", "deploy/punchcard.env"} {
		found := regexp.MustCompile(`PUNCHCARD_[A-Z_]+`).FindAllString(string(require.Must(os.ReadFile(file))), -1)
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

// TestContainerFiles checks that the paths, users and addresses of all files about containers are the same.
func TestContainerFiles(t *testing.T) {
	t.Parallel()
	for file, wanted := range map[string][]string{
		"deploy/image/main.go": {`"PUNCHCARD_DB=/data/shop.db", "PUNCHCARD_LISTEN=0.0.0.0:8080"`, "= 65532\n"},
		"deploy/compose.yaml": {
			"- data:/data\n", "./litestream.yml:/etc/litestream.yml:ro\n", `user: "65532:65532"`, "- ./Caddyfile:/etc/caddy/Caddyfile:ro\n",
			"replicate -config /etc/litestream.yml\n", "condition: service_healthy\n", "litestream/litestream:0.5.18\n",
			"ipv4_address: 172.30.30.100\n", "PUNCHCARD_TRUSTED_PROXY: 172.30.30.100/32\n", "subnet: 172.30.30.0/24\n",
			"CARDS_UPSTREAM: punchcard:8080\n", "-socket, /tmp/litestream.sock]\n",
		},
		"deploy/Caddyfile":       {"\n{$CARDS_HOST:cards.example.com} {\n", "reverse_proxy {$CARDS_UPSTREAM:127.0.0.1:8080}\n"},
		"deploy/kubernetes.yaml": {"mountPath: /data\n", "runAsUser: 65532\n", "containerPort: 8080\n"},
		"deploy/litestream.yml":  {"- path: /data/shop.db\n", "path: /tmp/litestream.sock\n"},
	} {
		text := string(require.Must(os.ReadFile(file)))
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %q", file, want)
			}
		}
		if file != "deploy/image/main.go" && file != "deploy/Caddyfile" && strings.Contains(text, "\t") {
			t.Errorf("%s has a tab", file)
		}
	}
}
