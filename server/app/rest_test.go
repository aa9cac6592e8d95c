package app_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

// TestAnswerBeforeBody checks that a client which closes the connection after each request reads an
// answer that was given before its body was read.
func TestAnswerBeforeBody(t *testing.T) {
	s := servertest.Start(t)
	s.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	cards := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	for range 20 {
		for _, n := range []int{200 << 10, 1<<20 + 1, 3 << 20} {
			s.With("").Post(cards, strings.Repeat("1", n)).Want(http.StatusUnauthorized)
			if n > kernel.MaxBody {
				s.Post(cards, strings.Repeat("1", n)).Want(http.StatusRequestEntityTooLarge)
			}
		}
	}
}
