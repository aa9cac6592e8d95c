package operation_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestLogos checks that a person's picture becomes a logo that anybody can read by its
// hash, and what is refused.
func TestLogos(t *testing.T) {
	h := openHarness(t)
	manager := h.withRole(kernel.Manager)
	var picture bytes.Buffer
	noError(t, png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 900, 300))))
	program := must[store.ProgramDetail](
		h, manager, operation.CreateProgram, "",
		store.ProgramFields{
			Name:        store.Given("Tea"),
			Type:        store.Given("standard"),
			TotalStamps: store.Given[int64](5),
			IconKey:     store.Given("cup"),
		},
	).ID
	set := func(b []byte) error {
		_, err := h.try(manager, operation.SetProgramLogo, program, operation.LogoFields{Picture: store.Given(b)})
		return err
	}
	hash := func() string {
		return must[store.ProgramForm](h, h.withRole(kernel.Viewer), operation.GetProgramForm, program, nil).LogoHash.V
	}
	noError(t, set(picture.Bytes()))
	l := must[store.Logo](h, kernel.HolderCaller(), operation.GetLogo, hash(), nil)
	if c, err := png.DecodeConfig(bytes.NewReader(l.Bytes)); err != nil || c.Width != 512 || c.Height != 171 ||
		l.ContentType != "image/png" {
		t.Errorf("%s: %+v, %v", l.ContentType, c, err)
	}
	for want, b := range map[string][]byte{
		"picture invalid_format": []byte("<svg/>"), "picture too_large": append(picture.Bytes(), make([]byte, 10<<20)...),
	} {
		if got := details(set(b)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	h.ok(manager, operation.RemoveProgramLogo, program, nil)
	if left := hash(); left != "" {
		t.Errorf("the program has still the logo %s", left)
	}
}
