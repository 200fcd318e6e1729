package merchants

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// KYC is cascada kyc.
type KYC struct {
	List    kycListCmd    `cmd:"" help:"List verifications, newest first."`
	Approve kycApproveCmd `cmd:"" help:"Approve a verification; the merchant may then withdraw."`
	Reject  kycRejectCmd  `cmd:"" help:"Reject a verification; the merchant may start a new one."`
}

type kycListCmd struct {
	cli.DatabaseFlags
	Status   merchants.VerificationStatus `enum:",requires_input,processing,verified,rejected,expired" default:"" placeholder:"STATUS" help:"Only verifications with this status: requires_input, processing, verified, rejected or expired."`
	Merchant string                       `placeholder:"ID" help:"Only verifications of this merchant, mer_…"`
	Limit    cli.AtMost                   `default:"100" help:"Longest list (default ${default})."`
}

func (c *kycListCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	list, err := a.Verifications.List(ctx, c.Status, c.Merchant, int(c.Limit))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cli.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tMERCHANT\tENVIRONMENT\tLEVEL\tSUBJECT\tSTATUS\tCREATED")
	for _, v := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, v.Merchant, v.Environment(), v.Level, v.Subject, v.Status,
			v.CreatedAt.UTC().Format("2006-01-02 15:04:05"))
	}
	return w.Flush()
}

type kycApproveCmd struct {
	cli.DatabaseFlags
	ID string `arg:"" help:"Verification's id, kyc_…"`
}

func (c *kycApproveCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Verifications.Decide(ctx, a.Verifications.Self(), c.ID, merchants.KYCVerified, "", "")
}

type kycRejectCmd struct {
	cli.DatabaseFlags
	ID      string `arg:"" help:"Verification's id, kyc_…"`
	Code    string `default:"document_unreadable" help:"Reason as a code for programs (lastError.code, default ${default})."`
	Message string `default:"A document cannot be read." help:"Reason as a text for people (lastError.message, default \"${default}\")."`
}

func (c *kycRejectCmd) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, c.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Verifications.Decide(ctx, a.Verifications.Self(), c.ID, merchants.KYCRejected, c.Code, c.Message)
}
