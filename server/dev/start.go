package dev

import (
	"bytes"
	"embed"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

//go:embed pages/*.html
var pageFiles embed.FS

// pages returns the template of the start page. The first request for it parses it, since a fixture
// must start fast.
var pages = web.Pages(pageFiles)

// startView is the data of the start page.
type startView struct {
	web.Frame
	Actions []web.Action
	Links   []startLink
	Values  []startValue
	Curl    string
}

type startLink struct{ Path, What string }

// startValue is a value of the ready line.
type startValue struct{ Name, Value string }

// startLinks are the links to all faces.
var startLinks = []startLink{
	{"/dashboard", "Dashboard of the shop"},
	{"/till/", "Till page"},
	{"/docs", "Reference of the REST API"},
	{"/till/docs", "Reference of the till API"},
	{"/openapi.json", "OpenAPI document of the REST API"},
	{"/till/openapi.json", "OpenAPI document of the till API"},
	{"/dev/openapi.json", "OpenAPI document of the control API"},
	{"/dev/requests", "Journal of requests"},
	{"/dev/wallet/phones", "Phones with passes of cards"},
	{"/dev/emails", "Mail that would have been sent"},
	{"/dev/audit", "Audit log"},
	{"/dev/clock", "The server's clock"},
}

// start answers GET / with a page for browsers, and with the ready line for programs.
func (c *Control) start(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		c.Kernel.Send(w, http.StatusOK, wire.Append(nil, c.Ready))
		return
	}
	asOwner := web.Action{Post: true, Name: "as", Value: store.RoleOwner}
	signIn, fill := asOwner, asOwner
	signIn.Label, signIn.Path, signIn.Kind = "Sign in as the owner", "/dev/sign-in", "primary"
	fill.Label, fill.Path = "Start over with 90 days of history", "/dev/history"
	view := startView{
		Frame:   web.Frame{Title: "punchcard dev", Width: "narrow"},
		Actions: []web.Action{signIn},
		Links:   startLinks,
		Values:  readyValues(c.Ready),
		Curl:    "curl -H 'Authorization: Bearer " + c.Ready.APIKey + "' " + c.Ready.BaseURL + "/me",
	}
	if c.Ready.DemoProgram() != "" {
		view.Actions = append(view.Actions, web.Action{Label: "Issue a card and open its page", Path: "/dev/demo-card", Post: true})
	}
	if c.Ready.TillToken != "" {
		view.Actions = append(view.Actions, web.Action{Label: "Open the demo till", Path: "/dev/demo-till", Post: true})
	}
	if c.History != nil {
		view.Actions = append(view.Actions, fill)
	}
	var b bytes.Buffer
	if err := pages().Render(&b, "start", view, web.PrinterFor("en")); err != nil {
		c.Kernel.AnswerError(w, err)
		return
	}
	c.Kernel.RequestID(w)
	web.SetHeaders(w.Header())
	web.AllowForms(w.Header())
	web.Write(w, http.StatusOK, b.Bytes())
}

// readyValues returns the texts of a ready line in their order, those in maps by name.
func readyValues(ready *seed.Ready) (list []startValue) {
	v := reflect.ValueOf(ready).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || name == "-" {
			continue
		}
		switch value := v.FieldByIndex(f.Index).Interface().(type) {
		case string:
			list = append(list, startValue{name, value})
		case []string:
			list = append(list, startValue{name, strings.Join(value, " ")})
		case map[string]string:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				list = append(list, startValue{name + "." + key, value[key]})
			}
		}
	}
	return list
}

// demoCard answers POST /dev/demo-card: it issues a card and leads to its page.
func (c *Control) demoCard(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	made, err := kernel.Do[operation.IssuedCard](r.Context(), c.Kernel, operator(c.Ready.Shop()), operation.EnrollCard,
		kernel.Args{Params: map[string]string{"id": c.Ready.DemoProgram()}, Fields: store.CardFields{}})
	if err != nil {
		c.Kernel.AnswerError(w, err)
		return
	}
	// The path alone, since the browser may know the fixture by another name.
	c.Kernel.Redirect(w, http.StatusSeeOther, "/i/"+path.Base(made.InstallURL))
}

// demoTill answers POST /dev/demo-till: it makes the browser the demo till and leads to the
// till page.
func (c *Control) demoTill(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	http.SetCookie(w, kernel.DeviceCookie(c.Hosts.URLOf(r), c.Ready.TillToken))
	c.Kernel.Redirect(w, http.StatusSeeOther, "/till/")
}
