package app

import (
	"context"
	"log/slog"

	"punchcard/store"
)

// Services is a Service made of other services.
type Services = services

// NewBackups returns the Service that makes backups on schedule.
var NewBackups = newBackups

// NewHousekeeping returns the Service that deletes what has expired.
func NewHousekeeping(st *store.Store, log *slog.Logger) Service { return newHousekeeping(st, log) }

// PruneAttempts deletes old audit rows about failed sign-ins and the like.
func (a *App) PruneAttempts() error { return a.housekeeping.pruneAttempts(context.Background()) }
