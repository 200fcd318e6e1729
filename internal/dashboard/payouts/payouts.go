// Package payouts is the dashboard's pages about money that leaves for the merchant: wallets and withdrawals.
package payouts

import (
	"embed"
	"errors"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*frame.Site
	Uses Uses
	*frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	p := &pages{site, uses, room.TimedBy(site)}
	site.Handle("GET /wallets", merchants.RightRead, p.wallets)
	site.Handle("GET /wallets/new", merchants.RightWithdrawals, p.newWallet)
	site.Handle("POST /wallets", merchants.RightWithdrawals, p.addWallet)
	site.Handle("GET /wallets/{id}", merchants.RightRead, p.wallet)
	site.Handle("GET /wallets/{id}/remove", merchants.RightWithdrawals, p.askRemoval)
	site.Handle("POST /wallets/{id}/remove", merchants.RightWithdrawals, p.removeWallet)
	site.Handle("GET /withdrawals", merchants.RightRead, p.withdrawals)
	site.Handle("GET /withdrawals.csv", merchants.RightRead, p.withdrawalsFile)
	site.Handle("GET /withdrawals/new", merchants.RightWithdrawals, p.newWithdrawal)
	site.Handle("POST /withdrawals", merchants.RightWithdrawals, p.withdraw)
	site.Handle("GET /withdrawals/{id}", merchants.RightRead, p.withdrawal)
	site.Handle("GET /withdrawals/{id}/cancel", merchants.RightWithdrawals, p.askCancel)
	site.Handle("POST /withdrawals/{id}/cancel", merchants.RightWithdrawals, p.cancel)
	return nil
}

// texts returns the texts of the room by key.
func (p *pages) texts(v *frame.Visit) func(key string) string {
	return func(key string) string { return p.Text(v, key) }
}

// usd is an amount of USD cents.
func usd(cents int64) money.Amount { return money.New(cents, money.USD) }

// wrong tells what is wrong with a form: by field, or of the whole form. It returns an error that is not the
// visitor's.
func (p *pages) wrong(v *frame.Visit, err error) (fields map[string]string, whole string, fault error) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code == problem.Internal {
		return nil, "", err
	}
	if base.Unsure(err) {
		return nil, p.Text(v, "err_outcome_unknown"), nil
	}
	for _, key := range []string{"err_" + string(shown.Code) + "_" + strings.ToLower(shown.Param), "err_" + string(shown.Code)} {
		if text := p.Text(v, key); text != key {
			if shown.Param != "" {
				return map[string]string{shown.Param: text}, "", nil
			}
			return nil, text, nil
		}
	}
	if fields = frame.FieldErrors(v.Language(), err); fields != nil {
		return fields, "", nil
	}
	return nil, frame.ErrorText(v.Language(), shown), nil
}
