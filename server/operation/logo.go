package operation

import (
	"context"
	"regexp"

	"punchcard/server/kernel"
	"punchcard/server/logo"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

// LogoFields are the fields of SetProgramLogo.
type LogoFields struct {
	Picture store.Opt[[]byte] `json:"picture" req:"true" max:"10485760" doc:"A PNG, JPEG or WebP."`
}

// SetProgramLogo gives a program a logo, which is a new PNG of at most 512 pixels in
// each direction. The picture is read only if the program may get one.
var SetProgramLogo = declare(kernel.Operation{
	ID:      "setProgramLogo",
	Group:   programs,
	Title:   "Set a program's logo",
	Callers: manager,
	Codes:   codes{store.NotFound, store.ProgramHasInstalledCards},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f LogoFields) (kernel.Prepared[store.ProgramDetail], error) {
		if err := c.View(func(v *store.View) error { return v.CheckProgramLogo(c.Access.Shop, c.Param("id")) }); err != nil {
			return nil, err
		}
		png, err := logo.Make(ctx, f.Picture.V)
		if err != nil && ctx.Err() == nil {
			err = store.InvalidField("picture", wire.CodeInvalidFormat, err.Error())
		}
		l := store.NewLogo(png)
		return func(tx *store.Tx) (store.ProgramDetail, error) {
			return tx.SetProgramLogo(c.Access.Shop, c.Param("id"), &l)
		}, err
	}),
})

// RemoveProgramLogo takes a program's logo away.
var RemoveProgramLogo = declare(kernel.Operation{
	ID:      "removeProgramLogo",
	Group:   programs,
	Title:   "Remove a program's logo",
	Callers: manager,
	Codes:   codes{store.NotFound, store.ProgramHasInstalledCards},
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.ProgramDetail, error) {
		return tx.SetProgramLogo(c.Access.Shop, c.Param("id"), nil)
	}),
})

// drawnLogo is the name of a logo that is drawn: a colour.
var drawnLogo = regexp.MustCompile("^[0-9a-f]{6}$")

// GetLogo returns a logo by its hash, which is the parameter hash, or a drawn one of a colour.
var GetLogo = declare(kernel.Operation{
	ID:      "getLogo",
	Group:   programs,
	Title:   "Read a logo",
	Callers: kernel.Callers{Holder: true, Person: kernel.Viewer},
	Codes:   notFound,
	Read: byParam("hash", func(v *store.View, name string) (store.Logo, error) {
		if !drawnLogo.MatchString(name) {
			return v.Logo(name)
		}
		png, err := logo.Icon(512, "#"+name, web.BlackOrWhite("#"+name), nil)
		return store.NewLogo(png), err
	}),
})

// GetProgramForm returns a program with all of its fields, for a person who edits it.
var GetProgramForm = declare(kernel.Operation{
	ID:      "getProgramForm",
	Group:   programs,
	Title:   "Read all fields of a program",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).ProgramForm),
})
