package mcp

import (
	"strings"

	"punchcard/server/kernel"
)

// ToolInfo is what tests know of a tool.
type ToolInfo struct {
	Name, Scope string // Scope is empty if the key needs none
	Asks        bool   // it shows the impact first
	schema      string
}

// Takes reports whether a tool has an argument.
func (t ToolInfo) Takes(argument string) bool { return strings.Contains(t.schema, `"`+argument+`"`) }

// Tools returns all tools.
func Tools() (list []ToolInfo) {
	for _, t := range allTools() {
		info := ToolInfo{Name: t.name, schema: t.schema}
		info.Asks = info.Takes("confirm_token")
		if t.scope != kernel.AnyKey {
			info.Scope = t.scope
		}
		list = append(list, info)
	}
	return list
}
