package cli

import (
	"context"
	"fmt"
	"github.com/alecthomas/kong"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// DatabaseFlags are the flags that most commands share: the database, and the key of its secrets.
type DatabaseFlags struct {
	Database      string `default:"sqlite:cascada.db" env:"CASCADA_DATABASE" placeholder:"URL" help:"sqlite:PATH or postgres://… (${env}, default ${default})."`
	DatabaseFile  string `env:"CASCADA_DATABASE_FILE" placeholder:"FILE" help:"File whose only line is that URL, for a URL that contains a password (${env})."`
	MasterKeyFile string `env:"CASCADA_MASTER_KEY_FILE" placeholder:"FILE" help:"File with the master key, which encrypts secrets (${env}); by default PATH.key for SQLite, cascada.key in the current directory for PostgreSQL. CASCADA_MASTER_KEY may hold the key itself."`

	migrations fs.FS
	right      operators.Right // that the command needs
}

// Open returns the use cases over the command's database. It creates the database if there is none.
func (d DatabaseFlags) Open(ctx context.Context, log *slog.Logger) (*app.App, error) {
	c := d.Config(log)
	c.Operator = Operator()
	return d.OpenAs(ctx, c)
}

// Existing is Open for an existing database only: a command with a mistyped path must not create a
// database. A check of an empty one would find that every invariant holds.
func (d DatabaseFlags) Existing(ctx context.Context, log *slog.Logger) (*app.App, error) {
	return d.OpenAs(ctx, d.OperatorConfig(log))
}

// OpenAs opens the database for the operator whose token the command has, if it has one: CASCADA_OPERATOR_TOKEN, or the file of
// CASCADA_OPERATOR_TOKEN_FILE. Without a token the operator is whoever runs the machine, who may do everything (OPR-1).
//
// Errors: invalid_token, forbidden.
func (d DatabaseFlags) OpenAs(ctx context.Context, c daemon.Config) (*app.App, error) {
	token, err := operatorToken()
	if err != nil {
		return nil, err
	}
	a, err := daemon.Open(ctx, c)
	if err != nil || token == "" {
		return a, err
	}
	o, err := a.Operators.Authenticate(ctx, token)
	if err == nil {
		err = o.Role.Check(d.right)
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	a.Operator = o.Name
	return a, nil
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

// Books opens the database of a command that only reads it.
func (d DatabaseFlags) Books(ctx context.Context, log *slog.Logger) (*books.Books, error) {
	return daemon.OpenBooks(ctx, d.OperatorConfig(log))
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
func (d DatabaseFlags) Config(log *slog.Logger) daemon.Config {
	return daemon.Config{Database: d.Database, MasterKey: os.Getenv("CASCADA_MASTER_KEY"), MasterKeyFile: d.MasterKeyFile, Log: log, Migrations: d.migrations}
}

// OperatorConfig is Config for a command that works on an existing database as the operator.
func (d DatabaseFlags) OperatorConfig(log *slog.Logger) daemon.Config {
	c := d.Config(log)
	c.Existing, c.Operator = true, Operator()
	return c
}

// NextVersion is what tests add to the program: the migrations of its next version.
type NextVersion struct{ Migrations fs.FS }
