package payments

import (
	"cmp"
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// names are the names of the rails that a shop sees.
type names struct {
	rails map[string]accounts.Rail
	list  []methods.ListedRail
}

func (s *sales) names(v *frame.Visit) names {
	list, _ := s.Uses.Methods.RailList(v.Scope, methods.Filter{})
	n := names{map[string]accounts.Rail{}, list}
	for _, r := range list {
		n.rails[r.ID] = r.Rail
	}
	return n
}

// Rail is the usual name of a payment's rail. A rail that is no longer listed has the name of its method.
func (n names) Rail(p *frame.Page, of pay.Payment) template.HTML {
	if r, known := n.rails[of.Way.RailID]; known {
		return railName(p, r.Name)
	}
	return p.T("rail_other", "name", p.Method(of.Way.Method))
}

func railName(p *frame.Page, name string) template.HTML {
	name, _ = strings.CutSuffix(name, " (test)")
	switch name {
	case "PIX":
		name = "Pix"
	case "Card":
		return p.T("rail_card")
	case "Cash":
		return p.T("rail_cash")
	}
	return p.T("rail_other", "name", name)
}

// Methods are the choices of the filter of methods.
func (n names) Methods(p *frame.Page) (list []frame.Option) {
	for _, r := range n.list {
		if slices.ContainsFunc(list, func(o frame.Option) bool { return o.Value == r.Method }) {
			continue
		}
		list = append(list, frame.Option{Value: r.Method, Label: p.Method(r.Method)})
	}
	return list
}

// words is a sentence as plain text, for what templates escape themselves.
func words(p *frame.Page, key string, args ...any) string {
	return html.UnescapeString(string(p.T(key, args...)))
}

// Countries are the choices of the filter of countries.
func (n names) Countries(p *frame.Page) (list []frame.Option) {
	for _, r := range n.list {
		if slices.ContainsFunc(list, func(o frame.Option) bool { return o.Value == r.Country }) {
			continue
		}
		list = append(list, frame.Option{Value: r.Country, Label: p.Country(r.Country)})
	}
	slices.SortFunc(list, func(a, b frame.Option) int { return cmp.Compare(a.Label, b.Label) })
	return list
}

// statusOf is the status that people see: a refund of a part and a cancellation have their own words.
func statusOf(p pay.Payment) string {
	switch {
	case p.Status == pay.Refunded && p.Refunds.Local == 0: // the bank refused the only refund
		return "refund_failed"
	case p.Status == pay.Refunded && p.Refunds.Local < p.Price.Local.Minor:
		return "part_refunded"
	case p.End.Canceled():
		return "canceled"
	case p.Disputes.OpenOnCapture() != "" && p.Status != pay.Chargeback:
		return "disputed"
	}
	return string(p.Status)
}
