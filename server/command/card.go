package command

import (
	"io"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Card groups the commands on cards. Each acts on all cards that overflowed from one
// another.
type Card struct {
	Lock    CardLock    `cmd:"" help:"Stop a card from earning and redeeming."`
	Unlock  CardUnlock  `cmd:"" help:"Let a locked card work again."`
	Archive CardArchive `cmd:"" help:"Archive a card; its history stays."`
	Reissue CardReissue `cmd:"" help:"Give a card a new install link and QR code; the old ones stop working."`
	Delete  CardDelete  `cmd:"" help:"Erase the personal data of a card's holder; ledger rows stay."`
}

// OneCard has the flags of a command on one card.
type OneCard struct {
	OfShop
	ID string `arg:"" help:"The card."`
}

// act runs an operation on the card and prints its status.
func (c OneCard) act(op *kernel.Operation) error {
	return run(c.OfShop, op, kernel.Args{Params: on(c.ID)}, func(w io.Writer, d store.CardDetail) {
		printf(w, "%s  %s\n", d.ID, d.Status)
	})
}

type (
	// CardLock is the command that locks a card.
	CardLock struct{ OneCard }
	// CardUnlock is the command that unlocks a card.
	CardUnlock struct{ OneCard }
	// CardArchive is the command that archives a card.
	CardArchive struct{ OneCard }
	// CardDelete is the command that erases a card.
	CardDelete struct{ OneCard }
	// CardReissue is the command that gives a card a new install link.
	CardReissue struct {
		OneCard
		PublicURL string `name:"public-url" required:"" placeholder:"URL" help:"Base URL of the install link: the public URL of the server."`
	}
)

// Run locks the card.
func (c *CardLock) Run() error { return c.act(operation.LockCard) }

// Run unlocks the card.
func (c *CardUnlock) Run() error { return c.act(operation.UnlockCard) }

// Run archives the card.
func (c *CardArchive) Run() error { return c.act(operation.ArchiveCard) }

// Run erases the card.
func (c *CardDelete) Run() error { return remove(c.OfShop, operation.EraseCard, c.ID) }

// Run reissues the card and prints its new link.
func (c *CardReissue) Run() error {
	opts := store.Options{MustExist: true, PublicURL: strings.TrimRight(c.PublicURL, "/")}
	out, err := do[operation.IssuedCard](c.OfShop, opts, operation.ReissueCard, kernel.Args{Params: on(c.ID)})
	if err != nil {
		return err
	}
	return c.show(&out.IssuedCard, func(w io.Writer) {
		printf(w, "%s\n\nInstall link, shown this once:\n\n%s\n", out.ID, out.InstallURL)
	})
}
