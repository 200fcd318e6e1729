package ebanx

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// In implements providertest.Installing.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	most, err := strconv.Atoi(strings.TrimPrefix(c.most, "1-"))
	if err != nil || count > most || c.Ending != providertest.Open {
		return n, false
	}
	c.count, c.Ending = count, providertest.Paid
	return notification("operation=payment_status_change&notification_type=update&hash_codes=" + c.hash), true
}

// on is a charge on a rail.
func on(rail string, local money.Amount, t installment.Terms) provider.Request {
	charges, _ := samples()
	r := providertest.Under(charges[rail], rail, "01M7Z-1")
	r.Local, r.Installments = local, t
	return r
}

// EBANX's page gets a range that ends with what is offered: free of interest where the shopper pays what we ask for.
func TestAPageOffersWhatTheTermsAllow(t *testing.T) {
	brl, mxn, cop := money.New(120_00, money.BRL), money.New(1_200_00, money.MXN), money.New(90_000_00, money.COP)
	for name, c := range map[string]struct {
		rail  string
		local money.Amount
		terms installment.Terms
		want  string
		free  int
	}{
		"none":                   {"card.BRA", brl, installment.Terms{}, "", 0},
		"free in part":           {"card.BRA", brl, installment.Terms{Max: 12, InterestFree: 6}, "1-6", 6},
		"none is free":           {"card.BRA", brl, installment.Terms{Max: 12}, "", 0},
		"at least 5 reais":       {"card.BRA", money.New(19_99, money.BRL), installment.Terms{Max: 12, InterestFree: 12}, "1-3", 3},
		"at least the terms'":    {"card.BRA", brl, installment.Terms{Max: 12, InterestFree: 12, Min: money.New(30_00, money.BRL)}, "1-4", 4},
		"Elo":                    {"card.elo.BRA", brl, installment.Terms{Max: 12, InterestFree: 12}, "1-6", 6},
		"Mexico":                 {"card.MEX", mxn, installment.Terms{Max: 8, InterestFree: 8}, "1-6", 6},
		"Mexico, 100 pesos each": {"card.MEX", money.New(899_00, money.MXN), installment.Terms{Max: 12, InterestFree: 12}, "1-6", 6},
		"with the issuer's":      {"card.COL", cop, installment.Terms{Max: 24, InterestFree: 3}, "1-24", 0},
		"Webpay":                 {"card.webpay.CHL", money.New(9_000, money.CLP), installment.Terms{Max: 12, InterestFree: 12}, "", 0},
		"not by card":            {"bank.pse.COL", cop, installment.Terms{Max: 12, InterestFree: 12}, "", 0},
	} {
		f := newFake()
		a, r := connect(t, f), on(c.rail, c.local, c.terms)
		offer := provider.Installments(a, r.Rail, r.Local, r.Installments)
		if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting || f.Charges[0].most != c.want || offer.Free() != c.free {
			t.Errorf("%s: the page has %q, want %q; the offer is %+v, the charge %s", name, f.Charges[0].most, c.want, offer, o.Kind)
		}
	}
	whole := connect(t, newFake()).Installments("card.MEX", money.Amount{}, installment.Terms{Max: 12, InterestFree: 9})
	if !slices.Equal(whole.InterestFree, []int{3, 6, 9}) || len(whole.Interest) != 0 {
		t.Errorf("for any amount: %+v", whole)
	}
}

func TestInstallmentsAreReported(t *testing.T) {
	for rail, c := range map[string]struct {
		local money.Amount
		want  installment.Plan
	}{
		"card.BRA": {money.New(100_00, money.BRL), installment.Plan{Count: 3, Each: money.New(33_34, money.BRL), Total: money.New(100_00, money.BRL), By: installment.Merchant}},
		"card.COL": {money.New(90_000_00, money.COP), installment.Plan{Count: 3}}, // the issuer's interest is not known
	} {
		f := newFake()
		a, r := connect(t, f), on(rail, c.local, installment.Terms{Max: 3, InterestFree: 3})
		r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
		n, _ := f.In(r.Reference, 3)
		list, err := a.Notices(context.Background(), n)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		for what, o := range map[string]pay.Outcome{"query": a.Query(context.Background(), r), "notification": list[0].Outcome} {
			if o.Kind != pay.Approved || o.Local != r.Local || o.Installments.For(r.Local) != c.want {
				t.Errorf("%s, by %s: %+v of %v, want %+v", rail, what, o.Installments.For(r.Local), o.Local, c.want)
			}
		}
	}
	for _, count := range []provider.Text{"", "1", "0", "-2", "99", "three"} {
		if plan := (payment{Count: count}).plan(money.New(1, money.BRL)); plan != (installment.Plan{}) {
			t.Errorf("%q installments: %+v", count, plan)
		}
	}
}
