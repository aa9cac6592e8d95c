package command

import (
	"errors"
	"fmt"

	"punchcard/server/operation"
	"punchcard/store"
)

// shopFlags are the flags of a shop's settings.
type shopFlags struct {
	Name              *string `env:"-" help:"Name of the shop."`
	Timezone          *string `env:"-" help:"IANA time zone, such as Europe/Rome."`
	CountryCode       *string `env:"-" placeholder:"CC" help:"Its country: two letters A-Z, such as IT."`
	Currency          *string `env:"-" placeholder:"CODE" help:"Of amounts: ISO 4217, such as EUR."`
	Language          *string `env:"-" enum:"en,it,es,fr,de,pt" help:"Of its pages and mail: en, it, es, fr, de or pt."`
	RequireTOTP       *bool   `name:"require-totp" env:"-" negatable:"" help:"Whether its owners and managers need a second factor."`
	SubscriptionState *string `env:"-" enum:"active,past_due,suspended,cancelled" help:"active, past_due, suspended or cancelled."`
	APIAddon          *bool   `name:"api-addon" env:"-" negatable:"" help:"Whether the shop has the Business API add-on."`
	MCPAccess         *bool   `name:"mcp-access" env:"-" negatable:"" help:"Whether the shop may use the MCP connector."`
	GrantExpiresAt    *expiry `env:"-" placeholder:"TIME" help:"Time until which the shop has API access without the add-on; none ends the access."`
	IncludedLocations *int64  `env:"-" help:"Number of locations included in the plan."`
	MaxLocations      *number `env:"-" placeholder:"N" help:"Maximum number of locations; none for no limit."`
	MaxCards          *number `env:"-" placeholder:"N" help:"Maximum number of live cards; none for no limit."`
}

// shopCreateFlags are the flags of shop create.
type shopCreateFlags struct {
	Mode string `env:"-" enum:"live,test" default:"live" help:"live or test; the prefix of the shop's keys says which."`
	shopFlags
	shops int // in the file, with the new one
}

func (f *shopCreateFlags) check() error {
	if f.Name == nil {
		return errors.New("--name: is required")
	}
	return nil
}

// configure allows the command to create the file.
func (f *shopCreateFlags) configure(o *store.Options) { o.MustExist = false }

// shopUpdateFlags are the flags of shop update.
type shopUpdateFlags struct {
	shopFlags
	Reason *string `env:"-" placeholder:"TEXT" help:"Reason for the change of the subscription, which webhooks send; one line."`
}

// shopCreation returns the action that creates a shop and counts those of the file.
func shopCreation() action {
	a := bindRow(operation.CreateShop, printShops)
	create, print := a.do, a.print
	a.do = func(i *invocation) (any, error) {
		shop, err := create(i)
		if err != nil {
			return nil, err
		}
		shops, err := readList[store.Shop](i.finder, operation.ListShops)
		i.bound.extras.(*shopCreateFlags).shops = len(shops)
		return shop, err
	}
	a.print = func(o output, answer any) {
		print(o, answer)
		if n := o.bound.extras.(*shopCreateFlags).shops; n > 1 {
			fmt.Fprintf(o, "\nThe file has %d shops now, so commands need --shop.\n", n)
		}
	}
	return a
}

// printShops prints a table of shops.
func printShops(o output, shops ...store.Shop) {
	fmt.Fprintln(o, "ID\tNAME\tMODE\tTIMEZONE\tSUBSCRIPTION\tAPI ADD-ON")
	for _, s := range shops {
		printf(o, "%s\t%s\t%s\t%s\t%s\t%t\n", s.ID, s.Name, s.Mode, s.Timezone, s.SubscriptionState, s.APIAddon)
	}
}
