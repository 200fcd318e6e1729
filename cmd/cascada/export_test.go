package main

import (
	"io/fs"
	"runtime/debug"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/provider"
)

// Run is the program with other adapters than the built-in ones, and with the migrations of its next
// version.
func Run(migrations fs.FS, adapters ...provider.Adapter) {
	run(adapters, cli.NextVersion{Migrations: migrations})
}

// Stamped returns the version of a program whose build flags set none.
func Stamped(info *debug.BuildInfo) string { return stamped(info) }
