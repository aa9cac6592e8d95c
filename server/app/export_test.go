package app

import (
	"context"
	"log/slog"

	"punchcard/store"
)

// Sweep is one run of the housekeeping over the delivery log.
func (a *App) Sweep() error { return a.sweep(sweepRest) }

// Run makes backups until ctx ends.
func (b *Backups) Run(ctx context.Context, st *store.Store, log *slog.Logger) { b.run(ctx, st, log) }
