package people

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/operators"
)

type operatorRoleCmd struct {
	cli.DatabaseFlags
	Name string `arg:"" help:"Operator's name, or the e-mail address of an operator of the console."`
	Role string `arg:"" enum:"admin,finance,risk,support,viewer" help:"New role."`
}

func (c *operatorRoleCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	role := operators.Role(c.Role)
	if strings.Contains(c.Name, "@") {
		err = a.Team.SetOperator(ctx, a.Self(), c.Name, role)
	} else {
		_, err = a.Operators.Change(ctx, a.Self(), c.Name, role)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s has the role %s\n", c.Name, role)
	return err
}

// dualCmd is cascada operator dual-control.
type dualCmd struct {
	List    dualListCmd    `cmd:"" help:"List the rights that may need two persons, and which do."`
	Require dualRequireCmd `cmd:"" help:"Let a right be used only by two persons: one proposes, another one approves."`
	Release dualReleaseCmd `cmd:"" help:"Let a right be used by one person again. That needs two persons itself."`
}

type dualListCmd struct {
	cli.DatabaseFlags
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *dualListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Dual.List(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "RIGHT\tPERSONS\tSINCE\tBY")
	}
	for _, d := range list {
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(shape.NewDualControl(d)); err != nil {
				return err
			}
			continue
		}
		persons, since := "one", ""
		if d.Required {
			persons = "two"
		}
		if !d.ChangedAt.IsZero() {
			since = d.ChangedAt.Format(cli.TimeForm)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.Right, persons, since, d.ChangedBy)
	}
	return table.Flush()
}

type dualRequireCmd struct {
	cli.DatabaseFlags
	Right string `arg:"" enum:"payouts,limits,adjustments,prices,credentials,manage,machine" help:"Right: payouts, limits, adjustments, prices, credentials, manage or machine."`
}

func (c *dualRequireCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return setDual(ctx, log, open, c.DatabaseFlags, operators.Right(c.Right), true, "")
}

type dualReleaseCmd struct {
	cli.DatabaseFlags
	Right     string `arg:"" enum:"payouts,limits,adjustments,prices,credentials,manage,machine" help:"Right: payouts, limits, adjustments, prices, credentials, manage or machine."`
	Emergency string `placeholder:"REASON" help:"Release it at once and alone, without a token, because no second person can be reached. The audit log has the reason."`
}

func (c *dualReleaseCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	return setDual(ctx, log, open, c.DatabaseFlags, operators.Right(c.Right), false, c.Emergency)
}

func setDual(ctx context.Context, log *slog.Logger, open cli.Opener[Uses], flags cli.DatabaseFlags, right operators.Right, required bool, emergency string) error {
	a, err := open.Existing(ctx, flags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Dual.Set(ctx, a.Self(), right, required, emergency); err != nil {
		return err
	}
	persons := "one person"
	if required {
		persons = "two persons"
	}
	_, err = fmt.Fprintf(cli.Stdout, "%s needs %s\n", right, persons)
	return err
}

// Proposal is cascada proposal.
type Proposal struct {
	List    proposalListCmd    `cmd:"" help:"List what operators proposed and a second person has to approve."`
	Show    proposalShowCmd    `cmd:"" help:"Show what is proposed."`
	Approve proposalApproveCmd `cmd:"" help:"Approve what another person proposed. It is applied at once, or when whoever proposed it does it again."`
	Reject  proposalRejectCmd  `cmd:"" help:"Reject a proposal, or withdraw your own."`
}

type proposalListCmd struct {
	cli.DatabaseFlags
	All  bool `help:"Include those that have ended."`
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (c *proposalListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Dual.Proposals(ctx, c.All)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "PROPOSAL\tSTATUS\tRIGHT\tWHAT\tTO\tBY\tENDS")
	}
	for _, p := range list {
		if c.JSON {
			if err := json.NewEncoder(cli.Stdout).Encode(shape.NewProposal(p)); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.Status, p.Right, p.Kind, p.Subject, p.MadeBy, p.EndsAt.Format(cli.TimeForm))
	}
	return table.Flush()
}

type proposalShowCmd struct {
	cli.DatabaseFlags
	ID string `arg:"" help:"Proposal's id, prp_…"`
}

func (c *proposalShowCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	p, err := a.Dual.Proposal(ctx, c.ID)
	if err != nil {
		return err
	}
	return printProposal(p)
}

func printProposal(p operators.Proposal) error {
	fmt.Fprintf(cli.Stdout, "%s  %s %s, %s; by %s at %s\n", p.ID, p.Kind, p.Subject, p.Status, p.MadeBy, p.MadeAt.Format(cli.TimeForm))
	for _, name := range slices.Sorted(maps.Keys(p.Details)) {
		fmt.Fprintf(cli.Stdout, "  %s  %s\n", name, p.Details[name])
	}
	if p.Status == operators.ProposalApproved {
		_, err := fmt.Fprintf(cli.Stdout, "%s must do it again before %s\n", p.MadeBy, p.EndsAt.Format(cli.TimeForm))
		return err
	}
	return nil
}

type proposalApproveCmd struct {
	cli.DatabaseFlags
	ID string `arg:"" help:"Proposal's id, prp_…"`
}

func (c *proposalApproveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	p, err := a.Dual.Approve(ctx, a.Self(), c.ID)
	if err != nil {
		return err
	}
	return printProposal(p)
}

type proposalRejectCmd struct {
	cli.DatabaseFlags
	ID   string `arg:"" help:"Proposal's id, prp_…"`
	Note string `required:"" help:"Why. It is kept in the audit log."`
}

func (c *proposalRejectCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	p, err := a.Dual.Reject(ctx, a.Self(), c.ID, c.Note)
	if err != nil {
		return err
	}
	return printProposal(p)
}
