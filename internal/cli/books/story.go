package books

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cascadapay/cascada/internal/cli"
)

// Story is cascada story.
type Story struct {
	cli.DatabaseFlags
	ID string `arg:"" name:"id" help:"Id of a payment (TXN-…), a withdrawal (wdr_…) or a claim (CLM-…). A claim is in the story of its payment."`
}

func (c *Story) Run(ctx context.Context, log *slog.Logger) error {
	a, err := c.Existing(ctx, log)
	if err != nil {
		return err
	}
	defer a.Close()
	story, err := a.Story(ctx, c.ID)
	if err != nil {
		return err
	}
	fmt.Fprint(cli.Stdout, story)
	return nil
}
