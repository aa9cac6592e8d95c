// Package deploy contains the files by which a server is run, for the host
// cards.example.com.
package deploy

import _ "embed"

// Host is the host in the files, in the place of a shop's own.
const Host = "cards.example.com"

// Caddyfile is the configuration of a proxy in front of the server.
//
//go:embed Caddyfile
var Caddyfile string

// Unit is the unit file for systemd.
//
//go:embed punchcard.service
var Unit string
