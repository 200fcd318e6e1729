package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/cascadapay/cascada/internal/cli"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Story is cascada story.
type Story struct {
	cli.DatabaseFlags
	ID          string                `arg:"" name:"id" help:"Id of a payment (TXN-…), a withdrawal (wdr_…), a claim (CLM-…) or a merchant (mer_…). A claim is in the story of its payment."`
	Since       string                `default:"31d" placeholder:"WHEN" help:"Of a merchant, the start of the period: a duration before now such as 24h or 7d, a day such as 2026-11-21, or a time such as 2026-11-21T15:00:00Z (UTC; default ${default})."`
	Until       string                `placeholder:"WHEN" help:"Of a merchant, the end of the period; by default everything since."`
	Environment merchants.Environment `default:"production" enum:"production,sandbox" help:"Of a merchant: production or sandbox (default ${default})."`
	Each        bool                  `help:"Of a merchant: print each capture, not one line for those of a day."`
}

func (s *Story) Run(ctx context.Context, log *slog.Logger, open cli.Opener[Uses]) error {
	a, err := open.Existing(ctx, s.DatabaseFlags, log)
	if err != nil {
		return err
	}
	defer a.Close()
	var story string
	if strings.HasPrefix(s.ID, merchants.MerchantPrefix) {
		story, err = s.ofMerchant(ctx, a)
	} else {
		story, err = a.Story(ctx, s.ID)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(cli.Stdout, story)
	return nil
}

func (s *Story) ofMerchant(ctx context.Context, a Uses) (string, error) {
	var p lists.Span
	var err error
	if p.From, err = cli.When(s.Since, a.Now()); err != nil {
		return "", fmt.Errorf("--since: %w", err)
	}
	if s.Until != "" {
		if p.To, err = cli.When(s.Until, a.Now()); err != nil {
			return "", fmt.Errorf("--until: %w", err)
		}
	}
	if s.Until != "" && !p.From.Before(p.To) {
		return "", errors.New("--since must be before --until")
	}
	return a.Settlements.Story(ctx, merchants.Scope{Merchant: s.ID, Live: s.Environment == merchants.Production}, p, s.Each)
}
