package people

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

// Operator is cascada operator.
type Operator struct {
	Add    operatorAddCmd    `cmd:"" help:"Create a token of the admin API (serve --admin) and of these commands for a person or a program. It is shown only once."`
	List   operatorListCmd   `cmd:"" help:"List who has a token."`
	Remove operatorRemoveCmd `cmd:"" help:"Revoke an operator's token at once."`
	Role   operatorRoleCmd   `cmd:"" help:"Give an operator another role: admin, finance, risk, support or viewer."`
	Dual   dualCmd           `cmd:"" name:"dual-control" help:"Show and set which rights need two persons."`
}

// operatorJSON is the shape of an operator in --json.
type operatorJSON struct {
	Name      string `json:"name"`
	Role      string `json:"role"`
	Person    string `json:"person,omitempty"`
	Token     string `json:"token,omitempty"` // only from add
	Preview   string `json:"tokenPreview"`
	CreatedAt string `json:"createdAt"`
	EndsAt    string `json:"endsAt,omitempty"`
	RemovedAt string `json:"removedAt,omitempty"`
}

func newOperatorJSON(o operators.Operator) operatorJSON {
	told := operatorJSON{Name: o.Name, Role: string(o.Role), Person: o.Person, Preview: o.Preview, CreatedAt: o.CreatedAt.Format(cli.TimeForm)}
	if !o.Active() {
		told.RemovedAt = o.RemovedAt.Format(cli.TimeForm)
	} else if !o.EndsAt.IsZero() {
		told.EndsAt = o.EndsAt.Format(cli.TimeForm)
	}
	return told
}

type operatorAddCmd struct {
	cli.DatabaseFlags
	Name    string        `arg:"" help:"Name of the operator, as the audit log shows it."`
	Role    string        `default:"admin" enum:"admin,finance,risk,support,viewer" help:"What the token may do: admin, finance, risk, support or viewer (docs/ADMIN.md)."`
	Person  string        `placeholder:"EMAIL" help:"Operator of the console whose token it is: both count as one person, and the token has no more rights than the person."`
	Expires time.Duration `default:"2160h" help:"How long the token is valid, 90 days by default; 0: until it is removed."`
	JSON    bool          `name:"json" help:"Print JSON."`
}

func (c *operatorAddCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	ends, err := ends(a.Now(), c.Expires)
	if err != nil {
		return err
	}
	n := auth.Newcomer{Name: c.Name, Role: operators.Role(c.Role), Ends: ends}
	if c.Person != "" {
		u, err := a.Team.Find(ctx, c.Person)
		if err != nil {
			return err
		}
		n.Person = u.ID
	}
	token, o, err := a.Operators.Add(ctx, a.Self(), n)
	if err != nil {
		return err
	}
	if c.JSON {
		told := newOperatorJSON(o)
		told.Token = token
		return json.NewEncoder(cli.Stdout).Encode(told)
	}
	_, err = fmt.Fprintf(cli.Stdout, "operator  %s\nrole      %s\ntoken     %s\nThe token is shown only once.\n", o.Name, o.Role, token)
	return err
}

type operatorListCmd struct {
	cli.DatabaseFlags
	All  bool `help:"Include removed operators."`
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *operatorListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Operators.List(ctx, c.All)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "OPERATOR\tROLE\tTOKEN\tSINCE\tENDS\tREMOVED")
	}
	for _, o := range list {
		told := newOperatorJSON(o)
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(told); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", told.Name, told.Role, told.Preview, told.CreatedAt, told.EndsAt, told.RemovedAt)
	}
	return table.Flush()
}

type operatorRemoveCmd struct {
	cli.DatabaseFlags
	Name string `arg:"" help:"Operator's name."`
}

func (c *operatorRemoveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Operators.Remove(ctx, a.Self(), c.Name); err != nil {
		return err
	}
	fmt.Fprintf(cli.Stdout, "%s was removed; the token no longer works\n", c.Name)
	return nil
}
