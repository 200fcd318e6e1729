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
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Key is cascada key.
type Key struct {
	List   keyListCmd   `cmd:"" help:"List a merchant's keys, masked."`
	Create keyCreateCmd `cmd:"" help:"Make one more key."`
	Rotate keyRotateCmd `cmd:"" help:"Make a key in place of another one, which is good for a while yet."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key; running servers notice within two seconds."`
}

type keyListCmd struct {
	cli.DatabaseFlags
	Merchant string `required:"" placeholder:"ID" help:"Merchant's id, mer_…"`
	All      bool   `help:"Also those that are over."`
	JSON     bool   `name:"json" help:"Print an object a line."`
}

// keyJSON is a key as key list --json prints it.
type keyJSON struct {
	ID          string             `json:"id"`
	Key         string             `json:"key"` // masked
	Kind        tenant.KeyKind     `json:"kind"`
	Environment tenant.Environment `json:"environment"`
	ShopID      string             `json:"shopId,omitempty"`
	Rights      []tenant.Right     `json:"rights,omitempty"`
	CreatedAt   time.Time          `json:"createdAt"`
	LastUsedAt  *time.Time         `json:"lastUsedAt"` // within an hour
	Addresses   int64              `json:"addresses"`  // that it was ever used from
	EndsAt      *time.Time         `json:"endsAt"`
	Successor   string             `json:"successor,omitempty"` // which took its place when it was rotated
}

func (c *keyListCmd) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
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

// rightsOf is what a key may do, for people.
func rightsOf(k tenant.Key) string {
	switch {
	case k.Kind == tenant.Restricted:
		return tenant.WriteRights(k.Rights)
	case k.Kind == tenant.Publishable:
		return "none"
	case slices.Contains(k.Rights, tenant.RightWithdrawals):
		return "all"
	}
	return "all but withdrawals"
}

// notWhole refuses a whole key among the arguments.
func notWhole(key string) error {
	if !strings.HasPrefix(key, "key_") && len(key) > len("sk_test_…abcd") {
		return errors.New("a key among the arguments is seen by every user of this machine: give its id or how it is shown (cascada key list)")
	}
	return nil
}

type keyCreateCmd struct {
	cli.DatabaseFlags
	Merchant    string             `required:"" placeholder:"ID" help:"Merchant's id, mer_…"`
	Shop        string             `placeholder:"ID" help:"Shop's id, shp_…; without it the key is the whole merchant's."`
	Environment tenant.Environment `default:"sandbox" enum:"sandbox,production" help:"sandbox or production."`
	Kind        tenant.KeyKind     `default:"secret" enum:"secret,publishable,restricted" help:"secret, publishable or restricted: a secret one that may do what --rights says."`
	Rights      string             `placeholder:"RIGHTS" help:"What a restricted key may do: some of ${rights}. A secret key of a further shop may withdraw with withdrawals."`
	Expires     time.Duration      `placeholder:"DURATION" help:"How long the key is good, such as 2160h; without it, until it is revoked."`
}

func (c *keyCreateCmd) Run(ctx context.Context, log *slog.Logger) error {
	rights, err := tenant.ParseRights(c.Rights)
	if err != nil {
		return err
	}
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	ends, err := ends(a.Now(), c.Expires)
	if err != nil {
		return err
	}
	raw, err := a.Keys.Create(ctx, auth.NewKey{
		Scope: tenant.Scope{Merchant: c.Merchant, Shop: c.Shop, Live: c.Environment == tenant.Production}, Kind: c.Kind, Rights: rights, Ends: ends,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, raw)
	return nil
}

// ends is when what lasts so long from now on ends: never where it lasts 0.
func ends(now time.Time, lasts time.Duration) (time.Time, error) {
	switch {
	case lasts < 0:
		return time.Time{}, errors.New("--expires must not be below zero")
	case lasts == 0:
		return time.Time{}, nil
	}
	return now.Add(lasts), nil
}

type keyRotateCmd struct {
	cli.DatabaseFlags
	Key   string        `arg:"" help:"Key's id, key_…, or how key list shows it, sk_test_…abcd."`
	Grace time.Duration `default:"24h" help:"How long the old key is good yet: 0, or 10s at least (default ${default})."`
}

func (c *keyRotateCmd) Run(ctx context.Context, log *slog.Logger) error {
	if err := notWhole(c.Key); err != nil {
		return err
	}
	if c.Grace < 0 {
		return errors.New("--grace must not be below zero")
	}
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	raw, _, err := a.Keys.Rotate(ctx, c.Key, c.Grace)
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Stdout, raw)
	return nil
}

type keyRevokeCmd struct {
	cli.DatabaseFlags
	Key string `arg:"" help:"Key's id, key_…, or how key list shows it, sk_test_…abcd; or - to give the key itself on standard input."`
}

func (c *keyRevokeCmd) Run(ctx context.Context, log *slog.Logger) error {
	if err := notWhole(c.Key); err != nil {
		return fmt.Errorf("%w, or - and the key on standard input", err)
	}
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var key tenant.Key
	if c.Key != "-" {
		key, err = a.Keys.Revoke(ctx, c.Key)
	} else {
		line, missing := bufio.NewReader(os.Stdin).ReadString('\n')
		raw := strings.TrimSpace(line)
		if raw == "" {
			return fmt.Errorf("no key came on standard input: %w", missing)
		}
		key, err = a.Keys.RevokeRaw(ctx, raw)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s, %s, is revoked since %s\n", key.ID, key.Preview, key.RevokedAt.Format(time.RFC3339))
	return nil
}
