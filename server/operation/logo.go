package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/logo"
	"punchcard/server/wire"
	"punchcard/store"
)

// LogoFields are the fields of SetProgramLogo.
type LogoFields struct {
	Picture store.Opt[[]byte] `json:"picture" req:"true" max:"2097152" doc:"A PNG, JPEG or WebP."`
}

// madeLogo is the logo that is made of a picture, or why it is refused.
type madeLogo struct {
	logo store.Logo
	err  error
}

// SetProgramLogo gives a program a logo, which is a new PNG of at most 512 pixels in
// each direction.
var SetProgramLogo = kernel.WritePrepared(
	programs.only(manager, "setProgramLogo", "Set a program's logo", "", store.NotFound, store.ProgramHasInstalledCards),
	wire.Create,
	func(f LogoFields) madeLogo {
		png, err := logo.Make(f.Picture.V)
		return madeLogo{store.NewLogo(png), err}
	},
	func(tx *store.Tx, c *kernel.Call, m madeLogo) (store.ProgramDetail, error) {
		if m.err != nil {
			return store.ProgramDetail{}, store.Invalid(store.Detail{Field: "picture", Code: wire.CodeInvalidFormat, Message: m.err.Error()})
		}
		return tx.SetProgramLogo(c.Access.Shop, c.Param("id"), &m.logo)
	})

// RemoveProgramLogo takes a program's logo away.
var RemoveProgramLogo = kernel.Write(programs.only(manager, "removeProgramLogo", "Remove a program's logo", "", store.NotFound, store.ProgramHasInstalledCards),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.ProgramDetail, error) {
		return tx.SetProgramLogo(c.Access.Shop, c.Param("id"), nil)
	})

// GetLogo returns a logo by its hash, which is the parameter hash.
var GetLogo = kernel.Read(programs.only(kernel.Callers{Holder: true, Person: kernel.Viewer}, "getLogo", "Read a logo", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Logo, error) { return v.Logo(c.Param("hash")) })

// GetProgramForm returns a program with all of its fields, for a person who edits it.
var GetProgramForm = kernel.Read(programs.only(viewer, "getProgramForm", "Read all fields of a program", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.ProgramForm, error) {
		return v.ProgramForm(c.Access.Shop, c.Param("id"))
	})
