// Command cascada is the service and its tools in one binary: cascada serve runs the service,
// the other commands work on its database or call its API.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/cli/accounts"
	"github.com/cascadapay/cascada/internal/cli/books"
	"github.com/cascadapay/cascada/internal/cli/claims"
	_ "github.com/cascadapay/cascada/internal/cli/heap" // sets how the heap grows
	"github.com/cascadapay/cascada/internal/cli/merchants"
	"github.com/cascadapay/cascada/internal/cli/payments"
	"github.com/cascadapay/cascada/internal/cli/payouts"
	"github.com/cascadapay/cascada/internal/cli/people"
	"github.com/cascadapay/cascada/internal/cli/plans"
	"github.com/cascadapay/cascada/internal/cli/rates"
	"github.com/cascadapay/cascada/internal/cli/routing"
	"github.com/cascadapay/cascada/internal/cli/settings"
	"github.com/cascadapay/cascada/internal/cli/settlements"
	"github.com/cascadapay/cascada/internal/cli/shell"
	"github.com/cascadapay/cascada/internal/devcli"
	"github.com/cascadapay/cascada/internal/devcli/mcp"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/cascadapay/cascada/internal/provider/adapters"
)

// commands is the command line.
type commands struct {
	Serve      serveCmd               `cmd:"" help:"Run the service. Without flags it uses an SQLite file and creates a demo merchant."`
	Migrate    migrateCmd             `cmd:"" help:"Migrate a database to the newest schema, as serve does; --plan lists what is left to do."`
	Merchant   merchants.Merchant     `cmd:"" help:"Create merchants, and change their e-mail address and terms."`
	Key        people.Key             `cmd:"" help:"Create, rotate and revoke merchants' API keys."`
	Shop       merchants.Shop         `cmd:"" help:"Create shops, and set their brand."`
	Payment    payments.Payment       `cmd:"" help:"List and resolve payments whose outcome is unknown."`
	Withdrawal payouts.Withdrawal     `cmd:"" help:"List, show, approve and resolve withdrawals."`
	Payout     payouts.Payout         `cmd:"" help:"Manage payouts: batches for the bank, the bank's answers, limits and floats."`
	Claim      claims.Claim           `cmd:"" help:"List, show and resolve refunds, chargebacks and inquiries."`
	Provider   accounts.Provider      `cmd:"" help:"Open, change, check and remove accounts at providers."`
	Notices    accounts.Notification  `cmd:"" name:"notification" help:"List notifications from providers, and close those that need your attention."`
	Route      routing.Route          `cmd:"" help:"Show and change routing rules, which choose the accounts of payments; replay past payments with other rules."`
	Plan       plans.Plan             `cmd:"" help:"List, show and apply price plans; assign them to merchants; compute what a plan would have earned."`
	MasterKey  people.MasterKey       `cmd:"" name:"master-key" help:"List, add, rotate and remove the keys that encrypt secrets in the database."`
	User       people.User            `cmd:"" help:"Manage who signs in to the dashboard."`
	Operator   people.Operator        `cmd:"" help:"Manage who has a token, the roles of operators, and what needs two persons."`
	Proposal   people.Proposal        `cmd:"" help:"List, show, approve and reject what needs two persons."`
	FX         rates.FX               `cmd:"" name:"fx" help:"List, set and import exchange rates."`
	KYC        merchants.KYC          `cmd:"" name:"kyc" help:"List and decide verifications of merchants."`
	Reconcile  books.Reconcile        `cmd:"" help:"Compare a provider's own report with the books, line by line. The exit code is 1 if they differ."`
	Settlement settlements.Settlement `cmd:"" help:"List and show settlements, and book those that you paid by hand."`
	Adjust     settlements.Adjust     `cmd:"" help:"Credit or debit a merchant's balance by hand; approve and reverse that."`
	Check      books.Check            `cmd:"" help:"Prove the ledger and the other invariants of a live database. The exit code is 1 if one is broken."`
	Backup     books.Backup           `cmd:"" help:"Copy an SQLite database to a file while the server runs; check and encrypt the copy."`
	Restore    books.Restore          `cmd:"" help:"Restore an SQLite database from a backup. After that the server starts closed: see recover."`
	Recover    books.Recover          `cmd:"" help:"After a restore: find out from providers what the copy lacks, and open the service again."`
	Repair     books.Repair           `cmd:"" help:"Correct stored counts, while the service runs."`
	Seal       books.Seal             `cmd:"" help:"Print the seals of the ledger and the audit log."`
	Privacy    people.Privacy         `cmd:"" help:"Export or erase the personal data of a shopper."`
	Audit      books.Audit            `cmd:"" help:"Read the audit log."`
	Story      payments.Story         `cmd:"" help:"Print the whole history of a payment or withdrawal (attempts, transfers, claims, events, deliveries), or what moved the money of a merchant."`
	Explain    routing.Explain        `cmd:"" help:"Explain why a payment or withdrawal went to its provider accounts."`
	Bench      benchCmd               `cmd:"" help:"Measure the throughput and latency of a running server over HTTP."`
	Health     healthCmd              `cmd:"" help:"Ask a service on this machine whether it runs. The exit code is 1 if it does not."`
	Version    versionCmd             `cmd:"" help:"Print the version."`

	devcli.Commands

	MCP mcp.Command `cmd:"" name:"mcp" group:"developer" help:"Tools for AI agents, by the Model Context Protocol: search the docs, read payments, events and deliveries, play in the sandbox."`

	Config      configCmd        `cmd:"" help:"Check the settings."`
	Completion  shell.Completion `cmd:"" help:"Print scripts for shell completion."`
	File        settings.File    `name:"config" default:"" env:"CASCADA_CONFIG" placeholder:"FILE" help:"File of settings (${env}; docs/OPERATIONS.md). Flags and environment variables override it. /usr/bin/cascada reads /etc/cascada/cascada.yaml by default."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

func main() { run(adapters.All(), cli.NextVersion{}) }

// run runs the program. Accounts can be opened at the providers in adapters.
func run(adapters cli.Registry, next cli.NextVersion) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	var file settings.Resolver
	parser, _ := newParser(args, &file, log, adapters, next)
	k, err := parser.Parse(args)
	if err != nil { // standard output is only for results
		parser.Stdout = parser.Stderr
	}
	parser.FatalIfErrorf(cli.Shown(err))
	k.FatalIfErrorf(settings.Validate(k.Flags()))
	origins, err := settings.ReadSecrets(k, &file)
	k.FatalIfErrorf(err)
	settings.WarnOfArguments(k.Flags(), origins, log)
	k.FatalIfErrorf(cli.Shown(k.Run()))
}

// newParser returns the parser of a command line. Parsing fills file with the file of settings. The model has only the command
// that args name; nil: all.
func newParser(args []string, file *settings.Resolver, log *slog.Logger, adapters cli.Registry, next cli.NextVersion) (*kong.Kong, *commands) {
	var c commands
	return kong.Must(&c, kong.Name("cascada"),
		kong.Description(`Self-hosted payment orchestration: one API over a cascade of providers.

To try it, run cascada serve and paste the lines that it prints. The other commands work on the
server's database, whether the server runs or not: give them the same --database or --config, or set
CASCADA_DATABASE or CASCADA_CONFIG for all. Where a flag's help names an environment variable, you can set
that instead; if both are given, the flag wins.`),
		kong.ShortUsageOnError(), kong.Writers(cli.Stdout, printable.Safely(os.Stderr)), kong.BindTo(context.Background(), (*context.Context)(nil)),
		kong.ExplicitGroups([]kong.Group{{Key: "developer", Title: "For a shop's developer, who has an address and an API key (also in the small program cascada-cli):"}}),
		kong.Bind(log), kong.Bind(adapters), kong.Bind(next), kong.Bind(file), kong.Bind(openers()...),
		kong.Vars{"version": versionText(), "program": "cascada"}, filledIn(words()), onlyNamed(args)), &c
}
