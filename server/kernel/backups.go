package kernel

import "context"

// Backups are those that the server makes in a folder.
type Backups interface {
	// Make makes a backup, or waits for the one that is being made. If ctx ends before
	// that, the backup is made nevertheless.
	Make(ctx context.Context) error

	// File returns the path of the backup with a name. It returns false if there is none.
	File(name string) (path string, ok bool)
}
