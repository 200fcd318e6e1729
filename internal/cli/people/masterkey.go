package people

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/daemon/masterkey"
)

// MasterKey is cascada master-key.
type MasterKey struct {
	List   masterKeyListCmd   `cmd:"" help:"List the keys by their fingerprints, with the number of secrets encrypted under each."`
	Add    masterKeyAddCmd    `cmd:"" help:"Add a new key to the key file. It is not used until master-key rotate."`
	Rotate masterKeyRotateCmd `cmd:"" help:"Encrypt with the newest key from now on, and encrypt all secrets again under it, while servers run."`
	Remove masterKeyRemoveCmd `cmd:"" help:"Remove a key from the key file, once nothing is encrypted under it."`
}

type masterKeyListCmd struct{ cli.DatabaseFlags }

func (c *masterKeyListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	keys, current, encrypted, err := a.Secrets.MasterKeys(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tSECRETS\tSTATE")
	for _, key := range keys {
		state := ""
		switch {
		case key == current:
			state = "encrypts"
		case key == keys[len(keys)-1]:
			state = "waits for master-key rotate"
		case encrypted[key] == 0:
			state = "may be removed"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\n", key, encrypted[key], state)
	}
	if lost := encrypted[""]; lost > 0 {
		fmt.Fprintf(table, "none of these\t%d\tcannot be decrypted here: a key is missing\n", lost)
	}
	return table.Flush()
}

type masterKeyAddCmd struct {
	cli.DatabaseFlags
	Print bool `help:"Print a new key instead, if CASCADA_MASTER_KEY holds your keys: append it there, after a comma."`
}

func (c *masterKeyAddCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	if c.Print {
		fmt.Fprintln(cli.Stdout, masterkey.New())
		return nil
	}
	path, err := c.Config(log).KeyFile()
	if err != nil {
		return fmt.Errorf("%w: --print prints a new key", err)
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log) // proves that the file belongs to this database
	if err != nil {
		return err
	}
	a.Close()
	key, err := masterkey.Add(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s is now in %s. Keep a copy, copy the file to every server and restart the servers one by one; then run cascada master-key rotate\n", key, path)
	return nil
}

type masterKeyRotateCmd struct{ cli.DatabaseFlags }

func (c *masterKeyRotateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
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
	n, err := a.Secrets.Reencrypt(ctx) // continues where an earlier run or a server stopped
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%d secrets were encrypted again. Servers look for more within a minute; after that cascada master-key list shows which keys may be removed.\n", n)
	return nil
}

type masterKeyRemoveCmd struct {
	cli.DatabaseFlags
	Key string `arg:"" help:"Key's fingerprint, from master-key list."`
}

func (c *masterKeyRemoveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	path, err := c.Config(log).KeyFile()
	if err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	keys, current, _, err := a.Secrets.MasterKeys(ctx)
	switch {
	case err != nil:
		return err
	case c.Key == current:
		return fmt.Errorf("%s is the key that encrypts: rotate to another key first", c.Key)
	case !slices.Contains(keys, c.Key) || len(keys) == 1:
		return fmt.Errorf("%s is not among these keys, or is the only one", c.Key)
	}
	fmt.Fprintln(cli.Stdout, "waiting up to ten seconds, until every server knows which key encrypts")
	if err := a.Secrets.Reencrypted(ctx); err != nil {
		return err
	}
	_, _, encrypted, err := a.Secrets.MasterKeys(ctx)
	if err != nil {
		return err
	}
	if n := encrypted[c.Key]; n > 0 {
		return fmt.Errorf("%d secrets are still encrypted under %s: run cascada master-key rotate", n, c.Key)
	}
	if err := masterkey.Remove(path, c.Key); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s is no longer in %s. Older copies of the database still need it: keep it with them\n", c.Key, path)
	return nil
}
