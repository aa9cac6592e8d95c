package punchtest_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"punchcard/server/punchtest"
)

// BenchmarkStart measures the time from Start to the first answer.
func BenchmarkStart(b *testing.B) {
	start(b).Close() // the first server of a process creates the demo shop
	for b.Loop() {
		s := start(b)
		s.Do("GET", "/me", s.APIKey, nil).Want(200)
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
		for range sized(1000, 20) {
			s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})
		}
		b.StartTimer()
		s.Reset()
		s.Do("GET", "/me", s.APIKey, nil).Want(200)
	}
}

// BenchmarkTwoHundred starts two hundred servers, each of which answers requests of every kind. The
// memory is that of the whole process.
func BenchmarkTwoHundred(b *testing.B) {
	servers := sized(200, 10)
	for b.Loop() {
		before := resident(b)
		all := make([]*punchtest.Server, servers)
		var ready sync.WaitGroup
		for i := range all {
			ready.Go(func() {
				s := start(b)
				all[i] = s
				r := s.Receiver()
				s.Webhook(s.Programs["standard"], r.URL)
				card := s.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})
				s.Till(s.Locations[0]).Stamp(card.ID, 3)
				s.Card(card.ID)
				r.Wait("stamp.assigned")
			})
		}
		ready.Wait()
		b.ReportMetric(resident(b), "MB")
		debug.FreeOSMemory() // returns memory that the runtime would return over time
		b.ReportMetric(resident(b), "MB-after-GC")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
		b.ReportMetric(float64(m.StackInuse)/1e6, "stack-MB")
		b.ReportMetric(before, "before-MB")
		b.ReportMetric(float64(runtime.NumGoroutine())/float64(servers), "goroutines/server")
		for _, s := range all {
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		}
		debug.FreeOSMemory()
	}
}

func start(tb testing.TB) *punchtest.Server {
	s, err := punchtest.New()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// resident returns the memory of the process in MB; 0 if the system does not report it.
func resident(tb testing.TB) (mb float64) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			fmt.Sscan(rest, &mb)
		}
	}
	return mb / 1e3 // kB
}

// sized returns full, or short in a run with -short. It repeats servertest.Sized, since the test
// harness takes memory that the figures would include.
func sized(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}
