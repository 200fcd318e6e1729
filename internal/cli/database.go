package cli

import (
	"context"
	"io/fs"
	"log/slog"
	"os"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/daemon"
)

// DatabaseFlags is the flags that most commands share: which database, and the key of its secrets.
type DatabaseFlags struct {
	Database      string `default:"sqlite:cascada.db" env:"CASCADA_DATABASE" placeholder:"URL" help:"sqlite:PATH or postgres://… (${env}, default ${default})."`
	DatabaseFile  string `env:"CASCADA_DATABASE_FILE" placeholder:"FILE" help:"A file with that address in its one line, since a password may be in it (${env})."`
	MasterKeyFile string `env:"CASCADA_MASTER_KEY_FILE" placeholder:"FILE" help:"The file with the key that encrypts secrets (${env}); by default PATH.key for SQLite, cascada.key in this directory for PostgreSQL. CASCADA_MASTER_KEY may hold the key itself."`

	migrations fs.FS
}

// Open is the use cases over the database of a command, which is made where there is none.
func (d DatabaseFlags) Open(ctx context.Context, log *slog.Logger) (*app.App, error) {
	c := d.Config(log)
	c.Operator = Operator()
	return daemon.Open(ctx, c)
}

// Existing is open for commands that make nothing on a path that was mistyped:
// a check of an empty database would find that every invariant holds.
func (d DatabaseFlags) Existing(ctx context.Context, log *slog.Logger) (*app.App, error) {
	return daemon.Open(ctx, d.OperatorConfig(log))
}

// Books opens the database of a command that only reads it.
func (d DatabaseFlags) Books(ctx context.Context, log *slog.Logger) (*app.Books, error) {
	return daemon.OpenBooks(ctx, d.OperatorConfig(log))
}

// AfterApply is called by kong.
func (d *DatabaseFlags) AfterApply(next NextVersion) error {
	d.migrations = next.Migrations
	return nil
}

// NextMigrations are what the next version would bring, in tests alone.
func (d DatabaseFlags) NextMigrations() fs.FS { return d.migrations }

// Config is what these flags say. A secret is none of them: other users of the machine see what
// a program was started with.
func (d DatabaseFlags) Config(log *slog.Logger) daemon.Config {
	return daemon.Config{Database: d.Database, MasterKey: os.Getenv("CASCADA_MASTER_KEY"), MasterKeyFile: d.MasterKeyFile, Log: log, Migrations: d.migrations}
}

// OperatorConfig is Config for what works on a database that is there, as the operator.
func (d DatabaseFlags) OperatorConfig(log *slog.Logger) daemon.Config {
	c := d.Config(log)
	c.Existing, c.Operator = true, Operator()
	return c
}

// NextVersion is what tests add to the program: what its next version would bring.
type NextVersion struct{ Migrations fs.FS }
