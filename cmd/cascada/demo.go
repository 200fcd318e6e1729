package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// demo makes a merchant in an empty database, and prints how to use it and how to sign in.
type demo struct {
	service  *daemon.Service
	merchant *appmerchants.Demo
	out      io.Writer
	shown    bool // the keys are printed, or others have them
}

func newDemo(s *daemon.Service, out io.Writer) (*demo, error) {
	m, err := s.App.Onboarding.NewDemo(appmerchants.NewMerchant{Name: "Demo Shop", Email: "demo@example.com", Industry: "retail", Tier: merchants.Standard})
	return &demo{service: s, merchant: m, out: out}, err
}

// maxDemoPause is the longest pause between two tries.
const maxDemoPause = time.Minute

// run makes the demo. While the database does not answer, it tries again: the merchant may already be written, and
// nobody else has its keys. The service runs without the demo, so any other error is only logged.
func (d *demo) run(ctx context.Context, log *slog.Logger) {
	for pause := time.Second; ; pause = min(2*pause, maxDemoPause) {
		err := d.try(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			log.Warn("the node ends before the demo is complete", "error", err)
			return
		}
		if p := (*problem.Error)(nil); !errors.As(err, &p) || p.Code != problem.ServiceUnavailable {
			log.Error("the demo is not complete", "error", err)
			return
		}
		log.Warn("the demo is not complete: it is tried again", "in", pause, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// try does what is not done yet.
func (d *demo) try(ctx context.Context) error {
	if !d.shown {
		ours, err := d.merchant.Create(ctx)
		if err != nil {
			return fmt.Errorf("create a demo merchant: %w", err)
		}
		if ours {
			if err := d.showKeys(ctx); err != nil {
				return err
			}
		}
		d.shown = true
	}
	return d.showLink(ctx)
}

// showKeys prints the keys, and what to paste to take a payment.
func (d *demo) showKeys(ctx context.Context) error {
	return d.print(ctx, `
A demo merchant was created. Its sandbox keys, shown only once:

  publishable  %[1]s
  secret       %[2]s

Paste these lines into another shell to take a payment as in production: with "Sandbox-Strict: true" the shopper
enters a card on a page, and has to pass 3-D Secure. The third line plays the shopper who pays; instead of it you
can open the checkoutUrl that the second one prints, and pay there yourself:

  TOKEN=$(curl -s %[3]s/auth/token -H 'Content-Type: application/json' -d '{"apiKey":"%[1]s","secretKey":"%[2]s"}' | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
  ID=$(curl -s %[3]s/payments -H "Authorization: Bearer $TOKEN" -H 'Sandbox-Strict: true' -H 'Content-Type: application/json' -d '{"amount":25.65,"paymentMethodId":"sbx_card","hostedCheckout":true,"merchantOrderId":"order-1"}' | tee /dev/stderr | sed 's/.*"transactionId":"\([^"]*\)".*/\1/')
  curl -s %[3]s/payments/$ID/simulate -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"action":"paid"}'
  curl -s %[3]s/me/balance -H "Authorization: Bearer $TOKEN"

Or open this page, where a shopper chooses how to pay:

  %[4]s/demo

`, d.merchant.Sandbox.Publishable, d.merchant.Sandbox.Secret, d.service.URL+"/api/v1", d.service.URL)
}

// showLink prints a link that signs the user of the demo merchant in. A database without that merchant has no such
// user.
func (d *demo) showLink(ctx context.Context) error {
	scope, err := d.service.App.Onboarding.Demo(ctx)
	if base.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	address, err := d.service.App.Links.Demo(ctx, scope.Merchant)
	if err != nil {
		return fmt.Errorf("make a link to sign in (cascada user link makes one too): %w", err)
	}
	return d.print(ctx, "Sign in to the dashboard with this link, which works once:\n\n  %s\n\n", address)
}

// lastPrint is how long a node that ends waits for somebody to read its output.
const lastPrint = time.Second

// print writes a text. If nobody reads it any more, the node still ends.
func (d *demo) print(ctx context.Context, format string, values ...any) error {
	done := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(d.out, format, values...)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastPrint):
		return errors.New("nobody reads what this node prints")
	}
}
