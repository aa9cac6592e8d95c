package command

import (
	"errors"
	"fmt"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// programFlags are the flags of program update: the settings that keys cannot set, or those of how
// customers make cards themselves, which are of another operation.
type programFlags struct {
	MinSpendCents   *number `env:"-" placeholder:"N" help:"Minimum purchase for a stamp, in cents; none removes the minimum."`
	MaxStampsPerDay *number `env:"-" placeholder:"N" help:"Maximum number of stamps of a card on one day of the shop's calendar; none removes the limit."`
	Enroll
}

// check refuses flags of both operations, and of none.
func (f *programFlags) check() error {
	settings, enroll := f.MinSpendCents != nil || f.MaxStampsPerDay != nil, f.Enroll != Enroll{}
	switch {
	case !settings && !enroll:
		return errors.New("missing flags: --min-spend-cents=N, --max-stamps-per-day=N, or those that begin with --enroll")
	case settings && enroll:
		return errors.New("the flags that begin with --enroll need a command of their own")
	}
	return nil
}

// enrolls reports whether the flags of program update are those of Enroll.
func enrolls(b *Bound) bool { return b.extras.(*programFlags).Enroll != Enroll{} }

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

// printEnrolment prints how customers make cards of a program.
func printEnrolment(o output, e store.Enrolment) {
	printf(o, "%s  %s  /join/%s  %d of %d cards\n", o.args.Param("id"), either(e.Enabled, "on", "off"), e.Slug.V, e.Cards, e.MaxCards.V)
}

// printProgramName prints a program's id and name.
func printProgramName(o output, p store.ProgramDetail) { printf(o, "%s  %s\n", p.ID, p.Name) }

// deleted is the JSON that a deletion prints.
type deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// remover returns the action that deletes the resource whose id is in a parameter.
func remover(op *kernel.Operation, param string) action {
	return action{op: op, do: func(i *invocation) (any, error) {
		_, err := kernel.Do[kernel.None](i.ctx, i.kernel, i.caller, op, i.args)
		return &deleted{i.args.Param(param), true}, err
	}, print: func(o output, answer any) { printf(o, "%s deleted\n", answer.(*deleted).ID) }}
}

// programRule says in a few words what a program gives.
func programRule(p store.Program) string {
	switch {
	case p.TotalStamps.Valid:
		return fmt.Sprintf("%d stamps", p.TotalStamps.V)
	case p.DiscountPercent.Valid:
		return fmt.Sprintf("%g %%", p.DiscountPercent.V)
	case p.InitialBalanceCents.Valid:
		return fmt.Sprintf(cents+" at first", p.InitialBalanceCents.V)
	}
	return "-"
}

// printPrograms prints a table of programs.
func printPrograms(o output, programs ...store.Program) {
	fmt.Fprintln(o, "ID\tNAME\tTYPE\tRULE\tSTATE")
	for _, p := range programs {
		printf(o, "%s\t%s\t%s\t%s\t%s\n", p.ID, p.Name, p.Type, programRule(p), operation.ProgramState(p))
	}
}

// printProgram prints a program and its prizes.
func printProgram(o output, p store.ProgramDetail) {
	printPrograms(o, p.Program)
	if len(p.Prizes) > 0 {
		fmt.Fprintln(o)
		printPrizes(o, p.Prizes...)
	}
}

// printProgramState prints a program's state after a change.
func printProgramState(o output, p store.ProgramDetail) {
	printf(o, "%s  %s  %s\n", p.ID, p.Name, operation.ProgramState(p.Program))
	if p.Active && store.CollectsStamps(p.Type) && len(p.Prizes) == 0 {
		fmt.Fprintln(o, "\nIt has no prizes: see punchcard prize add.")
	}
}

// printPrizes prints a table of prizes.
func printPrizes(o output, prizes ...store.Prize) {
	fmt.Fprintln(o, "PRIZE\tSTAMPS\tNAME\tDESCRIPTION")
	for _, z := range prizes {
		printf(o, "%s\t%d\t%s\t%s\n", z.ID, z.Threshold, z.Name, orDash(store.Some(z.Description), "%s"))
	}
}

// printLadder prints a table of the prizes of a program.
func printLadder(o output, l operation.Ladder) { printPrizes(o, l.Data...) }
