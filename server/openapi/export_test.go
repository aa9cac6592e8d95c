package openapi

// Prose is prose, for tests.
var Prose = prose
