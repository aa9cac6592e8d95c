package store

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestEraseClearsMemory checks that the memory of SQLite does not have the name of an erased person: neither what
// connections keep nor what they have freed. It runs alone: the list of what is mapped changes while it is read, if others use
// memory.
func TestEraseClearsMemory(t *testing.T) {
	f := startAlone(t, Options{})
	name := strings.Join([]string{"Ottilie", fmt.Sprint(os.Getpid()), "Unvergessen"}, "-")
	program := f.program(stamps("Coffee"))
	card := f.cardWith(program, CardFields{HolderName: set(name), HolderEmail: set(strings.ToLower(name) + "@erased.test")})
	for i := range 200 {
		f.cardOf(program, fmt.Sprint("Neighbour ", i))
	}
	for range 50 { // several readers
		f.read(card)
	}
	if inMemory(t, name) == 0 {
		t.Fatal("the name is not in memory before the erasure: the test checks nothing")
	}
	f.erase(card)
	for more := true; more; {
		more = must(f, func(tx *Tx) (bool, error) { return tx.WipePages(50) })
	}
	if n := inMemory(t, name); n > 0 {
		t.Errorf("the name is in memory at %d places after the erasure", n)
	}
}

// inMemory counts the parts of the memory of the process that have a text, whatever its case. That of Go, which does
// not overwrite what it frees, is left out.
func inMemory(t *testing.T, text string) (n int) {
	t.Helper()
	maps, err1 := os.ReadFile("/proc/self/maps")
	memory, err2 := os.Open("/proc/self/mem")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, until int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &until, &mode); n != 3 || !strings.HasPrefix(mode, "rw") || until < 0x7000<<32 {
			continue
		}
		const part, overlap = 1 << 16, 1 << 10
		b := make([]byte, part+overlap)
		for ; from < until; from += part {
			if read, _ := memory.ReadAt(b, from); bytes.Contains(bytes.ToLower(b[:read]), bytes.ToLower([]byte(text))) {
				n++
			}
		}
	}
	return n
}
