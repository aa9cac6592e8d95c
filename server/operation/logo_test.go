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
	t.Parallel()
	s := open(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 900, 300))); err != nil {
		t.Fatal(err)
	}
	created, err := kernel.Do[store.ProgramDetail](t.Context(), s.Kernel, s.person(kernel.Manager), operation.CreateProgram,
		kernel.Args{Fields: store.ProgramFields{Name: store.Given("Tea"), Type: store.Given("standard"), TotalStamps: store.Given[int64](5), IconKey: store.Given("cup")}})
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]string{"id": created.ID}
	set := func(b []byte) error {
		_, err := s.Invoke(t.Context(), s.person(kernel.Manager), operation.SetProgramLogo, kernel.Args{Params: params, Fields: operation.LogoFields{Picture: store.Given(b)}})
		return err
	}
	hash := func() string {
		p, err := kernel.Do[store.ProgramForm](t.Context(), s.Kernel, s.person(kernel.Viewer), operation.GetProgramForm, kernel.Args{Params: params})
		if err != nil {
			t.Fatal(err)
		}
		return p.LogoHash.V
	}
	if err := set(picture.Bytes()); err != nil {
		t.Fatal(err)
	}
	l, err := kernel.Do[store.Logo](t.Context(), s.Kernel, kernel.HolderCaller(), operation.GetLogo, kernel.Args{Params: map[string]string{"hash": hash()}})
	if err != nil || l.ContentType != "image/png" {
		t.Fatal(l, err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(l.Bytes)); err != nil || c.Width != 512 || c.Height != 171 {
		t.Errorf("%+v, %v", c, err)
	}
	for want, b := range map[string][]byte{"picture invalid_format": []byte("<svg/>"), "picture too_large": append(picture.Bytes(), make([]byte, 10<<20)...)} {
		if got := details(set(b)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if _, err := s.Invoke(t.Context(), s.person(kernel.Manager), operation.RemoveProgramLogo, kernel.Args{Params: params}); err != nil || hash() != "" {
		t.Errorf("%q, %v", hash(), err)
	}
}
