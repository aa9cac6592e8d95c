package command

import (
	"fmt"
	"io"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Shop groups the commands on shops.
type Shop struct {
	Create ShopCreate `cmd:"" help:"Create a shop, and the file if it does not exist."`
	List   ShopList   `cmd:"" help:"List the shops of the file."`
	Update ShopUpdate `cmd:"" help:"Change a shop's plan, subscription or limits."`
}

// ShopFlags are the flags of a shop's settings.
type ShopFlags struct {
	Name              *string  `env:"-" help:"Name of the shop."`
	Timezone          *string  `env:"-" help:"IANA time zone, such as Europe/Rome."`
	Currency          *string  `env:"-" placeholder:"CODE" help:"Of amounts: ISO 4217, such as EUR."`
	Language          *string  `env:"-" enum:"en,it,es,fr,de,pt" help:"Of its pages and mail: en, it, es, fr, de or pt."`
	RequireTOTP       *bool    `name:"require-totp" env:"-" negatable:"" help:"Whether its owners and managers need a second factor."`
	SubscriptionState *string  `env:"-" enum:"active,past_due,suspended,cancelled" help:"active, past_due, suspended or cancelled."`
	APIAddon          *bool    `name:"api-addon" env:"-" negatable:"" help:"Whether the shop has the Business API add-on."`
	MCPAccess         *bool    `name:"mcp-access" env:"-" negatable:"" help:"Whether the shop may use the MCP connector."`
	GrantExpiresAt    *instant `env:"-" placeholder:"TIME" help:"Time until which the shop has API access without the add-on; none ends the access."`
	IncludedLocations *int64   `env:"-" help:"Number of locations included in the plan."`
	MaxLocations      *number  `env:"-" placeholder:"N" help:"Maximum number of locations; none for no limit."`
	MaxCards          *number  `env:"-" placeholder:"N" help:"Maximum number of live cards; none for no limit."`
}

// fields returns the settings that are given.
func (f ShopFlags) fields() (s store.ShopFields, err error) {
	s = store.ShopFields{Name: given(f.Name), Timezone: given(f.Timezone), Currency: given(f.Currency), Language: given(f.Language), RequireTOTP: given(f.RequireTOTP), SubscriptionState: given(f.SubscriptionState), APIAddon: given(f.APIAddon),
		MCPAccess: given(f.MCPAccess), IncludedLocations: given(f.IncludedLocations)}
	if s.GrantExpiresAt, err = f.GrantExpiresAt.opt("grant-expires-at"); err != nil {
		return s, err
	}
	if s.MaxLocations, err = f.MaxLocations.opt("max-locations"); err != nil {
		return s, err
	}
	s.MaxCards, err = f.MaxCards.opt("max-cards")
	return s, err
}

// printShops prints a table of shops.
func printShops(w io.Writer, shops ...store.Shop) {
	fmt.Fprintln(w, "ID\tNAME\tMODE\tTIMEZONE\tSUBSCRIPTION\tAPI ADD-ON")
	for _, s := range shops {
		printf(w, "%s\t%s\t%s\t%s\t%s\t%t\n", s.ID, s.Name, s.Mode, s.Timezone, s.SubscriptionState, s.APIAddon)
	}
}

// printShop prints a table of one shop.
func printShop(w io.Writer, sh store.Shop) { printShops(w, sh) }

// ShopCreate is the command that creates a shop.
type ShopCreate struct {
	File
	Mode string `env:"-" enum:"live,test" default:"live" help:"live or test; the prefix of the shop's keys says which."`
	ShopFlags
}

// Run creates the shop.
func (c *ShopCreate) Run() error {
	f, err := c.fields()
	if err != nil {
		return err
	}
	if !f.Name.Set {
		return fmt.Errorf("--name: is required")
	}
	f.Mode = store.Given(c.Mode)
	sh, err := doIn[store.Shop](c.File, store.Options{}, noShop, operation.CreateShop, kernel.Args{Fields: f})
	if err != nil {
		return err
	}
	shops, err := doIn[operation.List[store.Shop]](c.File, existing, noShop, operation.ListShops, kernel.Args{})
	if err != nil {
		return err
	}
	return c.show(&sh, func(w io.Writer) {
		printShop(w, sh)
		if n := len(shops.Data); n > 1 {
			fmt.Fprintf(w, "\nThe file has %d shops now, so commands need --shop.\n", n)
		}
	})
}

// ShopList is the command that lists shops.
type ShopList struct{ File }

// Run lists the shops.
func (c *ShopList) Run() error {
	shops, err := doIn[operation.List[store.Shop]](c.File, existing, noShop, operation.ListShops, kernel.Args{})
	if err != nil {
		return err
	}
	return c.show(&shops, func(w io.Writer) { printShops(w, shops.Data...) })
}

// ShopUpdate is the command that changes a shop's settings.
type ShopUpdate struct {
	OfShop
	ShopFlags
	Reason *string `env:"-" placeholder:"TEXT" help:"Reason for the change of the subscription, which webhooks send; one line."`
}

// Run changes the settings.
func (c *ShopUpdate) Run() error {
	f, err := c.fields()
	if err != nil {
		return err
	}
	return run(c.OfShop, operation.UpdateShop, kernel.Args{Fields: operation.ShopPatch{ShopFields: f, Reason: given(c.Reason)}}, printShop)
}
