package app

import (
	"net/http"
	"strings"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/server/operation"
	"punchcard/server/till"
	"punchcard/server/web"
	"punchcard/store"
)

// mountPublic adds the routes that need no key: the way to the dashboard, the documents,
// the operator's prices, the assets of pages, /healthz (the process runs) and /readyz (the database takes
// writes). A fixture has its start page in the place of the way to the dashboard. The
// documents are made on the first request for them, since making them takes longer
// than the rest of the start; samples returns the ids of their examples.
func (a *App) mountPublic(r *httprouter.Router, k *kernel.Kernel, samples func() openapi.Samples) {
	c := a.conf
	static := func(path, contentType string, make func() []byte) {
		k.Handle(r, http.MethodGet, path, k.Static(contentType, make))
	}
	constant := func(b []byte) func() []byte { return func() []byte { return b } }
	if c.Dev == nil {
		k.Handle(r, http.MethodGet, "/", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
			k.Redirect(w, http.StatusSeeOther, "/dashboard")
		})
	}
	assets := kernel.SecurityHeaders(web.AssetHandler())
	k.Handle(
		r,
		http.MethodGet,
		"/assets/:name",
		func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) { assets.ServeHTTP(w, r) },
	)
	k.Handle(r, http.MethodGet, "/logo/:name", func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		hash, _ := strings.CutSuffix(ps.ByName("name"), ".png")
		logo, err := kernel.Do[store.Logo](
			r.Context(),
			k,
			kernel.HolderCaller(),
			operation.GetLogo,
			kernel.Args{Params: map[string]string{"hash": hash}},
		)
		if err != nil {
			k.AnswerError(w, err)
			return
		}
		k.Picture(w, logo.ContentType, logo.Bytes)
	})
	for _, face := range []struct {
		path   string
		about  openapi.About
		routes func() []kernel.Route
	}{
		{"", api.About, restRoutes},
		{"/till", till.About, tillRoutes},
	} {
		document := func() *openapi.Document {
			return openapi.New(face.about, face.routes(), c.Limits.Fields(), c.PublicURL+face.about.Prefix, samples())
		}
		static(face.path+"/openapi.json", "application/json", func() []byte { return document().JSON() })
		static(face.path+"/docs", "text/html; charset=utf-8", func() []byte { return document().HTML() })
	}
	if a.pricing != nil {
		static("/pricing", "application/json", constant(a.pricing))
	}
	static("/healthz", "application/json", constant([]byte(`{"status":"ok"}`)))
	k.Handle(r, http.MethodGet, "/readyz", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		if err := k.Store().SystemWrite(r.Context(), (*store.Tx).Probe); err != nil {
			c.Log.Error("not ready", "error", err)
			k.AnswerError(
				w,
				&kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The database takes no writes."},
			)
			return
		}
		k.Send(w, http.StatusOK, []byte(`{"status":"ready"}`))
	})
}

// samples returns the ids for the examples of the documents: in a fixture those of its
// ready line, so that the examples can be sent as they are.
func (i *instance) samples() openapi.Samples {
	if i.Ready == nil {
		return nil
	}
	ids := openapi.Samples{"shop": i.Ready.ShopID}
	if id, ok := i.Ready.ProgramIDs[store.ProgramStandard]; ok {
		ids["program"] = id
	}
	if len(i.Ready.LocationIDs) > 0 {
		ids["location"] = i.Ready.LocationIDs[0]
	}
	return ids
}
