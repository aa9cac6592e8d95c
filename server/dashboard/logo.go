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
	edit(programAt+"/logo", findProgram, showLogo, action{
		op:      operation.SetProgramLogo,
		check:   checkLogo,
		upload:  "picture",
		maxFile: logo.MaxBytes,
		to:      programAt,
		done:    "The logo was saved.",
	}),
	post(programAt+"/logo/delete", action{
		op:   operation.RemoveProgramLogo,
		to:   programAt,
		done: "The logo was removed.",
	}),
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
	Program store.ProgramForm
	Face    web.HolderCard
}

func showLogo(v *visit, program store.ProgramForm) error {
	if program.HasInstalledCards {
		v.shown.Problem = "" // the page says that the logo stays as it is
	}
	p := logoPage{Frame: v.frame("Logo", programsPath), Program: program, Face: v.sampleCard(&program)}
	p.Style = p.Face.Style()
	return v.render("program_logo", p)
}

// checkLogo refuses to read a picture for a program that may not get it.
func checkLogo(v *visit) error {
	p, err := findProgram(v)
	if err == nil && p.HasInstalledCards {
		err = kernel.Refuse(
			store.ProgramHasInstalledCards,
			"A card of this program is installed on a device; the program and its prizes are frozen.",
		)
	}
	return err
}

// readUpload reads a form whose field has a file of at most limit bytes. Its other fields are texts of at most maxForm bytes. The
// idempotency key is left out: it would stand for another file too.
func (v *visit) readUpload(field string, limit int64) error {
	if v.form != nil { // the page was shown for another epoch of the store
		return nil
	}
	v.form = url.Values{}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit+maxForm)
	parts, err := v.r.MultipartReader()
	for err == nil {
		part, perr := parts.NextPart()
		if err = perr; err != nil {
			continue
		}
		switch name := part.FormName(); name {
		case field:
			v.fileName = part.FileName()
			v.file, err = io.ReadAll(io.LimitReader(part, limit+1))
		case web.KeyField:
		default:
			var text []byte
			text, err = io.ReadAll(io.LimitReader(part, maxForm))
			v.form.Add(name, string(text))
		}
	}
	var large *http.MaxBytesError
	switch {
	case int64(len(v.file)) > limit || errors.As(err, &large):
		return store.InvalidField(field, wire.CodeTooLarge, fmt.Sprintf("must have at most %d MiB", limit>>20))
	case errors.Is(err, io.EOF):
		return nil
	}
	return kernel.Refuse(store.BadRequest, "The form cannot be read.")
}
