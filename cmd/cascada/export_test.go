package main

import (
	"io/fs"
	"runtime/debug"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/provider"
)

// Run is the program with other adapters than the built-in ones, and with the migrations that a next
// version of it would bring.
func Run(migrations fs.FS, adapters ...provider.Adapter) {
	run(adapters, cli.NextVersion{Migrations: migrations})
}

// Stamped is the version of a program that has none by its build's flags.
func Stamped(info *debug.BuildInfo) string { return stamped(info) }
