package command

import (
	"errors"
	"io"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Program groups the commands on programs.
type Program struct {
	Update ProgramUpdate `cmd:"" help:"Change the settings that keys cannot set."`
	Delete ProgramDelete `cmd:"" help:"Delete a program: its cards are archived, its webhooks are deleted, its ledger stays."`
}

// ProgramUpdate is the command that changes the settings that keys cannot set.
type ProgramUpdate struct {
	OfShop
	ID              string  `arg:"" help:"The program."`
	MinSpendCents   *number `env:"-" placeholder:"N" help:"Minimum purchase for a stamp, in cents; none removes the minimum."`
	MaxStampsPerDay *number `env:"-" placeholder:"N" help:"Maximum number of stamps of a card on one day of the shop's calendar; none removes the limit."`
}

// Run changes the settings.
func (c *ProgramUpdate) Run() error {
	if c.MinSpendCents == nil && c.MaxStampsPerDay == nil {
		return errors.New("missing flags: --min-spend-cents=N or --max-stamps-per-day=N")
	}
	cents, err := c.MinSpendCents.opt("min-spend-cents")
	if err != nil {
		return err
	}
	stamps, err := c.MaxStampsPerDay.opt("max-stamps-per-day")
	if err != nil {
		return err
	}
	f := store.ProgramSettings{MinSpendCents: cents, MaxStampsPerDay: stamps}
	return run(c.OfShop, operation.UpdateProgramSettings, kernel.Args{Params: on(c.ID), Fields: f}, func(w io.Writer, p store.ProgramDetail) {
		printf(w, "%s  %s\n", p.ID, p.Name)
	})
}

// ProgramDelete is the command that deletes a program.
type ProgramDelete struct {
	OfShop
	ID string `arg:"" help:"The program."`
}

// Run deletes the program.
func (c *ProgramDelete) Run() error { return remove(c.OfShop, operation.DeleteProgram, c.ID) }

// deleted is the JSON that a deletion prints.
type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// remove runs an operation that deletes a resource, and prints its id.
func remove(c OfShop, op *kernel.Operation, id string) error {
	if _, err := do[kernel.None](c, existing, op, kernel.Args{Params: on(id)}); err != nil {
		return err
	}
	return c.show(&deleted{id, true}, func(w io.Writer) { printf(w, "%s deleted\n", id) })
}
