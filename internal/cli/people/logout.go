package people

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/cli"
)

// keyLogoutCmd is cascada key logout.
type keyLogoutCmd struct {
	cli.DatabaseFlags
	Login    string `arg:"" optional:"" help:"Login's id, lgn_…, from the audit log."`
	Key      string `placeholder:"ID" help:"All logins of a key, key_…"`
	Merchant string `placeholder:"ID" help:"All logins of a merchant, mer_…"`
	Reason   string `default:"revoked by the operator" help:"Reason, for the audit log."`
}

func (c *keyLogoutCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	named := 0
	for _, id := range []string{c.Login, c.Key, c.Merchant} {
		if id != "" {
			named++
		}
	}
	if named != 1 {
		return errors.New("give exactly one of these: a login, --key or --merchant")
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.Login != "" {
		return a.Access.RevokeLogin(ctx, a.Self(), c.Login, c.Reason)
	}
	n, err := a.Access.RevokeLogins(ctx, a.Self(), c.Merchant, c.Key, c.Reason)
	fmt.Fprintln(cli.Stdout, "logins ended:", n)
	return err
}
