package holder

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// passContent is the content type of pass files.
const passContent = "application/vnd.apple.pkpass"

// maxPassLog is how much of a phone's log is read, in bytes.
const maxPassLog = 4 << 10

// downloadPass answers with the pass of a card for Apple Wallet.
func downloadPass(v *visit) error {
	p, err := do[store.Pass](v, operation.DownloadPass, nil)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Disposition", `attachment; filename="card.pkpass"`)
	return v.pass(&p)
}

// pass answers with the file of a pass.
func (v *visit) pass(p *store.Pass) error {
	file, err := v.Passes.File(p, func() ([]byte, error) {
		l, err := run[store.Logo](v, operation.GetLogo, kernel.Args{Params: map[string]string{"hash": p.LogoHash.V}})
		return l.Bytes, err
	})
	if err != nil {
		return err
	}
	v.w.Header().Set("Last-Modified", p.Modified.Std().UTC().Format(http.TimeFormat))
	return v.file(passContent, file)
}

// phone returns what a request of a phone names: a device, a pass and the token that the phone presents.
func (v *visit) phone() kernel.Args {
	scheme, token, _ := strings.Cut(v.r.Header.Get("Authorization"), " ")
	if scheme != "ApplePass" {
		token = ""
	}
	v.params["token"], v.params["since"] = token, v.r.URL.Query().Get("passesUpdatedSince")
	return kernel.Args{Params: v.params}
}

// readPass answers with a pass, unless the phone has it as it is.
func readPass(v *visit) error {
	p, err := run[store.Pass](v, operation.ReadPass, v.phone())
	if err != nil {
		return err
	}
	// Not "or later": the clock may have been set back, and a backup restored.
	if v.r.Header.Get("If-Modified-Since") == p.Modified.Std().UTC().Format(http.TimeFormat) {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return v.pass(&p)
}

// register registers a phone for a pass.
func register(v *visit) error {
	var body struct{ PushToken string }
	if err := json.NewDecoder(http.MaxBytesReader(v.w, v.r.Body, kernel.SmallBody)).Decode(&body); err != nil {
		return store.InvalidField("pushToken", "invalid_format", "the body must be JSON with a pushToken")
	}
	in := v.phone()
	in.Fields = store.DeviceFields{PushToken: store.Opt[string]{V: body.PushToken, Set: body.PushToken != ""}}
	r, err := run[operation.Registered](v, operation.RegisterDevice, in)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if r.Created {
		status = http.StatusCreated
	}
	v.w.WriteHeader(status)
	return nil
}

// unregister ends the registration of a phone for a pass.
func unregister(v *visit) error {
	if _, err := run[kernel.None](v, operation.UnregisterDevice, v.phone()); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusOK)
	return nil
}

// changedPasses lists the passes of a phone that have changed. A phone that is not known has none.
func changedPasses(v *visit) error {
	changed, err := run[store.ChangedPasses](v, operation.ListChangedPasses, v.phone())
	if err != nil {
		return err
	}
	if len(changed.SerialNumbers) == 0 {
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return v.file("application/json", body)
}

// logPasses notes how often phones complain, of a long log that it is at least once. Their texts may name cards, so nothing keeps them.
func logPasses(v *visit) error {
	if !v.passLogs.Allow() {
		v.w.Header().Set("Retry-After", "1")
		v.w.WriteHeader(http.StatusTooManyRequests)
		return nil
	}
	var body struct{ Logs []string }
	err := json.NewDecoder(io.LimitReader(v.r.Body, maxPassLog)).Decode(&body)
	complaints := len(body.Logs)
	if errors.Is(err, io.ErrUnexpectedEOF) { // it is longer than what is read
		complaints = 1
	}
	if complaints > 0 {
		v.Kernel.Log().Warn("a phone complains about passes", "complaints", complaints)
	}
	v.w.WriteHeader(http.StatusOK)
	return nil
}
