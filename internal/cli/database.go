package cli

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/daemon/masterkey"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider"
)

// DatabaseFlags are the flags that most commands share: the database, and the key of its secrets.
type DatabaseFlags struct {
	Database      string `default:"sqlite:cascada.db" env:"CASCADA_DATABASE" placeholder:"URL" help:"sqlite:PATH or postgres://… (${env}, default ${default})."`
	DatabaseFile  string `env:"CASCADA_DATABASE_FILE" placeholder:"FILE" help:"File whose only line is that URL, for a URL that contains a password (${env})."`
	MasterKeyFile string `env:"CASCADA_MASTER_KEY_FILE" placeholder:"FILE" help:"File with the master key, which encrypts secrets (${env}); by default PATH.key for SQLite, cascada.key in the current directory for PostgreSQL. CASCADA_MASTER_KEY may hold the key itself."`

	migrations fs.FS
	right      operators.Right // that the command needs
}

// Config is how a command opens its database.
type Config struct {
	masterkey.Place
	Existing   bool            // create neither a database file nor a key file
	Migrate    bool            // migrate an older database; otherwise it is refused
	Migrations fs.FS           // the migrations of a later version, for tests
	Operator   string          // who runs the command, for the audit log
	Token      string          // of the operator who runs the command, "" for none
	Right      operators.Right // that the operator of the token needs
	Log        *slog.Logger
	PublicURL  string // of the service, without a trailing slash; "" if the command prints no link
	Routing    string // the order of accounts (routing.Order); "" means priority
	Rates      rates.Limits
	Adapters   []provider.Adapter // nil: all
}

// Opener opens a database, and returns what a package of commands uses of the service. The program binds one for each package. Whoever
// calls it must call Close of what it returns.
//
// Errors: invalid_token and forbidden, of the operator's token.
type Opener[Uses any] func(context.Context, Config) (Uses, error)

// OrNew opens the command's database. It creates the database if there is none.
func (open Opener[Uses]) OrNew(ctx context.Context, d DatabaseFlags, log *slog.Logger) (Uses, error) {
	c := d.Config(log)
	c.Operator = Operator()
	return open.As(ctx, c)
}

// Existing is OrNew for an existing database only: a command with a mistyped path must not create a
// database. A check of an empty one would find that every invariant holds.
func (open Opener[Uses]) Existing(ctx context.Context, d DatabaseFlags, log *slog.Logger) (Uses, error) {
	return open.As(ctx, d.OperatorConfig(log))
}

// Over is Existing with the clients of the database's provider accounts.
func (open Opener[Uses]) Over(ctx context.Context, f AccountFlags, log *slog.Logger, adapters Registry) (Uses, error) {
	c := f.OperatorConfig(log)
	c.PublicURL, c.Adapters = strings.TrimSuffix(string(f.PublicURL), "/"), adapters
	return open.As(ctx, c)
}

// As opens the database for the operator whose token the command has, if it has one: CASCADA_OPERATOR_TOKEN, or the file of
// CASCADA_OPERATOR_TOKEN_FILE. Without a token the operator is whoever runs the machine, who may do everything (OPR-1).
func (open Opener[Uses]) As(ctx context.Context, c Config) (none Uses, err error) {
	if c.Token, err = operatorToken(); err != nil {
		return none, err
	}
	return open(ctx, c)
}

// operatorToken reads the token of the operator who runs the command, "" for none.
func operatorToken() (string, error) {
	if file := os.Getenv("CASCADA_OPERATOR_TOKEN_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the operator's token: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return "", fmt.Errorf("%s has no token", file)
		}
		return token, nil
	}
	return os.Getenv("CASCADA_OPERATOR_TOKEN"), nil
}

// AfterApply is called by kong after it has set the flags.
func (d *DatabaseFlags) AfterApply(next NextVersion, k *kong.Context) error {
	d.migrations, d.right = next.Migrations, RightOf(k.Selected())
	return nil
}

// NextMigrations returns the migrations of the next version; only tests have some.
func (d DatabaseFlags) NextMigrations() fs.FS { return d.migrations }

// Config returns the configuration that the flags give. No flag holds a secret, because other users
// of the machine can see a program's arguments.
func (d DatabaseFlags) Config(log *slog.Logger) Config {
	return Config{Place: masterkey.Place{Database: d.Database, Keys: os.Getenv("CASCADA_MASTER_KEY"), File: d.MasterKeyFile}, Right: d.right, Log: log, Migrations: d.migrations}
}

// OperatorConfig is Config for a command that works on an existing database as the operator.
func (d DatabaseFlags) OperatorConfig(log *slog.Logger) Config {
	c := d.Config(log)
	c.Existing, c.Operator = true, Operator()
	return c
}

// NextVersion is what tests add to the program: the migrations of its next version.
type NextVersion struct{ Migrations fs.FS }
