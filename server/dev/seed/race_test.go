//go:build race

package seed

// Everything takes ten times as long under the race detector.
func init() { seedSize = 100 }
