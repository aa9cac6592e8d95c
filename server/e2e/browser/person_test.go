//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// form is a page with each kind of field. %s is what it was sent last.
const form = goodHead + `<p>Sent: %s</p>
<nav><a href="/?page=two">Next page</a> <a href="#below">Below</a> <a href="/file.csv">Export</a></nav>
<ul><li>Coffee <a href="/?edit=coffee">Edit</a></li><li>Pizza <a href="/?edit=pizza">Edit</a></li></ul>
<form method="post" enctype="multipart/form-data">
<label for="name">Name</label> <input id="name" name="name" value="old" required>
<label>Email (optional) <input type="email" name="email"></label>
<label>Stamps <input type="number" name="stamps"></label>
<label>Notes <textarea name="notes"></textarea></label>
<label>Day <input type="date" name="day"></label>
<label>Colour <input type="color" name="colour"></label>
<label>Type <select name="type"><option value="s">Stamp card</option><option value="p">Gift card</option></select></label>
<label><input type="checkbox" name="mail"> Send a mail</label>
<label><input type="checkbox" name="off" checked> Off</label>
<label><input type="radio" name="end" value="30"> 30 days</label> <label><input type="radio" name="end" value="90"> 90 days</label>
<label>Logo <input type="file" name="logo"></label>
<button>Save</button></form>
<details><summary>More</summary><p>The rest</p></details>
<div style="height:3000px"></div><h2 id="below">Below it all</h2></main></body></html>`

// serveForm serves the form.
func serveForm(t *testing.T) string {
	t.Helper()
	sent := "nothing"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/favicon.ico", "/a.css":
			w.Header().Set("Content-Type", "text/css")
			return
		case "/file.csv":
			w.Header().Set("Content-Disposition", `attachment; filename="cards.csv"`)
			fmt.Fprint(w, "id\n1\n")
			return
		}
		if r.Method == http.MethodPost {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
			}
			file := "none"
			if f := r.MultipartForm.File["logo"]; len(f) > 0 {
				file = f[0].Filename
			}
			sent = fmt.Sprint(r.PostForm, file)
			http.Redirect(w, r, "/?done=saved", http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, form, sent)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPerson does everything that the methods of Page do for a person, with and without scripts.
func TestPerson(t *testing.T) {
	t.Parallel()
	for _, v := range []View{{}, {NoScripts: true}} {
		t.Run(fmt.Sprintf("%+v", v), func(t *testing.T) {
			logo := filepath.Join(t.TempDir(), "logo.png")
			noError(t, os.WriteFile(logo, []byte("x"), 0o644))
			p := Open(t, serveForm(t), v)
			p.Wait("Sent: nothing")
			p.Fill("Name", "Zoë 🍕 עברית")
			p.Fill("Email", "zoe@example.com") // the label goes on
			p.Fill("Stamps", "12")
			p.Fill("Notes", "one\ntwo")
			p.Fill("Day", "2026-03-01")
			p.Fill("Colour", "#12ab34")
			p.Choose("Type", "Gift card")
			p.Check("Send a mail")
			p.Uncheck("Off")
			p.Check("90 days")
			p.ChooseFile("Logo", logo)
			p.Press("Save")
			if p.Path() != "/?done=saved" {
				t.Errorf("the page is %s", p.Path())
			}
			p.Wait("Sent: map[colour:[#12ab34] day:[2026-03-01] email:[zoe@example.com] end:[90] mail:[on] " +
				"name:[Zoë 🍕 עברית] notes:[one two] stamps:[12] type:[p]]logo.png")
			if v := p.Value("Name"); v != "old" {
				t.Errorf("Name is %q", v)
			}
			p.Fill("Name", "")
			p.Press("Save") // which the browser refuses, since the field is required
			if p.Path() != "/?done=saved" || p.Value("Name") != "" {
				t.Errorf("the form was sent: %s", p.Path())
			}
			p.Press("More")
			p.Wait("The rest")
			p.Follow("Below")
			if name, content := p.Download("Export"); name != "cards.csv" || string(content) != "id\n1\n" {
				t.Errorf("downloaded %s %q", name, content)
			}
			p.In("Pizza").Follow("Edit")
			if p.Path() != "/?edit=pizza" {
				t.Errorf("the page is %s", p.Path())
			}
			p.Follow("Next page")
			if p.Path() != "/?page=two" || !strings.HasPrefix(p.Text(), "A page") || p.Title() != "A page" || p.Status() != 200 {
				t.Errorf("the page is %s %d %s", p.Path(), p.Status(), p.Title())
			}
		})
	}
}
