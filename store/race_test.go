//go:build race

package store

func init() { racing = true }
