package command

import (
	"fmt"
	"io"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Card groups the operators' side of cards. Each acts on the whole chain of
// cards that overflowed from one another.
type Card struct {
	Lock    CardLock    `cmd:"" help:"Stop a card from earning and redeeming."`
	Unlock  CardUnlock  `cmd:"" help:"Let a locked card work again."`
	Archive CardArchive `cmd:"" help:"End a card; its history stays."`
	Reissue CardReissue `cmd:"" help:"Give the same card a new install link and QR code; the old ones die."`
	Delete  CardDelete  `cmd:"" help:"Erase a card's person: personal data goes, ledger rows stay."`
}

// OneCard is a command on one card.
type OneCard struct {
	OfShop
	ID string `arg:"" help:"The card."`
}

// act does an operation on the card and prints its status.
func (c OneCard) act(op *kernel.Operation) error {
	return run(c.OfShop, op, kernel.Args{Params: on(c.ID)}, func(w io.Writer, d store.CardDetail) {
		fmt.Fprintf(w, "%s  %s\n", d.ID, d.Status)
	})
}

type (
	// CardLock locks.
	CardLock struct{ OneCard }
	// CardUnlock unlocks.
	CardUnlock struct{ OneCard }
	// CardArchive archives.
	CardArchive struct{ OneCard }
	// CardDelete erases.
	CardDelete struct{ OneCard }
	// CardReissue reissues.
	CardReissue struct {
		OneCard
		PublicURL string `name:"public-url" required:"" placeholder:"URL" help:"What the install link begins with; that of the server."`
	}
)

// Run locks.
func (c *CardLock) Run() error { return c.act(operation.LockCard) }

// Run unlocks.
func (c *CardUnlock) Run() error { return c.act(operation.UnlockCard) }

// Run archives.
func (c *CardArchive) Run() error { return c.act(operation.ArchiveCard) }

// Run erases.
func (c *CardDelete) Run() error { return remove(c.OfShop, operation.EraseCard, c.ID) }

// Run reissues.
func (c *CardReissue) Run() error {
	opts := store.Options{MustExist: true, PublicURL: strings.TrimRight(c.PublicURL, "/")}
	out, err := do[operation.IssuedCard](c.OfShop, opts, operation.ReissueCard, kernel.Args{Params: on(c.ID)})
	if err != nil {
		return err
	}
	return c.show(&out.IssuedCard, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\nInstall link, shown this once:\n\n%s\n", out.ID, out.InstallURL)
	})
}
