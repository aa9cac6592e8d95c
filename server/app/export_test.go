package app

import (
	"context"
	"log/slog"

	"punchcard/store"
)

// Sweep runs the housekeeping of the delivery log once.
func (a *App) Sweep() error { return a.housekeeping.pruneDeliveries(context.Background(), batchPause) }

// Services is a Service made of other services.
type Services = services

// NewBackups returns the Service that makes backups on schedule.
var NewBackups = newBackups

// NewHousekeeping returns the Service that deletes what has expired.
func NewHousekeeping(st *store.Store, log *slog.Logger) Service { return newHousekeeping(st, log) }
