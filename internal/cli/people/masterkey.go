package people

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon"
)

// MasterKey is cascada master-key.
type MasterKey struct {
	List   masterKeyListCmd   `cmd:"" help:"List the keys by their fingerprints, and how much is encrypted under each."`
	Add    masterKeyAddCmd    `cmd:"" help:"Put a new key beside the others. It does nothing until it is rotated in."`
	Rotate masterKeyRotateCmd `cmd:"" help:"Let the newest key take over, and encrypt everything again under it, while servers run."`
	Remove masterKeyRemoveCmd `cmd:"" help:"Take a key out of the key file, once nothing is encrypted under it."`
}

type masterKeyListCmd struct{ cli.DatabaseFlags }

func (c *masterKeyListCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	keys, current, sealed, err := a.Secrets.MasterKeys(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tSEALED\tSTATE")
	for _, key := range keys {
		state := ""
		switch {
		case key == current:
			state = "encrypts"
		case key == keys[len(keys)-1]:
			state = "waits for master-key rotate"
		case sealed[key] == 0:
			state = "may be removed"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\n", key, sealed[key], state)
	}
	if lost := sealed[""]; lost > 0 {
		fmt.Fprintf(table, "none of these\t%d\tcannot be opened here: a key is missing\n", lost)
	}
	return table.Flush()
}

type masterKeyAddCmd struct {
	cli.DatabaseFlags
	Print bool `help:"Print a new key in place of that, for where keys are kept in CASCADA_MASTER_KEY: put it there after the others, with a comma between."`
}

func (c *masterKeyAddCmd) Run(ctx context.Context, log *slog.Logger) error {
	if c.Print {
		fmt.Fprintln(cli.Stdout, daemon.NewMasterKey())
		return nil
	}
	path, err := c.Config(log).MasterKeyPath()
	if err != nil {
		return fmt.Errorf("%w: --print prints a new one", err)
	}
	a, err := c.Existing(ctx, log) // the file is this database's
	if err != nil {
		return err
	}
	a.Close()
	key, err := daemon.AddMasterKey(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s is in %s now. Keep a copy, give the file to every server and restart one after the other; then: cascada master-key rotate\n", key, path)
	return nil
}

type masterKeyRotateCmd struct{ cli.DatabaseFlags }

func (c *masterKeyRotateCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	keys, current, _, err := a.Secrets.MasterKeys(ctx)
	if err != nil {
		return err
	}
	if newest := keys[len(keys)-1]; newest != current || len(keys) == 1 {
		if err := a.Secrets.RotateMasterKey(ctx, a.Self()); err != nil {
			return err
		}
		fmt.Fprintf(cli.Stdout, "%s encrypts from now on\n", newest)
	}
	n, err := a.Secrets.Reseal(ctx) // where it was ended, or servers did some of it, it goes on
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%d secrets were encrypted again. Servers look for more within a minute; then cascada master-key list says which keys may be removed.\n", n)
	return nil
}

type masterKeyRemoveCmd struct {
	cli.DatabaseFlags
	Key string `arg:"" help:"Its fingerprint, as master-key list prints it."`
}

func (c *masterKeyRemoveCmd) Run(ctx context.Context, log *slog.Logger) error {
	path, err := c.Config(log).MasterKeyPath()
	if err != nil {
		return err
	}
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	keys, current, _, err := a.Secrets.MasterKeys(ctx)
	switch {
	case err != nil:
		return err
	case c.Key == current:
		return fmt.Errorf("%s encrypts: rotate another one in first", c.Key)
	case !slices.Contains(keys, c.Key) || len(keys) == 1:
		return fmt.Errorf("there is no key %s beside another one", c.Key)
	}
	fmt.Fprintln(cli.Stdout, "waiting until every server knows which key encrypts: up to ten seconds")
	if err := a.Secrets.Resealed(ctx); err != nil {
		return err
	}
	_, _, sealed, err := a.Secrets.MasterKeys(ctx)
	if err != nil {
		return err
	}
	if n := sealed[c.Key]; n > 0 {
		return fmt.Errorf("%d secrets are encrypted under %s still: run cascada master-key rotate", n, c.Key)
	}
	if err := daemon.RemoveMasterKey(path, c.Key); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s is not in %s any more. Copies of the database from before need it still: keep it with them\n", c.Key, path)
	return nil
}
