// Command cascada-cli is the command line of a shop's developer: the commands of internal/devcli, which cascada has too, in a small binary
// without the service.
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli/shell"
	"github.com/cascadapay/cascada/internal/devcli"
	"github.com/cascadapay/cascada/internal/printable"
)

// version is set by the Makefile and by the package.
var version string

// commands is the command line.
type commands struct {
	devcli.Commands

	Completion  shell.Completion `cmd:"" group:"developer" help:"Print scripts for shell completion."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if version == "" {
		version = "development"
	}
	var c commands
	parser := kong.Must(&c, kong.Name("cascada-cli"), kong.Description(devcli.Description), kong.ShortUsageOnError(),
		kong.Writers(printable.Safely(os.Stdout), printable.Safely(os.Stderr)), kong.BindTo(context.Background(), (*context.Context)(nil)),
		kong.ExplicitGroups([]kong.Group{{Key: "developer", Title: "Commands:"}}),
		kong.Vars{"program": "cascada-cli", "version": "cascada-cli " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH})
	k, err := parser.Parse(args)
	if err != nil { // standard output is only for results
		parser.Stdout = parser.Stderr
	}
	parser.FatalIfErrorf(err)
	k.FatalIfErrorf(k.Run())
}
