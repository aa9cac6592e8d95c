//go:build race

package dev

// Under the race detector everything takes ten times as long.
func init() { seedSize = 100 }
