package pay

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// How the shopper paid is kept, also if a later notice alone tells it. Interest beyond the payment's amount moves nothing (PAY-45).
func TestPlanIsKeptAndIsNoOtherAmount(t *testing.T) {
	plan := func(p Payment) installment.Plan {
		return installment.Plan{Count: 6, Total: p.Price.Local.Add(money.New(60, p.Price.Local.Currency)), By: installment.Shopper}
	}
	for name, late := range map[string]bool{"with the payment": false, "by a later notice": true} {
		p := sent(t, cardRail(), 2550)
		paid := Outcome{Kind: Approved, ProviderRef: "ch_1", MoneyRef: "ch_1", Local: p.Price.Local}
		if !late {
			paid.Installments = plan(p)
		}
		p, change := p.ApplyAnswer(paid, routes, noon)
		if p.Status != Completed || len(p.Strays) > 0 || len(change.Transfers) != 1 || p.End.Plan.Known() == late {
			t.Fatalf("%s: %s, %+v, strays %v", name, p, p.End.Plan, p.Strays)
		}
		paid.Installments = plan(p)
		p, change = p.ApplyNotice(Notice{ID: "n_1", Account: p.Attempts[0].Provider, Reference: p.Reference(1), Outcome: paid}, routes, "CLM-1", noon.Add(time.Minute))
		if want := plan(p).For(p.Price.Local); p.End.Plan != want || len(p.Strays) > 0 || len(change.Transfers) > 0 || late != (len(change.Payments) == 1) {
			t.Errorf("%s: the plan is %+v, want %+v; %d transfers, %d payments", name, p.End.Plan, want, len(change.Transfers), len(change.Payments))
		}
	}
}
