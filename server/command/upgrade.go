package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"punchcard/server/app"
	"punchcard/store"
)

// Upgrade is the command that tells whether a newer release is there.
type Upgrade struct {
	URL     string        `arg:"" optional:"" env:"PUNCHCARD_RELEASES" help:"The folder of the newest release, which has checksums.txt."`
	Check   bool          `required:"" env:"-" help:"Only look, and change nothing. The command does nothing else."`
	Timeout time.Duration `env:"-" default:"10s" help:"How long to wait for the answer."`
	JSON    bool          `name:"json" env:"-" help:"Print JSON."`
}

// upgrade is the JSON that upgrade prints.
type upgrade struct {
	Version string             `json:"version"`
	Latest  string             `json:"latest"`
	Newer   bool               `json:"newer"`
	Archive store.Null[string] `json:"archive"` // URL of the one for this system; null: the release has none
}

// maxChecksums is the number of bytes of checksums.txt that are read.
const maxChecksums = 1 << 20

// archiveName matches the names of archives, whose version and system it has.
var archiveName = regexp.MustCompile(`^[0-9a-f]{64} [ *](punchcard_(\d[0-9A-Za-z.-]{0,60})_([a-z0-9]+_[a-z0-9]+)\.(?:tar\.gz|zip))$`)

// platforms turns the names of systems in archives into those of Go.
var platforms = strings.NewReplacer("macos", "darwin", "armv7", "arm")

// Run reads checksums.txt of the release and prints its version.
func (c *Upgrade) Run() error {
	if c.URL == "" {
		return errors.New("URL: is required; name the folder of the releases, or set PUNCHCARD_RELEASES")
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return errors.New("URL: must be the URL of a folder, such as https://example.com/releases")
	}
	u.RawQuery, u.Fragment = "", ""
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	out := upgrade{Version: app.Version}
	if err := out.read(ctx, u); err != nil {
		return fmt.Errorf("%s: %w", u.JoinPath("checksums.txt"), err)
	}
	return File{JSON: c.JSON}.show(&out, func(w io.Writer) {
		if !out.Newer {
			printf(w, "punchcard %s is the newest release.\n", out.Version)
			return
		}
		printf(w, "punchcard %s is there; this is %s.\n", out.Latest, out.Version)
		if out.Archive.Valid {
			printf(w, "Archive: %s\n", out.Archive.V)
		}
	})
}

// read reads the checksums of a release.
func (out *upgrade) read(ctx context.Context, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("checksums.txt").String(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	system := runtime.GOOS + "_" + runtime.GOARCH
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxChecksums))
	for lines.Scan() {
		m := archiveName.FindStringSubmatch(lines.Text())
		if m == nil || !semver.IsValid("v"+m[2]) {
			continue
		}
		order := compareVersions(m[2], out.Latest)
		if order > 0 {
			out.Latest, out.Archive = m[2], store.Null[string]{}
		}
		if order >= 0 && platforms.Replace(m[3]) == system {
			out.Archive = store.Some(u.JoinPath(m[1]).String())
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if out.Latest == "" {
		return errors.New("names no release of punchcard")
	}
	out.Newer = compareVersions(out.Latest, out.Version) > 0
	return nil
}

// compareVersions compares two versions of releases. An empty one comes before all others.
func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
