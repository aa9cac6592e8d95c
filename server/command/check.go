package command

import (
	"context"
	"fmt"
	"io"
	"os"

	"punchcard/server/app"
	"punchcard/store"
)

// Check is the command that verifies a file.
type Check struct {
	File
	Quick   bool `env:"-" help:"Verify only the schema, the id secret and the integrity, not the invariants, which take long for a large file. Also for a file of an older version."`
	Rebuild bool `help:"First compute the sums of the statistics again from the ledger. Other writes wait meanwhile."`
}

// Run verifies the file and prints the findings. With findings the exit status is 1.
func (c *Check) Run() error {
	var answer struct {
		OK       bool     `json:"ok"`
		Findings []string `json:"findings"`
	}
	var err error
	if answer.Findings, err = c.findings(); err != nil {
		return err
	}
	answer.OK = len(answer.Findings) == 0
	if err := c.show(&answer, func(w io.Writer) {
		for _, f := range answer.Findings {
			printf(w, "%s\n", f)
		}
		if answer.OK {
			fmt.Fprintln(w, "ok")
		}
	}); err != nil {
		return err
	}
	if !answer.OK {
		printf(os.Stderr, "%s: %d findings\n", c.DB, len(answer.Findings))
		os.Exit(1)
	}
	return nil
}

// findings returns what is wrong with the file, and makes its statistics again before. A quick
// check accepts a file of an older version.
func (c *Check) findings() (all []string, err error) {
	if c.Rebuild || !c.Quick {
		err = c.with(existing, func(st *store.Store) (err error) {
			if c.Rebuild {
				if err := st.Write(context.Background(), store.Write{Actor: person(0).Actor, Do: (*store.Tx).RecountStats}); err != nil {
					return err
				}
			}
			if !c.Quick {
				all, err = st.Check()
			}
			return err
		})
	}
	if err != nil || !c.Quick {
		return all, err
	}
	return store.CheckQuick(context.Background(), c.DB, commandProgress(true))
}

// Version is the command that prints the version.
type Version struct{}

// Run prints the version, with the commit if the binary was built in a checkout.
func (Version) Run() error {
	_, err := fmt.Fprintln(Out, "punchcard "+app.BuildVersion())
	return err
}
