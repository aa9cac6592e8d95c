package operation

import "punchcard/server/kernel"

// Declared returns every operation of the package.
func Declared() []*kernel.Operation { return declared }
