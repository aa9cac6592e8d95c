//go:build race

package api_test

func init() { racing = true }
