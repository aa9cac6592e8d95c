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
	Enroll
}

// Enroll has the flags of how customers make cards themselves.
type Enroll struct {
	On         *bool   `name:"enroll" env:"-" negatable:"" help:"Whether customers can make cards themselves, by the form at /join/SLUG."`
	Slug       *string `name:"enroll-slug" env:"-" placeholder:"SLUG" help:"The end of the form's address."`
	MaxCards   *int64  `name:"enroll-max-cards" env:"-" placeholder:"N" help:"Cards that the form may ever make."`
	Name       *string `name:"enroll-name" env:"-" placeholder:"RULE" help:"Whether the form asks for a name: required, optional or off."`
	Email      *string `name:"enroll-email" env:"-" placeholder:"RULE" help:"The same for an email."`
	Consent    *string `name:"enroll-consent" env:"-" placeholder:"TEXT" help:"What customers have to agree to; none removes it."`
	PrivacyURL *string `name:"enroll-privacy-url" env:"-" placeholder:"URL" help:"Link to the privacy notice; none removes it."`
}

// fields returns the fields of the operation.
func (e Enroll) fields() store.EnrolmentFields {
	return store.EnrolmentFields{Enabled: given(e.On), Slug: given(e.Slug), MaxCards: given(e.MaxCards), Name: given(e.Name), Email: given(e.Email), Consent: orNone(e.Consent), PrivacyURL: orNone(e.PrivacyURL)}
}

// orNone returns the field of a flag that takes a text, or none to clear the field.
func orNone(text *string) store.Opt[string] {
	if text != nil && *text == "none" {
		return store.Opt[string]{Set: true, Null: true}
	}
	return given(text)
}

// Run changes the settings.
func (c *ProgramUpdate) Run() error {
	settings, enroll := c.MinSpendCents != nil || c.MaxStampsPerDay != nil, c.Enroll != Enroll{}
	switch {
	case !settings && !enroll:
		return errors.New("missing flags: --min-spend-cents=N, --max-stamps-per-day=N, or those that begin with --enroll")
	case settings && enroll:
		return errors.New("the flags that begin with --enroll need a command of their own")
	case enroll:
		return run(c.OfShop, operation.UpdateEnrolment, kernel.Args{Params: on(c.ID), Fields: c.Enroll.fields()}, func(w io.Writer, e store.Enrolment) {
			state := "off"
			if e.Enabled {
				state = "on"
			}
			printf(w, "%s  %s  /join/%s  %d of %d cards\n", c.ID, state, e.Slug.V, e.Cards, e.MaxCards.V)
		})
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
