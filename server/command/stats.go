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
	if s.CompletionRate != nil {
		*s.CompletionRate *= 100
	}
	printf(o, "Active cards\t%s\nStamps given\t%s\nPrizes redeemed\t%s\nCompleted cards\t%s\nDays between stamps\t%s\n",
		figure(s.ActiveCards, "%d"), figure(s.TotalStampsAwarded, "%d"), figure(s.PrizesRedeemed, "%d"),
		figure(s.CompletionRate, "%.0f %%"), figure(s.AvgDaysBetweenStamps, "%.1f"))
}

// figure returns a figure as text, or a dash if there is none.
func figure[T any](n *T, format string) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf(format, *n)
}
