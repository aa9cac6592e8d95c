package app

import (
	"context"
	"log/slog"

	"punchcard/store"
)

// Sweep is one run of the housekeeping over the delivery log.
func (a *App) Sweep() error { return a.sweep(sweepRest) }

// Routes are those that are served, the control API's own not among them.
func (a *App) Routes() []string { return a.kernel.Routes() }

// Run makes backups until ctx ends.
func (b *Backups) Run(ctx context.Context, st *store.Store, log *slog.Logger) { b.run(ctx, st, log) }
