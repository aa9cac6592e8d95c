package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"punchcard/server/app"
	"punchcard/store"
)

// Program groups the operators' side of programs.
type Program struct {
	Update ProgramUpdate `cmd:"" help:"Change what only operators set."`
	Delete ProgramDelete `cmd:"" help:"Delete a program: its cards are archived, its webhooks go, its ledger stays."`
}

// ProgramUpdate changes operators' settings.
type ProgramUpdate struct {
	OfShop
	ID            string  `arg:"" help:"The program."`
	MinSpendCents *number `env:"-" required:"" placeholder:"N" help:"A stamp demands a purchase of at least this; none takes the demand away."`
}

// Run changes them.
func (c *ProgramUpdate) Run() error {
	cents, err := c.MinSpendCents.opt("min-spend-cents")
	if err != nil {
		return err
	}
	if cents.Set && !cents.Null && (cents.V < 1 || cents.V > 100_000_000) {
		return fmt.Errorf("--min-spend-cents: must be from 1 to 100000000, or none")
	}
	var p store.ProgramDetail
	err = c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		p, err = tx.SetMinSpend(shop, c.ID, cents)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&p, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", p.ID, p.Name) })
}

// ProgramDelete deletes a program.
type ProgramDelete struct {
	OfShop
	ID string `arg:"" help:"The program."`
}

// gone is what a deletion prints as JSON.
type gone struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// Run deletes it.
func (c *ProgramDelete) Run() error {
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) error { return tx.DeleteProgram(shop, c.ID) })
	if err != nil {
		return err
	}
	return c.show(&gone{c.ID, true}, func(w io.Writer) { fmt.Fprintf(w, "%s deleted\n", c.ID) })
}

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

func (c OneCard) act(do func(tx *store.Tx, shop int64) (store.CardDetail, error)) error {
	var d store.CardDetail
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		d, err = do(tx, shop)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&d, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", d.ID, d.Status) })
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
func (c *CardLock) Run() error {
	return c.act(func(tx *store.Tx, shop int64) (store.CardDetail, error) { return tx.SetCardLocked(shop, c.ID, true) })
}

// Run unlocks.
func (c *CardUnlock) Run() error {
	return c.act(func(tx *store.Tx, shop int64) (store.CardDetail, error) { return tx.SetCardLocked(shop, c.ID, false) })
}

// Run archives.
func (c *CardArchive) Run() error {
	return c.act(func(tx *store.Tx, shop int64) (store.CardDetail, error) { return tx.ArchiveCard(shop, c.ID) })
}

// Run erases.
func (c *CardDelete) Run() error {
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) error { return tx.EraseCard(shop, c.ID) })
	if err != nil {
		return err
	}
	return c.show(&gone{c.ID, true}, func(w io.Writer) { fmt.Fprintf(w, "%s deleted\n", c.ID) })
}

// Run reissues.
func (c *CardReissue) Run() error {
	var out store.IssuedCard
	err := c.with(store.Options{MustExist: true, PublicURL: strings.TrimRight(c.PublicURL, "/")}, func(st *store.Store) error {
		shop, err := st.ResolveShop(c.Shop)
		if err != nil {
			return err
		}
		return st.Write(context.Background(), store.Write{Actor: person(), Do: func(tx *store.Tx) (err error) {
			out, err = tx.ReissueCard(store.Access{Shop: shop}, c.ID, store.ReissueFields{})
			return err
		}})
	})
	if err != nil {
		return err
	}
	return c.show(&out, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\nInstall link, shown this once:\n\n%s\n", out.ID, out.InstallURL)
	})
}

// Audit prints the audit log.
type Audit struct {
	OfShop
	Limit int `default:"100" env:"-" help:"Most rows; 0 for all."`
}

// Run prints.
func (c *Audit) Run() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit: must not be negative")
	}
	var all []store.AuditRow
	err := c.read(func(v *store.View, shop int64) (err error) {
		all, err = pages(func(q store.PageQuery) (store.Page[store.AuditRow], error) { return v.AuditLog(shop, q) }, c.Limit)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&list[store.AuditRow]{all}, func(w io.Writer) {
		fmt.Fprintln(w, "AT\tACTOR\tACTION\tTARGET")
		for _, a := range all {
			who := a.ActorType
			if a.ActorID.Valid {
				who += " " + a.ActorID.V
			} else if a.ActorName.Valid {
				who += " " + a.ActorName.V
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.At, who, a.Action, a.TargetID)
		}
	})
}

// Check verifies a file.
type Check struct {
	File
	Rebuild bool `help:"First make the sums that statistics read anew from the ledger. Other writes wait meanwhile."`
}

// Run verifies; a finding makes the exit code 1.
func (c *Check) Run() error {
	var answer struct {
		OK       bool     `json:"ok"`
		Findings []string `json:"findings"`
	}
	err := c.with(store.Options{MustExist: true, Readers: 1}, func(st *store.Store) (err error) {
		if c.Rebuild {
			if err := st.Write(context.Background(), store.Write{Actor: person(), Do: (*store.Tx).Recount}); err != nil {
				return err
			}
		}
		answer.Findings, err = st.Check()
		return err
	})
	if err != nil {
		return err
	}
	answer.OK = len(answer.Findings) == 0
	if err := c.show(&answer, func(w io.Writer) {
		for _, f := range answer.Findings {
			fmt.Fprintln(w, f)
		}
		if answer.OK {
			fmt.Fprintln(w, "ok")
		}
	}); err != nil {
		return err
	}
	if !answer.OK {
		fmt.Fprintf(os.Stderr, "%s: %d findings\n", c.DB, len(answer.Findings))
		os.Exit(1)
	}
	return nil
}

// Version prints the version.
type Version struct{}

// Run prints the release; a build from a checkout adds its commit.
func (Version) Run() error {
	s := app.Version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, v := range info.Settings {
			if v.Key == "vcs.revision" {
				s += "+" + v.Value[:min(12, len(v.Value))]
			}
		}
	}
	_, err := fmt.Fprintln(Out, "punchcard "+s)
	return err
}
