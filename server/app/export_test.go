package app

import (
	"context"
	"log/slog"

	"punchcard/store"
)

// Sweep is one run of the housekeeping over the delivery log.
func (a *App) Sweep() error { return a.housekeeping.pruneDeliveries(context.Background(), batchPause) }

// Routes are those that are served, the control API's own not among them.
func (a *App) Routes() []string { return a.kernel.Routes() }

// Services is a Service that consists of others.
type Services = services

// NewBackups returns the Service that makes backups on schedule.
var NewBackups = newBackups

// NewHousekeeping returns the Service that deletes what has expired.
func NewHousekeeping(st *store.Store, log *slog.Logger) Service { return newHousekeeping(st, log) }
