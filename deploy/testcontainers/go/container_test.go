//go:build docker

package punchcard_test

import (
	"cmp"
	"os"
	"testing"

	punchcard "example.com/punchcard/testcontainers"
	"github.com/testcontainers/testcontainers-go"
)

func TestRun(t *testing.T) {
	server, err := punchcard.Run(t.Context(), cmp.Or(os.Getenv("PUNCHCARD_IMAGE"), "punchcard:latest"))
	testcontainers.CleanupContainer(t, server)
	if err != nil {
		t.Fatal(err)
	}
	stampCard(t, server)
}
