package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"punchcard/server/app"
)

// TestUpgrade asks servers with releases of several versions, and such as have none.
func TestUpgrade(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	system := strings.NewReplacer("darwin", "macos").Replace(runtime.GOOS) + "_" + runtime.GOARCH
	archive := func(version, system string) string {
		return sum + "  punchcard_" + version + "_" + system + ".tar.gz\n"
	}
	mux := http.NewServeMux()
	serve := func(path, checksums string) {
		mux.HandleFunc("GET "+path+"/checksums.txt", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, checksums) })
	}
	serve("/new", sum+"  install.sh\n"+archive("9.2.0", system)+archive("9.10.0", system)+archive("9.10.0", "plan9_mips")+
		sum+"  punchcard_9.10.0_linux_amd64.cdx.json\n")
	serve("/other", archive("9.1.0", "plan9_mips"))
	serve("/same", archive(app.Version, system))
	serve("/candidate", archive(app.Version+"-rc.1", system))
	serve("/page", "<html>")
	serve("/version", archive("9..1", system))
	mux.HandleFunc("GET /endless/checksums.txt", func(w http.ResponseWriter, r *http.Request) {
		for line := []byte(strings.Repeat("x", 1000) + "\n"); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	mux.Handle("GET /latest/", http.RedirectHandler("/new/checksums.txt", http.StatusFound))
	s := httptest.NewServer(mux)
	defer s.Close()
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	f.prints(
		"upgrade --check "+s.URL+"/new",
		"punchcard 9.10.0 is there; this is "+app.Version,
		s.URL+"/new/punchcard_9.10.0_"+system+".tar.gz",
	)
	var got upgrade
	f.json(&got, "upgrade --check "+s.URL+"/latest/?q#x")
	if got.Latest != "9.10.0" || !got.Newer || got.Archive.V != s.URL+"/latest/punchcard_9.10.0_"+system+".tar.gz" {
		t.Errorf("%+v", got)
	}
	f.json(&got, "upgrade --check "+s.URL+"/other/")
	if got.Latest != "9.1.0" || !got.Newer || got.Archive.Valid {
		t.Errorf("%+v", got)
	}
	f.prints("upgrade --check "+s.URL+"/same", "punchcard "+app.Version+" is the newest release.")
	f.prints("upgrade --check "+s.URL+"/candidate", "is the newest release.")
	t.Setenv("PUNCHCARD_RELEASES", s.URL+"/other")
	f.prints("upgrade --check", "9.1.0 is there")
	t.Setenv("PUNCHCARD_RELEASES", "")
	for line, want := range map[string]string{
		"upgrade":                                              "missing flags: --check",
		"upgrade " + s.URL + "/new":                            "missing flags: --check",
		"upgrade --check":                                      "URL: is required",
		"upgrade --check ftp://x.test":                         "URL: must be the URL of a folder",
		"upgrade --check releases":                             "URL: must be the URL of a folder",
		"upgrade --check http://u:p@x.x":                       "URL: must be the URL of a folder",
		"upgrade --check " + s.URL + "/no":                     "/no/checksums.txt: the server answers 404",
		"upgrade --check " + s.URL + "/page":                   "names no release",
		"upgrade --check " + s.URL + "/version":                "names no release",
		"upgrade --check " + s.URL + "/endless":                "names no release",
		"upgrade --check --timeout 1ns " + s.URL + "/new":      "deadline exceeded",
		"upgrade --check --timeout soon " + s.URL + "/new":     "--timeout",
		"upgrade --check " + s.URL + "/new " + s.URL + "/same": "unexpected",
	} {
		f.refused(line, want)
	}
}
