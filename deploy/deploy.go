// Package deploy embeds the configuration of a proxy and the unit of systemd for a server
// at the host cards.example.com.
package deploy

import _ "embed"

// Host is the host in the files, which a shop replaces by its own.
const Host = "cards.example.com"

// Caddyfile is the configuration of a proxy in front of the server.
//
//go:embed Caddyfile
var Caddyfile string

// Unit is the unit file for systemd.
//
//go:embed punchcard.service
var Unit string
