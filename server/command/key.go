package command

import (
	"fmt"
	"io"
	"time"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Key groups the commands on keys.
type Key struct {
	Create    KeyCreate    `cmd:"" help:"Create a key and print it; it is shown only once."`
	List      KeyList      `cmd:"" help:"List the shop's keys, newest first, with the calls of MCP keys today and in 30 days, by UTC."`
	Rotate    KeyRotate    `cmd:"" help:"Create a successor and print it, only once; the old key stays valid for the overlap."`
	Revoke    KeyRevoke    `cmd:"" help:"Revoke a key, from the next request on."`
	RevokeAll KeyRevokeAll `cmd:"" help:"Revoke all keys of the shop."`
}

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
func printKey(w io.Writer, k store.Key) {
	fmt.Fprintln(w, keyHeading)
	printKeyRow(w, k)
	fmt.Fprintln(w)
}

// printKeys prints a table of keys. Calls are counted of MCP keys alone.
func printKeys(w io.Writer, keys operation.List[store.KeyInfo]) {
	fmt.Fprintln(w, keyHeading+"\tCALLS TODAY\tIN 30 DAYS")
	for _, k := range keys.Data {
		printKeyRow(w, k.Key)
		if k.Class == "mcp" {
			printf(w, "\t%d\t%d\n", k.CallsToday, k.Calls30d)
		} else {
			printf(w, "\t-\t-\n")
		}
	}
}

// create runs an operation that creates a key, under the limits of keys, and prints
// the key with its secret.
func (c OfShop) create(lim app.KeyLimits, op *kernel.Operation, args kernel.Args) error {
	if err := lim.Check(); err != nil {
		return err
	}
	k, err := do[operation.CreatedKey](c, store.Options{MustExist: true, Limits: lim.Store()}, op, args)
	if err != nil {
		return err
	}
	return c.show(&k, func(w io.Writer) {
		printKey(w, k.Key)
		printf(w, "\nThe key, shown this once:\n\n%s\n", k.Secret)
	})
}

// KeyCreate is the command that creates a key.
type KeyCreate struct {
	OfShop
	Name          string   `env:"-" required:"" help:"What the key is for."`
	Class         string   `env:"-" enum:"api,mcp" default:"api" help:"api or mcp."`
	Scope         []string `env:"-" help:"Scopes such as cards:read; default: every scope, of an MCP key those that read."`
	Location      []string `env:"-" help:"Restrict the key to these locations, by id or name."`
	Expires       *instant `env:"-" placeholder:"WHEN" help:"A time, a number of days such as 90d, or never. Default: never."`
	app.KeyLimits `group:"Limits:"`
}

// Run creates the key.
func (c *KeyCreate) Run() (err error) {
	f := store.KeyFields{Name: store.Given(c.Name), Class: store.Given(c.Class)}
	if len(c.Scope) > 0 {
		f.Scopes = store.Given(c.Scope)
	}
	if len(c.Location) > 0 {
		ids, err := c.ids(aLocation, c.Location)
		if err != nil {
			return err
		}
		f.LocationIDs = store.Given(ids)
	}
	if f.ExpiresAt, err = c.Expires.opt("expires"); err != nil {
		return err
	}
	return c.create(c.KeyLimits, operation.CreateKey, kernel.Args{Fields: f})
}

// KeyList is the command that lists keys.
type KeyList struct{ OfShop }

// Run lists the keys.
func (c *KeyList) Run() error {
	return run(c.OfShop, operation.ListKeyInfos, kernel.Args{}, printKeys)
}

// KeyRotate is the command that rotates a key.
type KeyRotate struct {
	OfShop
	ID            string `arg:"" help:"The key: its id or name."`
	app.KeyLimits `group:"Limits:"`
}

// Run creates the successor and prints it.
func (c *KeyRotate) Run() error {
	id, err := c.id(aKey, c.ID)
	if err != nil {
		return err
	}
	return c.create(c.KeyLimits, operation.RotateKey, kernel.Args{Params: on(id)})
}

// KeyRevoke is the command that revokes a key.
type KeyRevoke struct {
	OfShop
	ID string `arg:"" help:"The key: its id or name."`
}

// Run revokes the key.
func (c *KeyRevoke) Run() error {
	return act(c.OfShop, aKey, c.ID, operation.RevokeKey, nil, printKey)
}

// KeyRevokeAll is the command that revokes all keys of a shop.
type KeyRevokeAll struct {
	OfShop
	confirmFlag
}

// Run revokes the keys.
func (c *KeyRevokeAll) Run() error {
	if err := c.confirm("Revoke all keys of the shop?"); err != nil {
		return err
	}
	return run(c.OfShop, operation.RevokeAllKeys, kernel.Args{}, func(w io.Writer, r operation.RevokedKeys) {
		printf(w, "%s revoked\n", counted(r.Revoked, "key"))
	})
}
