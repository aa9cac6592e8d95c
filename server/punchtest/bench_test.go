package punchtest_test

import (
	"testing"

	"punchcard/server/punchtest"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// BenchmarkStart measures the time from Start to the first answer.
func BenchmarkStart(b *testing.B) {
	start := func() *punchtest.Server {
		s := require.Must(punchtest.New())
		return s
	}
	start().Close() // the first server of a process creates the demo shop
	for b.Loop() {
		s := start()
		getMe(s, s.APIKey, 200)
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkReset measures the time from the start of a reset of a server with a thousand cards to
// the next answer.
func BenchmarkReset(b *testing.B) {
	s := punchtest.Start(b)
	for b.Loop() {
		b.StopTimer()
		for range servertest.Sized(1000, 20) {
			s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})
		}
		b.StartTimer()
		s.Reset()
		getMe(s, s.APIKey, 200)
	}
}
