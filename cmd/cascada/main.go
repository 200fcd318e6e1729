// Command cascada is the service and its tools in one binary: cascada serve
// runs it, the other commands work on its database or call its API.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/cli/books"
	"github.com/cascadapay/cascada/internal/cli/funds"
	"github.com/cascadapay/cascada/internal/cli/people"
	"github.com/cascadapay/cascada/internal/cli/providers"
	"github.com/cascadapay/cascada/internal/cli/settings"
	"github.com/cascadapay/cascada/internal/provider/adapters"
)

// commands is the command line.
type commands struct {
	Serve      serveCmd               `cmd:"" help:"Run the service. Without flags: on an SQLite file, with a demo merchant."`
	Migrate    migrateCmd             `cmd:"" help:"Bring a database to the newest schema, as serve does; or say what is left (--plan)."`
	Merchant   people.Merchant        `cmd:"" help:"Make merchants."`
	Key        people.Key             `cmd:"" help:"Make and end merchants' API keys."`
	Login      people.Login           `cmd:"" help:"Logins of merchants' programs."`
	Shop       people.Shop            `cmd:"" help:"Shops of merchants."`
	Payment    funds.Payment          `cmd:"" help:"Payments whose outcome nobody knows, and how you end them."`
	Withdrawal funds.Withdrawal       `cmd:"" help:"Withdrawals that are under way, and how you end them."`
	Payout     funds.Payout           `cmd:"" help:"Payouts: batches for the bank and its answers, limits, floats."`
	Claim      funds.Claim            `cmd:"" help:"Refunds, chargebacks and inquiries, as the operator sees and ends them."`
	Provider   providers.Provider     `cmd:"" help:"Accounts at providers, which payments go through."`
	Notices    providers.Notification `cmd:"" name:"notification" help:"What providers have told, and what of it waits for you."`
	Route      providers.Route        `cmd:"" help:"Routing rules: through which accounts payments go, and what other rules would have done."`
	MasterKey  people.MasterKey       `cmd:"" name:"master-key" help:"The keys that encrypt secrets in the database."`
	Operator   people.Operator        `cmd:"" help:"Who may use the admin API."`
	FX         funds.FX               `cmd:"" name:"fx" help:"Exchange rates."`
	KYC        people.KYC             `cmd:"" name:"kyc" help:"Verifications of merchants."`
	Reconcile  books.Reconcile        `cmd:"" help:"Compare a provider's own report with the books, line by line; exit 1 when they differ."`
	Settlement books.Settlement       `cmd:"" help:"Settlements, for the operator."`
	Check      books.Check            `cmd:"" help:"Prove the ledger and the other invariants of a live database; exit 1 when one is broken."`
	Backup     books.Backup           `cmd:"" help:"Copy an SQLite database into a file while the server runs, prove the copy, and encrypt it."`
	Restore    books.Restore          `cmd:"" help:"Put a backup in the place of an SQLite database. The server starts closed then: see recover."`
	Recover    books.Recover          `cmd:"" help:"After a restore: find out at providers what the copy lacks, and open the service again."`
	Repair     books.Repair           `cmd:"" help:"Mend what is only counted, beside a running service."`
	Seal       books.Seal             `cmd:"" help:"Seals of the ledger and the audit log."`
	Privacy    people.Privacy         `cmd:"" help:"What is kept about a shopper: print it, or erase it."`
	Audit      books.Audit            `cmd:"" help:"Who did what."`
	Story      books.Story            `cmd:"" help:"Tell a payment's or a withdrawal's whole life: attempts, transfers, claims, events, deliveries."`
	Explain    providers.Explain      `cmd:"" help:"Say why a payment went to the provider accounts that it went to."`
	Bench      benchCmd               `cmd:"" help:"Drive a running server over HTTP and print what it does a second."`
	Version    versionCmd             `cmd:"" help:"Print the version."`

	Config      configCmd        `cmd:"" help:"The settings: whether a file of them is right, and what would be in force."`
	Completion  completionCmd    `cmd:"" help:"Completion of commands, flags and their words for a shell."`
	File        settings.File    `name:"config" default:"" env:"CASCADA_CONFIG" placeholder:"FILE" help:"A file of settings, for what neither a flag nor a variable gives (${env}; docs/OPERATIONS.md). /usr/bin/cascada reads /etc/cascada/cascada.yaml by default."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

func main() { run(adapters.All(), cli.NextVersion{}) }

// run is the program, with the providers that accounts may be opened at.
func run(adapters cli.Registry, next cli.NextVersion) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	var file settings.Resolver
	parser, _ := newParser(&file, log, adapters, next)
	k, err := parser.Parse(args)
	if err != nil { // standard output is for what was asked
		parser.Stdout = parser.Stderr
	}
	parser.FatalIfErrorf(err)
	k.FatalIfErrorf(settings.Validate(k.Flags()))
	origins, err := settings.ReadSecrets(k, &file)
	k.FatalIfErrorf(err)
	settings.WarnOfArguments(k.Flags(), origins, log)
	k.FatalIfErrorf(k.Run())
}

// newParser is the command line. What it takes from a file of settings is in file then.
func newParser(file *settings.Resolver, log *slog.Logger, adapters cli.Registry, next cli.NextVersion) (*kong.Kong, *commands) {
	var c commands
	return kong.Must(&c, kong.Name("cascada"),
		kong.Description(`Self-hosted payment orchestration: one API over a cascade of providers.

To try it, run cascada serve and paste the lines that it prints. The other commands work on the
database of the server, while it runs or not: give them the same --database or --config, or set
CASCADA_DATABASE or CASCADA_CONFIG for all. Where a flag's help names a variable, that will do; the flag says more.`),
		kong.ShortUsageOnError(), kong.Writers(cli.Stdout, cli.Safely(os.Stderr)), kong.BindTo(context.Background(), (*context.Context)(nil)),
		kong.Bind(log), kong.Bind(adapters), kong.Bind(next), kong.Bind(file),
		words()), &c
}
