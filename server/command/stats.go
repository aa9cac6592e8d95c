package command

import (
	"fmt"
	"io"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Stats is the command that prints the main figures of the shop or of a program.
type Stats struct {
	OfShop
	Program string `arg:"" optional:"" help:"The program: its id or name. Default: the shop."`
}

// Run prints the figures.
func (c *Stats) Run() error {
	if c.Program == "" {
		return run(c.OfShop, operation.GetAnalyticsSummary, kernel.Args{}, func(w io.Writer, s store.AnalyticsSummary) {
			printf(w, "Active locations\t%d\nActive programs\t%d\nTransactions of 30 days\t%d\nNew cards of 30 days\t%d\n", s.ActiveLocations, s.ActivePrograms, s.Activity30d, s.NewCards30d)
		})
	}
	id, err := c.id(aProgram, c.Program)
	if err != nil {
		return err
	}
	return run(c.OfShop, operation.GetProgramStats, kernel.Args{Params: on(id)}, func(w io.Writer, s store.ProgramStats) {
		for _, row := range []struct {
			name   string
			figure *int64
		}{{"Active cards", s.ActiveCards}, {"Stamps given", s.TotalStampsAwarded}, {"Prizes redeemed", s.PrizesRedeemed}} {
			printf(w, "%s\t%s\n", row.name, figure(row.figure, "%d"))
		}
		if s.CompletionRate != nil {
			*s.CompletionRate *= 100
		}
		printf(w, "Completed cards\t%s\n", figure(s.CompletionRate, "%.0f %%"))
		printf(w, "Days between stamps\t%s\n", figure(s.AvgDaysBetweenStamps, "%.1f"))
	})
}

// figure returns a figure as text, or a dash if there is none.
func figure[T any](n *T, format string) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf(format, *n)
}
