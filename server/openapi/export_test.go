package openapi

var Prose = prose
