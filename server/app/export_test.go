package app

// Sweep is one run of the housekeeping over the delivery log.
func (a *App) Sweep() error { return a.sweep(sweepRest) }
