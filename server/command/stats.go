package command

import (
	"fmt"

	"punchcard/store"
)

// printSummary prints the main figures of the shop.
func printSummary(o output, s store.AnalyticsSummary) {
	printf(o, "Active locations\t%d\nActive programs\t%d\nTransactions of 30 days\t%d\nNew cards of 30 days\t%d\n",
		s.ActiveLocations, s.ActivePrograms, s.Activity30d, s.NewCards30d)
}

// printProgramStats prints the main figures of a program.
func printProgramStats(o output, s store.ProgramStats) {
	printf(o, "Active cards\t%s\n", figure(s.ActiveCards, "%d"))
	printf(o, "Stamps given\t%s\n", figure(s.TotalStampsAwarded, "%d"))
	printf(o, "Prizes redeemed\t%s\n", figure(s.PrizesRedeemed, "%d"))
	if s.CompletionRate != nil {
		*s.CompletionRate *= 100
	}
	printf(o, "Completed cards\t%s\n", figure(s.CompletionRate, "%.0f %%"))
	printf(o, "Days between stamps\t%s\n", figure(s.AvgDaysBetweenStamps, "%.1f"))
}

// figure returns a figure as text, or a dash if there is none.
func figure[T any](n *T, format string) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf(format, *n)
}
