package command

import (
	"punchcard/server/app"
)

// keyLimits are the flags of commands that create a key, which respect the limits of keys.
type keyLimits struct {
	app.KeyLimits `group:"Limits:"`
}

func (f *keyLimits) prepare(i *invocation) error {
	i.options.Limits = f.Store()
	i.liftedBy = "--api-key-max-per-shop (API_KEY_MAX_PER_SHOP) and --mcp-key-max-per-shop (MCP_KEY_MAX_PER_SHOP) raise it"
	return f.Check()
}
