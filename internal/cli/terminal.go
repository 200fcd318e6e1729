package cli

import (
	"os"

	"github.com/cascadapay/cascada/internal/printable"
)

// Stdout is what commands print to. The output may contain text from shops, which is not trusted.
var Stdout = printable.Safely(os.Stdout)
