package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	"punchcard/server/app"
	"punchcard/server/operation"
	"punchcard/store"
)

const keyHeading = "ID\tPREFIX\tCLASS\tNAME\tSTATE\tSCOPES\tLOCATIONS"

// printKeyRow prints a key as a row of a table, without the end of the line.
func printKeyRow(w io.Writer, k store.Key) {
	now, state := store.TimeOf(time.Now()), "valid"
	switch {
	case k.RevokedAt.Valid:
		state = "revoked"
	case k.ExpiresAt.Valid && k.ExpiresAt.V <= now, k.RetiresAt.Valid && k.RetiresAt.V <= now:
		state = "expired"
	case k.RetiresAt.Valid:
		state = "until " + k.RetiresAt.V.String()
	case k.DisabledByPlanAt.Valid:
		state = "suspended"
	}
	scopes := fmt.Sprint(len(k.Scopes))
	if len(k.Scopes) == len(store.Scopes) {
		scopes = "all"
	}
	locations := "all"
	if n := len(k.LocationIDs); n > 0 {
		locations = fmt.Sprint(n)
	}
	printf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s", k.ID, k.Prefix, k.Class, k.Name, state, scopes, locations)
}

// printKey prints a table of one key.
func printKey(o output, k store.Key) {
	fmt.Fprintln(o, keyHeading)
	printKeyRow(o, k)
	fmt.Fprintln(o)
}

// printKeys prints a table of keys. Calls are counted of MCP keys alone.
func printKeys(o output, keys ...store.KeyInfo) {
	fmt.Fprintln(o, keyHeading+"\tCALLS TODAY\tIN 30 DAYS")
	for _, k := range keys {
		printKeyRow(o, k.Key)
		if k.Class == "mcp" {
			printf(o, "\t%d\t%d\n", k.CallsToday, k.Calls30d)
		} else {
			printf(o, "\t-\t-\n")
		}
	}
}

// printCreatedKey prints a new key with its secret.
func printCreatedKey(o output, k operation.CreatedKey) {
	printKey(o, k.Key)
	printf(o, "\nThe key, shown this once:\n\n%s\n", k.Secret)
}

// printRevokedKeys prints how many keys were revoked.
func printRevokedKeys(o output, r operation.RevokedKeys) {
	printf(o, "%s revoked\n", counted(r.Revoked, "key"))
}

// keyLimits are the flags of commands that create a key, which respect the limits of keys.
type keyLimits struct {
	app.KeyLimits `group:"Limits:"`
}

func (f *keyLimits) check() error { return f.Check() }

func (f *keyLimits) configure(o *store.Options) { o.Limits = f.Store() }

// explain names the flags that raise the maximum number of keys.
func (f *keyLimits) explain(err error) error {
	if strings.HasSuffix(err.Error(), "which is the maximum.") {
		return fmt.Errorf(
			"%w --api-key-max-per-shop (API_KEY_MAX_PER_SHOP) and --mcp-key-max-per-shop (MCP_KEY_MAX_PER_SHOP) raise it", err,
		)
	}
	return err
}

// keyFlags are the flags of key create.
type keyFlags struct {
	Name     string   `env:"-" required:"" help:"What the key is for."`
	Class    string   `env:"-" enum:"api,mcp" default:"api" help:"api or mcp."`
	Scope    []string `env:"-" help:"Scopes such as cards:read; default: every scope, of an MCP key those that read."`
	Location []string `env:"-" help:"Restrict the key to these locations, by id or name."`
	Expires  *expiry  `env:"-" placeholder:"WHEN" help:"A time, a number of days such as 90d, or never. Default: never."`
	keyLimits
}
