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
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

//go:embed all:templates text
var files embed.FS

type room struct {
	*frame.Site
	*frame.Room
}

// Register adds the pages to a site.
func Register(site *frame.Site) error {
	pages, err := site.Frame.Room(files)
	if err != nil {
		return err
	}
	m := &room{site, pages.TimedBy(site)}
	site.Handle("GET /balance", tenant.RightRead, m.balance)
	site.Handle("GET /balance.csv", tenant.RightRead, m.balanceFile)
	site.Handle("GET /balance/reserve", tenant.RightRead, m.reserve)
	site.Handle("GET /settlements", tenant.RightRead, m.settlements)
	site.Handle("GET /settlements.csv", tenant.RightRead, m.settlementsFile)
	site.Handle("GET /settlements/{id}", tenant.RightRead, m.settlement)
	site.Handle("GET /settlements/{id}/receipt.pdf", tenant.RightRead, m.receipt)
	site.Handle("GET /settlements/{id}/lines.csv", tenant.RightRead, m.lines)
	site.Handle("GET /wallets", tenant.RightRead, m.wallets)
	site.Handle("GET /wallets/new", tenant.RightWithdrawals, m.newWallet)
	site.Handle("POST /wallets", tenant.RightWithdrawals, m.addWallet)
	site.Handle("GET /wallets/{id}", tenant.RightRead, m.wallet)
	site.Handle("GET /wallets/{id}/remove", tenant.RightWithdrawals, m.askRemoval)
	site.Handle("POST /wallets/{id}/remove", tenant.RightWithdrawals, m.removeWallet)
	site.Handle("GET /withdrawals", tenant.RightRead, m.withdrawals)
	site.Handle("GET /withdrawals.csv", tenant.RightRead, m.withdrawalsFile)
	site.Handle("GET /withdrawals/new", tenant.RightWithdrawals, m.newWithdrawal)
	site.Handle("POST /withdrawals", tenant.RightWithdrawals, m.withdraw)
	site.Handle("GET /withdrawals/{id}", tenant.RightRead, m.withdrawal)
	site.Handle("GET /withdrawals/{id}/cancel", tenant.RightWithdrawals, m.askCancel)
	site.Handle("POST /withdrawals/{id}/cancel", tenant.RightWithdrawals, m.cancel)
	return nil
}

// lead sends the browser to a page of the visit's shop.
func (m *room) lead(w http.ResponseWriter, r *http.Request, v *frame.Visit, path string) error {
	m.Go(w, r, m.At("/"+v.Shop.ID+"/"+string(v.Environment())+path))
	return nil
}

// say is a text of the room.
func (m *room) say(v *frame.Visit) func(key string) string {
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
func (m *room) wrong(v *frame.Visit, err error) (fields map[string]string, whole string, fault error) {
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
	return nil, frame.Said(v.Language(), shown), nil
}
