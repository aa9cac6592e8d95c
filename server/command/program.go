package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Program groups the commands on programs.
type Program struct {
	kong.Plugins
	Update ProgramUpdate `cmd:"" help:"Change the settings that keys cannot set."`
}

// ProgramUpdate is the command that changes the settings that keys cannot set.
type ProgramUpdate struct {
	OfShop
	ID              string  `arg:"" help:"The program: its id or name."`
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
	}
	id, err := c.id(aProgram, c.ID)
	if err != nil {
		return err
	}
	c.ID = id
	if enroll {
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

// deleted is the JSON that a deletion prints.
type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// remover returns the action that deletes the resource whose id is in a parameter.
func remover(op *kernel.Operation, param string) action {
	return action{op, func(i *invocation) (any, error) {
		_, err := kernel.Do[kernel.None](i.ctx, i.kernel, i.caller, op, i.args)
		return &deleted{i.args.Param(param), true}, err
	}, func(w io.Writer, _ *Bound, answer any) { printf(w, "%s deleted\n", answer.(*deleted).ID) }}
}

// programRule says in a few words what a program gives.
func programRule(p store.Program) string {
	switch {
	case p.TotalStamps.Valid:
		return fmt.Sprintf("%d stamps", p.TotalStamps.V)
	case p.DiscountPercent.Valid:
		return fmt.Sprintf("%g %%", p.DiscountPercent.V)
	case p.InitialBalanceCents.Valid:
		return amount(p.InitialBalanceCents.V) + " at first"
	}
	return "-"
}

// printPrograms prints a table of programs.
func printPrograms(w io.Writer, programs ...store.Program) {
	fmt.Fprintln(w, "ID\tNAME\tTYPE\tRULE\tSTATE")
	for _, p := range programs {
		printf(w, "%s\t%s\t%s\t%s\t%s\n", p.ID, p.Name, p.Type, programRule(p), operation.ProgramState(p))
	}
}

// printProgram prints a program and its prizes.
func printProgram(w io.Writer, p store.ProgramDetail) {
	printPrograms(w, p.Program)
	if len(p.Prizes) > 0 {
		fmt.Fprintln(w)
		printLadder(w, operation.Ladder{Data: p.Prizes})
	}
}

// printProgramState prints a program's state after a change.
func printProgramState(w io.Writer, p store.ProgramDetail) {
	printf(w, "%s  %s  %s\n", p.ID, p.Name, operation.ProgramState(p.Program))
	if p.Active && store.CollectsStamps(p.Type) && len(p.Prizes) == 0 {
		fmt.Fprintln(w, "\nIt has no prizes: see punchcard prize add.")
	}
}

// printLadder prints a table of prizes.
func printLadder(w io.Writer, l operation.Ladder) {
	fmt.Fprintln(w, "PRIZE\tSTAMPS\tNAME\tDESCRIPTION")
	for _, z := range l.Data {
		printf(w, "%s\t%d\t%s\t%s\n", z.ID, z.Threshold, z.Name, orDash(store.Some(z.Description)))
	}
}

// printPrize prints a table of one prize.
func printPrize(w io.Writer, z store.Prize) { printLadder(w, operation.Ladder{Data: []store.Prize{z}}) }
