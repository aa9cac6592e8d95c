package mcp

import (
	"strings"

	"punchcard/server/kernel"
)

// ToolInfo is what README.md says of a tool.
type ToolInfo struct {
	Name, Scope string // Scope is empty if the key needs none
	Asks        bool   // it shows the impact first
}

// Tools returns all tools.
func Tools() (list []ToolInfo) {
	for _, t := range allTools() {
		info := ToolInfo{Name: t.name, Asks: strings.Contains(t.schema, `"confirm_token"`)}
		if t.scope != kernel.AnyKey {
			info.Scope = t.scope
		}
		list = append(list, info)
	}
	return list
}
