// Package money is the dashboard's pages about a merchant's own money: the balance, settlements, wallets and
// withdrawals.
package money

import (
	"embed"
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

type moneyPages struct {
	*frame.Site
	Uses Uses
	*frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	pages, err := site.Frame.NewPages(files)
	if err != nil {
		return err
	}
	m := &moneyPages{site, uses, pages.TimedBy(site)}
	site.Handle("GET /balance", merchants.RightRead, m.balance)
	site.Handle("GET /balance.csv", merchants.RightRead, m.balanceFile)
	site.Handle("GET /balance/reserve", merchants.RightRead, m.reserve)
	site.Handle("GET /settlements", merchants.RightRead, m.settlements)
	site.Handle("GET /settlements.csv", merchants.RightRead, m.settlementsFile)
	site.Handle("GET /settlements/{id}", merchants.RightRead, m.settlement)
	site.Handle("GET /settlements/{id}/receipt.pdf", merchants.RightRead, m.receipt)
	site.Handle("GET /settlements/{id}/lines.csv", merchants.RightRead, m.lines)
	site.Handle("GET /wallets", merchants.RightRead, m.wallets)
	site.Handle("GET /wallets/new", merchants.RightWithdrawals, m.newWallet)
	site.Handle("POST /wallets", merchants.RightWithdrawals, m.addWallet)
	site.Handle("GET /wallets/{id}", merchants.RightRead, m.wallet)
	site.Handle("GET /wallets/{id}/remove", merchants.RightWithdrawals, m.askRemoval)
	site.Handle("POST /wallets/{id}/remove", merchants.RightWithdrawals, m.removeWallet)
	site.Handle("GET /withdrawals", merchants.RightRead, m.withdrawals)
	site.Handle("GET /withdrawals.csv", merchants.RightRead, m.withdrawalsFile)
	site.Handle("GET /withdrawals/new", merchants.RightWithdrawals, m.newWithdrawal)
	site.Handle("POST /withdrawals", merchants.RightWithdrawals, m.withdraw)
	site.Handle("GET /withdrawals/{id}", merchants.RightRead, m.withdrawal)
	site.Handle("GET /withdrawals/{id}/cancel", merchants.RightWithdrawals, m.askCancel)
	site.Handle("POST /withdrawals/{id}/cancel", merchants.RightWithdrawals, m.cancel)
	return nil
}

// lead sends the browser to a page of the visit's shop.
func (m *moneyPages) lead(w http.ResponseWriter, r *http.Request, v *frame.Visit, path string) error {
	m.Go(w, r, m.At("/"+v.Shop.ID+"/"+string(v.Environment())+path))
	return nil
}

// texts are the texts of the room.
func (m *moneyPages) texts(v *frame.Visit) func(key string) string {
	return func(key string) string { return m.Text(v, key) }
}

// usd is an amount of USD cents.
func usd(cents int64) money.Amount { return money.New(cents, money.USD) }

// cut cuts a list that was read with frame.PageOf, and returns its position.
func cut[T any](r *http.Request, list []T, total int64, id func(T) string) ([]T, frame.Pager) {
	p := frame.Pager{Total: int(total)}
	list, p.Next = frame.Cut(list, id)
	if r.FormValue("cursor") == "" && len(list) > 0 {
		p.From, p.To = 1, len(list)
	}
	return list, p
}

// wrong tells what is wrong with a form: by field, or of the whole form. It returns an error that is not the
// visitor's.
func (m *moneyPages) wrong(v *frame.Visit, err error) (fields map[string]string, whole string, fault error) {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code == problem.Internal {
		return nil, "", err
	}
	if base.Unsure(err) {
		return nil, m.Text(v, "err_outcome_unknown"), nil
	}
	for _, key := range []string{"err_" + string(shown.Code) + "_" + strings.ToLower(shown.Param), "err_" + string(shown.Code)} {
		if text := m.Text(v, key); text != key {
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
