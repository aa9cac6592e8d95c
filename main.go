// Command punchcard is a server for loyalty and access cards: one binary on one
// SQLite file.
package main

import (
	"fmt"
	"os"

	"punchcard/server/command"
)

func main() {
	args := os.Args[1:]
	command.CatchSignals(args)
	if err := command.Run(args); err != nil {
		fmt.Fprintln(os.Stderr, "punchcard: "+command.Printable(err.Error()))
		os.Exit(1)
	}
}
