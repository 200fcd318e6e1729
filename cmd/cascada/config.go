package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/cli/settings"
	"github.com/jackc/pgx/v5"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Check the settings, and print the values that serve would use: from the defaults, the file, credentials and the environment. Secrets are not shown. The exit code is 1 if serve would refuse to start."`
}

type configCheckCmd struct {
	Of string `arg:"" name:"file" optional:"" help:"File of settings; by default the one of --config."`
}

func (c *configCheckCmd) Run(at *kong.Context, log *slog.Logger, adapters cli.Registry, next cli.NextVersion) error {
	args := []string{"serve"}
	if path := cmp.Or(c.Of, settings.Named(at)); path != "" {
		args = append(args, "--config", path)
	}
	var file settings.Resolver
	parser, flags := newParser(args, &file, log, adapters, next)
	k, err := parser.Parse(args)
	if err != nil {
		return refused(err)
	}
	origins, err := settings.ReadSecrets(k, &file)
	if err != nil {
		return refused(err)
	}
	if err := settings.InForce(cli.Stdout, settings.ServeFlags(k.Model), origins); err != nil {
		return err
	}
	wrong := settings.Validate(k.Flags())
	warnOfPermissions(file.Path, flags.Serve, log)
	serve := flags.Serve.config(log, adapters)
	err = errors.Join(wrong, serve.Check())
	if !strings.HasPrefix(serve.Database, "sqlite:") {
		if _, parse := pgx.ParseConfig(serve.Database); parse != nil { // its error leaves out the password
			err = errors.Join(err, parse)
		}
	}
	if err != nil {
		return refused(err)
	}
	_, err = fmt.Fprintln(cli.Stdout, "\nThe settings are valid: serve would go on to open the database.")
	return err
}

// refused wraps the reasons why serve would refuse to start.
func refused(err error) error {
	return fmt.Errorf("serve would refuse to start:\n%w", err)
}

// warnOfPermissions warns if other users can read a password in the file of settings.
func warnOfPermissions(path string, c serveCmd, log *slog.Logger) {
	if path == "" || !settings.HasPassword(c.Database) && !settings.HasPassword(c.Redis) {
		return
	}
	if about, err := os.Stat(path); err == nil && about.Mode().Perm()&0o044 != 0 {
		log.Warn("other users of this machine can read a password in the settings: put it into a separate file, such as database-file", "file", path)
	}
}
