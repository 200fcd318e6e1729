package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Say what is wrong with the settings, and print what would be in force: from flags' defaults, the file, credentials and the environment. Secrets are not shown. Exit 1 when a start would be refused."`
}

type configCheckCmd struct {
	Of string `arg:"" name:"file" optional:"" help:"The file; by default that of --config."`
}

func (c *configCheckCmd) Run(at *kong.Context, log *slog.Logger, adapters registry, next nextVersion) error {
	args := []string{"serve"}
	if path := cmp.Or(c.Of, named(at)); path != "" {
		args = append(args, "--config", path)
	}
	var file resolver
	parser, flags := newParser(&file, log, adapters, next)
	k, err := parser.Parse(args)
	if err != nil {
		return refused(err)
	}
	origins, err := readSecrets(k, &file)
	if err != nil {
		return refused(err)
	}
	if err := inForce(serveFlags(k.Model), origins); err != nil {
		return err
	}
	wrong := validate(k.Flags())
	warnOfPermissions(file.path, flags.Serve, log)
	serve := flags.Serve.config(log, adapters)
	err = errors.Join(wrong, serve.Check())
	if !strings.HasPrefix(serve.Database, "sqlite:") {
		if _, parse := pgx.ParseConfig(serve.Database); parse != nil { // it leaves the password out
			err = errors.Join(err, parse)
		}
	}
	if err != nil {
		return refused(err)
	}
	_, err = fmt.Fprintln(stdout, "\nThese settings are right: a start would go on to the database.")
	return err
}

// named is the file that --config names.
func named(at *kong.Context) string {
	for _, flag := range at.Model.Flags {
		if path, ok := at.FlagValue(flag).(settingsFile); ok {
			return string(path)
		}
	}
	return ""
}

// refused is what a start would be refused for.
func refused(err error) error {
	return fmt.Errorf("a start would be refused:\n%w", err)
}

// inForce prints the settings, each with where it is from.
func inForce(flags []*kong.Flag, origins map[string]origin) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, flag := range flags {
		value := withoutSecrets(flag.Name, shown(flag))
		fmt.Fprintf(table, "%s\t%s\t%s\n", flag.Name, cmp.Or(value, "-"), origins[flag.Name].text)
	}
	for _, s := range secrets {
		if s.variable != "" && os.Getenv(s.variable) != "" {
			fmt.Fprintf(table, "%s\t(not shown)\t%s\n", s.setting, s.variable)
		}
	}
	return table.Flush()
}

// shown is a flag's value as the command line has it.
func shown(flag *kong.Flag) string {
	var parts []string
	switch value := flag.Target; {
	case flag.IsMap():
		for _, key := range value.MapKeys() {
			parts = append(parts, fmt.Sprintf("%v=%v", key, value.MapIndex(key)))
		}
		slices.Sort(parts)
	case flag.IsSlice():
		for i := range value.Len() {
			parts = append(parts, fmt.Sprint(value.Index(i)))
		}
	default:
		return fmt.Sprint(value)
	}
	return strings.Join(parts, ",")
}

// warnOfPermissions says so where others can read a password in the file of settings.
func warnOfPermissions(path string, c serveCmd, log *slog.Logger) {
	if path == "" || !hasPassword(c.Database) && !hasPassword(c.Redis) {
		return
	}
	if about, err := os.Stat(path); err == nil && about.Mode().Perm()&0o044 != 0 {
		log.Warn("others on this machine can read a password in the settings: put it into a file of its own, such as database-file", "file", path)
	}
}
