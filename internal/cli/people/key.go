package people

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Key is cascada key.
type Key struct {
	List   keyListCmd   `cmd:"" help:"List a merchant's keys, masked."`
	Create keyCreateCmd `cmd:"" help:"Create a key."`
	Rotate keyRotateCmd `cmd:"" help:"Replace a key with a new one; the old key stays valid for --grace."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key; running servers refuse it within two seconds."`
	Logout keyLogoutCmd `cmd:"" help:"End logins of merchants' programs: their tokens are refused on every node within two seconds."`
}

type keyListCmd struct {
	cli.DatabaseFlags
	Merchant string `required:"" placeholder:"ID" help:"Merchant's id, mer_…"`
	All      bool   `help:"Include keys that have ended."`
	JSON     bool   `name:"json" help:"Print one JSON object per line."`
}

// keyJSON is a key as key list --json prints it.
type keyJSON struct {
	ID          string                `json:"id"`
	Key         string                `json:"key"` // masked
	Kind        merchants.KeyKind     `json:"kind"`
	Environment merchants.Environment `json:"environment"`
	ShopID      string                `json:"shopId,omitempty"`
	Rights      []merchants.Right     `json:"rights,omitempty"`
	CreatedAt   time.Time             `json:"createdAt"`
	LastUsedAt  *time.Time            `json:"lastUsedAt"` // accurate to an hour
	Addresses   int64                 `json:"addresses"`  // number of IP addresses that have used it
	EndsAt      *time.Time            `json:"endsAt"`
	Successor   string                `json:"successor,omitempty"` // the key that replaced it
}

func (c *keyListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, uses, err := a.Keys.List(ctx, c.Merchant)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "ID\tKEY\tKIND\tENVIRONMENT\tSHOP\tSINCE\tLAST USED\tADDRESSES\tENDS\tRIGHTS\tSUCCESSOR")
	}
	for _, k := range list {
		if k.Over(a.Now()) && !c.All {
			continue
		}
		told := keyJSON{ID: k.ID, Key: k.Preview, Kind: k.Kind, Environment: k.Environment(), ShopID: k.Shop, Rights: k.Rights, CreatedAt: k.CreatedAt, Successor: k.Successor}
		last := ""
		if u, used := uses[k.ID]; used {
			told.LastUsedAt, told.Addresses, last = &u.Last, u.Addresses, u.Last.Format(time.RFC3339)
		}
		end, ends := k.EndsAt, ""
		if !k.RevokedAt.IsZero() {
			end = k.RevokedAt
		}
		if !end.IsZero() {
			told.EndsAt, ends = &end, end.Format(time.RFC3339)
		}
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(told); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", k.ID, k.Preview, k.Kind, k.Environment(), k.Shop,
			k.CreatedAt.Format(time.RFC3339), last, told.Addresses, ends, rightsOf(k), k.Successor)
	}
	return table.Flush()
}

// rightsOf writes a key's rights for people.
func rightsOf(k merchants.Key) string {
	switch {
	case k.Kind == merchants.Restricted:
		return merchants.WriteRights(k.Rights)
	case k.Kind == merchants.Publishable:
		return "none"
	case slices.Contains(k.Rights, merchants.RightWithdrawals):
		return "all"
	}
	return "all but withdrawals"
}

// notWhole refuses a complete key as an argument.
func notWhole(key string) error {
	if !strings.HasPrefix(key, "key_") && len(key) > len("sk_test_…abcd") {
		return errors.New("every user of this machine can see a key in the arguments: give its id, or its masked form from cascada key list")
	}
	return nil
}

type keyCreateCmd struct {
	cli.DatabaseFlags
	Merchant    string                `required:"" placeholder:"ID" help:"Merchant's id, mer_…"`
	Shop        string                `placeholder:"ID" help:"Shop's id, shp_…; without it the key is for the whole merchant."`
	Environment merchants.Environment `default:"sandbox" enum:"sandbox,production" help:"sandbox or production."`
	Kind        merchants.KeyKind     `default:"secret" enum:"secret,publishable,restricted" help:"secret, publishable or restricted. A restricted key is a secret key with only the rights in --rights."`
	Rights      string                `placeholder:"RIGHTS" help:"Rights of a restricted key: some of ${rights}. A secret key of a second or later shop may withdraw only with withdrawals."`
	Expires     time.Duration         `placeholder:"DURATION" help:"How long the key is valid, such as 2160h; by default until it is revoked."`
}

func (c *keyCreateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	rights, err := merchants.ParseRights(c.Rights)
	if err != nil {
		return err
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	ends, err := ends(a.Now(), c.Expires)
	if err != nil {
		return err
	}
	raw, err := a.Keys.Create(ctx, a.Self(), auth.NewKey{
		Scope: merchants.Scope{Merchant: c.Merchant, Shop: c.Shop, Live: c.Environment == merchants.Production}, Kind: c.Kind, Rights: rights, Ends: ends,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, raw)
	return nil
}

// ends returns when a key with this lifetime ends: the zero time, which means never, if the lifetime is 0.
func ends(now time.Time, lasts time.Duration) (time.Time, error) {
	switch {
	case lasts < 0:
		return time.Time{}, errors.New("--expires must not be negative")
	case lasts == 0:
		return time.Time{}, nil
	}
	return now.Add(lasts), nil
}

type keyRotateCmd struct {
	cli.DatabaseFlags
	Key   string        `arg:"" help:"Key's id, key_…, or its masked form from key list, sk_test_…abcd."`
	Grace time.Duration `default:"24h" help:"How long the old key stays valid: 0, or at least 10s (default ${default})."`
}

func (c *keyRotateCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	if err := notWhole(c.Key); err != nil {
		return err
	}
	if c.Grace < 0 {
		return errors.New("--grace must not be negative")
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	raw, _, err := a.Keys.Rotate(ctx, a.Self(), c.Key, c.Grace)
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, raw)
	return nil
}

type keyRevokeCmd struct {
	cli.DatabaseFlags
	Key string `arg:"" help:"Key's id, key_…, or its masked form from key list, sk_test_…abcd; or - to give the key itself on standard input."`
}

func (c *keyRevokeCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	if err := notWhole(c.Key); err != nil {
		return fmt.Errorf("%w, or give - and write the key to standard input", err)
	}
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var key merchants.Key
	if c.Key != "-" {
		key, err = a.Keys.Revoke(ctx, a.Self(), c.Key)
	} else {
		line, missing := bufio.NewReader(os.Stdin).ReadString('\n')
		raw := strings.TrimSpace(line)
		if raw == "" {
			return fmt.Errorf("there is no key on standard input: %w", missing)
		}
		key, err = a.Keys.RevokeRaw(ctx, a.Self(), raw)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s, %s, was revoked at %s\n", key.ID, key.Preview, key.RevokedAt.Format(time.RFC3339))
	return nil
}
