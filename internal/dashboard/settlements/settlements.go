// Package settlements is the dashboard's pages about what a merchant has and when it gets it: the balance with its movements
// and its reserve, and settlements.
package settlements

import (
	"embed"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/web"
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
	site.Handle("GET /balance", merchants.RightRead, p.balance)
	site.Handle("GET /balance.csv", merchants.RightRead, p.balanceFile)
	site.Handle("GET /balance/reserve", merchants.RightRead, p.reserve)
	site.Handle("GET /settlements", merchants.RightRead, p.settlements)
	site.Handle("GET /settlements.csv", merchants.RightRead, p.settlementsFile)
	site.Handle("GET /settlements/{id}", merchants.RightRead, p.settlement)
	site.Handle("GET /settlements/{id}/receipt.pdf", merchants.RightRead, p.receipt)
	site.Handle("GET /settlements/{id}/lines.csv", merchants.RightRead, p.lines)
	return nil
}

// texts returns the texts of the room by key.
func (p *pages) texts(v *frame.Visit) func(key string) string {
	return func(key string) string { return p.Text(v, key) }
}

// usd is an amount of USD cents.
func usd(cents int64) money.Amount { return money.New(cents, money.USD) }

// settlementRow is a settlement in a list.
type settlementRow struct{ pay.Settlement }

// Sum is what the merchant earned.
func (s settlementRow) Sum() money.Amount { return usd(s.Net) }

type settlementsView struct {
	Rows  []settlementRow
	Pager frame.Pager
	Shops bool
}

func settlementFilter(r *http.Request) (f lists.SettlementFilter, err error) {
	f.Page, f.Status = frame.PageOf(r), pay.SettlementStatus(r.FormValue("status"))
	f.Span, err = frame.Days(r)
	return f, err
}

func (p *pages) settlements(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := settlementFilter(r)
	if err != nil {
		return err
	}
	list, total, err := p.Uses.Settlements.List(r.Context(), v.Scope, f)
	if err != nil {
		return err
	}
	list, pager := frame.Paged(r, list, total, func(s pay.Settlement) string { return s.ID })
	view := settlementsView{Pager: pager, Shops: len(v.Shops) > 1}
	for _, s := range list {
		view.Rows = append(view.Rows, settlementRow{s})
	}
	return p.Show(w, r, v, "settlements", view)
}

func (p *pages) settlementsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, err := settlementFilter(r)
	if err != nil {
		return err
	}
	f.Page = lists.Page{Limit: frame.FileRows}
	say := p.texts(v)
	file, err := p.NewCSV(w, r, v, "settlements", say("settlement"), say("state"), say("period_start"), say("period_end"), say("lines"), say("gross")+" (USD)", say("fees")+" (USD)", say("refunds")+" (USD)", say("chargebacks")+" (USD)",
		say("chargeback_fees")+" (USD)", say("reserve_held")+" (USD)", say("reserve_released")+" (USD)", say("adjustments")+" (USD)", say("net")+" (USD)", say("withdrawn_part")+" (USD)", say("rest")+" (USD)",
		say("withdrawals_of"), say("closed_at"), say("paid_at"), say("fee_tax")+" (USD)", say("tax_name"))
	if err != nil {
		return err
	}
	for {
		list, _, err := p.Uses.Settlements.List(r.Context(), v.Scope, f)
		if err != nil {
			return err
		}
		for _, s := range list {
			err := file.Row(s.ID, say("settlement_"+string(s.Status)), s.PeriodStart, s.PeriodEnd, s.Lines, usd(s.Gross), usd(s.Fees().Total()), usd(s.Refunds), usd(s.Chargebacks),
				usd(s.ChargebackFees), usd(s.Held), usd(s.Released), usd(s.Adjustments), usd(s.Net), settlementRow{s}.Withdrawn(), settlementRow{s}.Rest(),
				strings.Join(s.Withdrawals(), " "), s.ClosedAt, s.PaidAt, usd(s.Tax), taxNames(s))
			if err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		f.After = list[len(list)-1].ID
	}
}

// taxNames are the taxes of a settlement, such as IVA 16%.
func taxNames(s pay.Settlement) string {
	var names []string
	for _, t := range s.Taxes {
		names = append(names, t.Name+" "+t.Percent()+"%")
	}
	return strings.Join(names, "; ")
}

