//go:build !linux

package store

import (
	"errors"
	"os"
)

func openWatch(string) (*os.File, error) { return nil, errors.ErrUnsupported }
