package mcp

// Text marks a text that the dashboard shows in the language of the person. server/web has
// the translations.
func Text(text string) string { return text }

// Client is a program with which an assistant uses the endpoint, and how it is set up.
type Client struct {
	ID   string // a word for URLs
	Name string
	File string // the file that Text belongs into; empty: none
	Doc  string // where Text belongs
	Text string
}

// Clients returns how each client is set up with the URL of the endpoint and a key.
// README.md has the same.
func Clients(url, key string) []Client {
	bearer := "Authorization: Bearer " + key
	return []Client{
		{"claude-code", "Claude Code", "", Text("Run this in a terminal, in the folder in which you use Claude Code."),
			`claude mcp add --transport http punchcard ` + url + ` --header "` + bearer + `"`},
		{
			"cursor",
			"Cursor",
			".cursor/mcp.json",
			Text("Put this into the file .cursor/mcp.json of a project, or of your home folder for all projects."),
			`{
  "mcpServers": {
    "punchcard": {
      "url": ` + quote(url) + `,
      "headers": {"Authorization": ` + quote("Bearer "+key) + `}
    }
  }
}`,
		},
		{
			"vs-code",
			"VS Code",
			".vscode/mcp.json",
			Text(
				"Put this into the file .vscode/mcp.json of a project. VS Code asks for the key when it first connects, so it is " +
					"not in the file.",
			),
			`{
  "servers": {
    "punchcard": {
      "type": "http",
      "url": ` + quote(url) + `,
      "headers": {"Authorization": "Bearer ${input:punchcard-key}"}
    }
  },
  "inputs": [
    {"id": "punchcard-key", "type": "promptString", "description": "MCP key of punchcard", "password": true}
  ]
}`,
		},
		{
			"n8n",
			"n8n",
			"",
			Text(
				"Add the node MCP Client Tool to an AI agent, and fill it in like this. Keep the key in a credential of the kind " +
					"Bearer Auth.",
			),
			`Server Transport: HTTP Streamable
Endpoint:         ` + url + `
Authentication:   Bearer Auth
Bearer Token:     ` + key,
		},
		{
			"claude-desktop",
			"Claude Desktop",
			"claude_desktop_config.json",
			Text(
				"Install punchcard on the computer of the assistant, and put this into the file that opens under Settings → " +
					"Developer → Edit Config. Other assistants that start a program themselves take the same command.",
			),
			`{
  "mcpServers": {
    "punchcard": {
      "command": "punchcard",
      "args": ["mcp", "--url", ` + quote(url) + `],
      "env": {"PUNCHCARD_MCP_KEY": ` + quote(key) + `}
    }
  }
}`,
		},
	}
}
