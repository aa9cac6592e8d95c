package openapi

var (
	ErrorTexts = errorTexts
	Prose      = prose
)
