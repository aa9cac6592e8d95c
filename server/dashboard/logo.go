package dashboard

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/logo"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// logoPages are the pages of the logos of programs.
var logoPages = []binding{
	logoForm(),
	post(programAt+"/logo/delete", action{
		op:   operation.RemoveProgramLogo,
		to:   programAt,
		done: says("logo-removed", "The logo was removed."),
	}),
}

var logoSaved = says("logo-saved", "The logo was saved.")

// logoForm binds the form of a logo, which is read last.
func logoForm() binding {
	b := edit(programAt+"/logo", findProgram, showLogo, action{op: operation.SetProgramLogo})
	b.upload, b.post = true, setLogo
	return b
}

// logoPath returns the path of a logo, empty if there is none.
func logoPath(hash store.Null[string]) string {
	if !hash.Valid {
		return ""
	}
	return "/logo/" + hash.V + ".png"
}

// logoPage is the page of the logo of a program.
type logoPage struct {
	web.Frame
	Form    *web.Form
	Program store.ProgramForm
	Face    web.HolderCard
}

func showLogo(v *visit, program store.ProgramForm, f *web.Form) error {
	p := logoPage{Frame: v.frame("Logo", programsPath), Form: f, Program: program, Face: v.sampleCard(&program)}
	p.Style = p.Face.Style()
	return v.render("program_logo", p)
}

// setLogo gives the program the uploaded picture, which it reads only for a person who may set
// it, and for a program that may get it. Sending it twice is like sending it
// once, so the form needs no idempotency key.
func setLogo(v *visit) error {
	if err := v.require(operation.SetProgramLogo); err != nil {
		return err
	}
	p, err := findProgram(v)
	if err != nil {
		return err
	}
	if p.HasInstalledCards { // the page says that the logo stays as it is
		v.formStatus = http.StatusConflict
		return showLogo(v, p, v.newForm(nil))
	}
	err = v.readUpload("picture", logo.MaxBytes)
	if err == nil {
		fields := operation.LogoFields{Picture: store.Opt[[]byte]{V: v.file, Set: len(v.file) > 0}}
		_, err = read[store.ProgramDetail](v, operation.SetProgramLogo, v.with(fields))
	}
	if err == nil {
		return v.redirect(programPath(v.id()), logoSaved)
	}
	if !faulty(err) {
		return err
	}
	return showLogo(v, p, v.faultyForm(err, nil))
}

// readUpload reads a form whose field has a file of at most limit bytes. Further calls do
// nothing.
func (v *visit) readUpload(field string, limit int64) error {
	if v.form != nil {
		return nil
	}
	v.form = url.Values{}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit+maxForm)
	parts, err := v.r.MultipartReader()
	for err == nil {
		part, perr := parts.NextPart()
		if err = perr; err != nil || part.FormName() != field {
			continue
		}
		v.fileName = part.FileName()
		v.file, err = io.ReadAll(io.LimitReader(part, limit+1))
	}
	var large *http.MaxBytesError
	switch {
	case int64(len(v.file)) > limit || errors.As(err, &large):
		return invalid(field, wire.CodeTooLarge, fmt.Sprintf("must have at most %d MiB", limit>>20))
	case errors.Is(err, io.EOF):
		return nil
	}
	return kernel.Refuse(store.BadRequest, "The form cannot be read.")
}
