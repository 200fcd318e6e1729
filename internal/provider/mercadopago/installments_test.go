package mercadopago

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// In implements providertest.Installing: the page has a largest number, and the interest of a wallet or an issuer, here two in a hundred.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	most, _ := c.page["payment_methods"].(map[string]any)["installments"].(json.Number)
	if limit, err := most.Int64(); err != nil || int64(count) > limit {
		return n, false
	}
	p := f.try(c, "visa").set("approved", "accredited")
	p.count, p.total = count, money.New(c.Local.Minor+c.Local.Minor/50, c.Local.Currency)
	f.serial++
	return notification("payment", p.ref(), f.serial, providertest.Noon.UnixMilli()), true
}

// A page has the most installments that the terms allow: one without terms.
func TestAPageOffersWhatTheTermsAllow(t *testing.T) {
	brl := func(reais int64) money.Amount { return money.New(reais*100, money.BRL) }
	for name, c := range map[string]struct {
		rail  string
		terms installment.Terms
		want  json.Number
	}{
		"none":           {"card.BRA", installment.Terms{}, "1"},
		"six":            {"card.BRA", installment.Terms{Max: 6, InterestFree: 3}, "6"},
		"too many":       {"card.BRA", installment.Terms{Max: 48}, "24"},
		"of 100 or more": {"card.BRA", installment.Terms{Max: 12, Min: brl(100)}, "3"},
		"not by card":    {"bank.pse.COL", installment.Terms{Max: 6}, ""},
	} {
		a, f, _ := connect(t)
		r := request(c.rail)
		r.Installments = c.terms
		offer := provider.Installments(a, r.Rail, r.Local, r.Installments)
		if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting {
			t.Fatalf("%s: %+v", name, o)
		}
		got, _ := f.Charges[0].page["payment_methods"].(map[string]any)["installments"].(json.Number)
		if want, _ := c.want.Int64(); got != c.want || max(1, int64(offer.Max())) != max(1, want) || offer.Free() != 0 {
			t.Errorf("%s: the page has %q, want %q; the offer is %+v", name, got, c.want, offer)
		}
	}
	if offer := (&account{}).Installments("card.MEX", money.Amount{}, installment.Terms{Max: 12}); offer.Max() != 12 {
		t.Errorf("for any amount: %+v", offer)
	}
}

// The shopper bears the interest: the payment's amount stays.
func TestInstallmentsAreReported(t *testing.T) {
	a, f, _ := connect(t)
	r := request("card.BRA")
	r.Installments = installment.Terms{Max: 6}
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	n, _ := f.In(r.Reference, 6)
	list, err := a.Notices(context.Background(), n)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	want := installment.Plan{Count: 6, Each: money.New(51_00, money.BRL), Total: money.New(306_00, money.BRL), By: installment.Shopper}
	for what, o := range map[string]pay.Outcome{"query": a.Query(context.Background(), r), "notification": list[0].Outcome} {
		if o.Kind != pay.Approved || o.Local != r.Local || o.Installments.For(r.Local) != want {
			t.Errorf("by %s: %+v of %v, want %+v of %v", what, o.Installments.For(r.Local), o.Local, want, r.Local)
		}
	}
	for _, count := range []text{"", "1", "0", "-3", "99", "many"} {
		if plan := (payment{Count: count, CurrencyID: "BRL"}).plan(); plan != (installment.Plan{}) {
			t.Errorf("%q installments: %+v", count, plan)
		}
	}
}