// total is a line of a settlement's sums.
type total struct {
	Name   string // key of a text
	Amount money.Amount
	Sum    bool
	Taxed  merchants.TaxRate // of a tax, which is a part of the line before it
}

// lineRow is a line of a settlement.
type lineRow struct{ pay.SettlementLine }

// Worth is what the shopper paid, or got back.
func (l lineRow) Worth() money.Amount { return usd(l.Amount()) }

// Cost is the fees.
func (l lineRow) Cost() money.Amount { return usd(l.Fees().Total() + l.ChargebackFee) }

// HeldBack is the reserve; below zero if it was given back.
func (l lineRow) HeldBack() money.Amount { return usd(l.Reserve) }

// Rest is what is left for the merchant.
func (l lineRow) Rest() money.Amount { return usd(l.Net) }

type settlementView struct {
	settlementRow
	Totals []total
	Rows   []lineRow
	Covers []coverRow
	Pager  frame.Pager
	Shops  bool // the merchant has other shops: the receipt is the whole merchant's
	Open   bool
}

func (p *pages) settlement(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Settlements.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	list, n, err := p.Uses.Settlements.SettlementLines(r.Context(), v.Scope, s, frame.PageOf(r))
	if err != nil {
		return err
	}
	list, pager := frame.Paged(r, list, n, func(l pay.SettlementLine) string { return strconv.FormatInt(l.Number, 10) })
	view := settlementView{settlementRow: settlementRow{s}, Pager: pager, Shops: len(v.Shops) > 1, Open: s.Status == pay.BatchOpen}
	if view.Covers, err = p.coversOf(r, v, s); err != nil {
		return err
	}
	for _, l := range list {
		view.Rows = append(view.Rows, lineRow{l})
	}
	view.Totals = totals(s)
	return p.Show(w, r, v, "settlement", view)
}

// totals are the sums of a settlement: how its net is made up, and what is left of it.
func totals(s pay.Settlement) (list []total) {
	row := settlementRow{s}
	for _, t := range []struct {
		name  string
		cents int64
		sum   bool
	}{
		{"gross", s.Gross, false}, {"fees", -s.Fees().Total(), false}, {"refunds", -s.Refunds, false}, {"chargebacks", -s.Chargebacks, false}, {"chargeback_fees", -s.ChargebackFees, false},
		{"reserve_held", -s.Held, false}, {"reserve_released", s.Released, false}, {"adjustments", s.Adjustments, false}, {"net", s.Net, true},
		{"withdrawn_part", -s.PaidOut(), false}, {"set_off", -row.SetOff().Minor, false}, {"rest", row.Rest().Minor, true},
	} {
		if t.name == "rest" && s.Status == pay.BatchOpen {
			continue
		}
		if t.cents != 0 || t.sum || t.name == "gross" {
			list = append(list, total{Name: t.name, Amount: usd(t.cents), Sum: t.sum})
		}
		if t.name == "fees" {
			for _, tax := range s.Taxes {
				list = append(list, total{Name: "tax_in", Amount: usd(-tax.Amount), Taxed: tax.TaxRate})
			}
		}
	}
	return list
}

// asFile sets the headers of a file to save.
func asFile(w http.ResponseWriter, kind, name string) {
	frame.Secure(w.Header())
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, name))
}

func (p *pages) receipt(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Settlements.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	pdf, err := p.Uses.Settlements.ReceiptFor(r.Context(), v.Scope, s)
	if err != nil {
		return err
	}
	asFile(w, "application/pdf", s.ID+".pdf")
	_, _ = w.Write(pdf) // the visitor may have left
	return nil
}

// slowLines is how long a browser may take to read frame.FileRows lines.
const slowLines = time.Minute

// lines sends all lines as the API's report does.
func (p *pages) lines(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	s, err := p.Uses.Settlements.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	language, err := p.Uses.Settlements.Language(r.Context(), s.Merchant)
	if err != nil {
		return err
	}
	asFile(w, "text/csv; charset=utf-8", s.ID+".csv")
	report, err := statement.NewReport(w, language, frame.SheetOf(r))
	if err == nil {
		err = p.Uses.Settlements.EachLine(r.Context(), v.Scope, s, func(l pay.SettlementLine) error {
			if l.Number%frame.FileRows == 0 {
				web.Allow(w, slowLines)
			}
			return report.Line(l)
		})
	}
	if err == nil {
		err = report.Close()
	}
	return err
}
