package main

import (
	"bytes"
	"io/fs"
	"log/slog"
	"runtime/debug"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/cli/settings"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/adapters"
)

// Run is the program with other adapters than the built-in ones, and with the migrations of its next
// version.
func Run(migrations fs.FS, adapters ...provider.Adapter) {
	run(adapters, cli.NextVersion{Migrations: migrations})
}

// Stamped returns the version of a program whose build flags set none.
func Stamped(info *debug.BuildInfo) string { return stamped(info) }

// Rights are the rights of the commands that open a database, by the command; "" for one that has none.
func Rights() map[string]operators.Right {
	rights := map[string]operators.Right{}
	for _, leaf := range leaves() {
		for _, flag := range leaf.Flags {
			if flag.Name == "database" {
				rights[leaf.Path()] = cli.RightOf(leaf)
			}
		}
	}
	return rights
}

// Commands are the rights of all commands, by the command; "" for one that has none.
func Commands() map[string]operators.Right {
	rights := map[string]operators.Right{}
	for _, leaf := range leaves() {
		rights[leaf.Path()] = cli.RightOf(leaf)
	}
	return rights
}

func leaves() []*kong.Node { return parserOf(nil).Model.Leaves(false) }

func parserOf(args []string) *kong.Kong {
	parser, _ := newParser(args, new(settings.Resolver), slog.New(slog.DiscardHandler), adapters.All(), cli.NextVersion{})
	return parser
}

// Help is what the program prints for a command and --help. The first is by the model of the whole command line, the second
// by the one that has only this command.
func Help() func(args ...string) (whole, own string) {
	all := parserOf(nil)
	return func(args ...string) (whole, own string) {
		return helpOf(all, args), helpOf(parserOf(args), args)
	}
}

func helpOf(parser *kong.Kong, args []string) string {
	var out bytes.Buffer
	parser.Stdout, parser.Exit = &out, func(int) {}
	_, _ = parser.Parse(append(args, "--help")) // after the help it goes on, and misses arguments
	return out.String()
}
