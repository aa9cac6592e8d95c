package command

import (
	"errors"
	"fmt"
	"io"

	"punchcard/store"
)

// Migrate is the command that brings a file of an older version to the current schema.
type Migrate struct {
	File
	NoCopy bool `env:"-" help:"Migrate without a copy of the file beside it."`
	Quiet  bool `env:"-" help:"Do not show the progress."`
}

// migrateResult is the JSON that migrate prints.
type migrateResult struct {
	File string             `json:"file"`
	From int64              `json:"from"`
	To   int64              `json:"to"`
	Copy store.Null[string] `json:"copy"`
}

// Run migrates the file.
func (c *Migrate) Run() error {
	ctx, stop := interruptible()
	defer stop()
	opts := store.Options{Context: ctx, NoCopy: c.NoCopy}
	if !c.Quiet {
		opts.Progress = commandProgress(false)
	}
	m, err := store.Migrate(c.DB, opts)
	if err != nil {
		return orWithoutCopy(err)
	}
	out := migrateResult{c.DB, m.From, m.To, store.Null[string]{V: m.Copy, Valid: m.Copy != ""}}
	return c.show(&out, func(w io.Writer) {
		switch {
		case m.From == m.To:
			printf(w, "%s: has schema %d already\n", out.File, out.To)
		case out.Copy.Valid:
			printf(w, "%s: schema %d → %d; %s is the file as it was\n", out.File, out.From, out.To, out.Copy.V)
		default:
			printf(w, "%s: schema %d → %d\n", out.File, out.From, out.To)
		}
	})
}

// orWithoutCopy adds the flag that lifts the refusal of a migration without a copy.
func orWithoutCopy(err error) error {
	if errors.Is(err, store.ErrNotCopied) {
		return fmt.Errorf("%w; --no-copy migrates it all the same", err)
	}
	return err
}
