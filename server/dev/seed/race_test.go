//go:build race

package seed

// init makes the large seed smaller, since the race detector makes everything ten times slower.
func init() { seedSize = 100 }
