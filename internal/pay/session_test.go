package pay

import (
	"errors"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// asked is a session of 25.50 USD that is not open yet.
func asked(t *testing.T) Session {
	t.Helper()
	return Session{ID: "ses_A", Scope: merchants.Scope{Merchant: "mer_a", Shop: "shp_a"}, Asked: money.New(2550, money.USD), Rate: rateOf(t, "1"),
		Customer: Customer{FirstName: "Ana", LastName: "Souza", Email: "ana@b.example", Phone: "+55", Document: "529"}}
}

func rateOf(t *testing.T, text string) money.Rate {
	t.Helper()
	r, err := money.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func codeOf(err error) problem.Code {
	var e *problem.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestSessionIsWorthWhatAPaymentMayBe(t *testing.T) {
	for _, c := range []struct {
		asked money.Amount
		rate  string
		usd   int64
		code  problem.Code
	}{
		{money.New(2550, money.USD), "1", 2550, ""},
		{money.New(10000, money.BRL), "5.4", 1851, ""},
		{money.New(50000, money.CLP), "945", 5291, ""},
		{money.New(1, money.ARS), "1435", 0, problem.AmountInvalid},
		{money.New(0, money.USD), "1", 0, problem.AmountInvalid},
		{money.New(-5, money.USD), "1", 0, problem.AmountInvalid},
		{money.New(100_000_00, money.USD), "1", 100_000_00, ""},
		{money.New(100_000_01, money.USD), "1", 0, problem.AmountAboveMaximum},
		{money.New(1<<62, money.CLP), "0.0000001", 0, problem.AmountAboveMaximum}, // too large to convert
	} {
		s := asked(t)
		s.Asked, s.Rate = c.asked, rateOf(t, c.rate)
		opened, change, err := s.Open(noon)
		if codeOf(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s at %s: %v, want %q", c.asked, c.rate, err, c.code)
			continue
		}
		if err == nil && (opened.Amount != money.New(c.usd, money.USD) || opened.Version != 1 || len(change.Sessions) != 1) {
			t.Errorf("%s at %s opens %+v, want %d cents", c.asked, c.rate, opened, c.usd)
		}
	}
}

func TestSessionIsChosenOnceAndWithin24Hours(t *testing.T) {
	s, _, err := asked(t).Open(noon)
	if err != nil {
		t.Fatal(err)
	}
	last := noon.Add(24*time.Hour - time.Microsecond)
	if err := s.Choosable(last); err != nil {
		t.Errorf("at the last moment: %v", err)
	}
	locked, change := s.Lock(Payment{ID: "TXN-A", Order: PaymentOrder{Buyer: Buyer{IP: "203.0.113.7"}}}, Change{Payments: []Payment{{ID: "TXN-A"}}}, last)
	if locked.Version != 2 || locked.Payment != "TXN-A" || locked.IP != "203.0.113.7" || len(change.Sessions) != 1 || len(change.Payments) != 1 {
		t.Errorf("locked: %+v with %d sessions and %d payments", locked, len(change.Sessions), len(change.Payments))
	}
	var e *problem.Error
	if err := locked.Choosable(last); !errors.As(err, &e) || e.Code != problem.CheckoutSessionAlreadyCompleted || e.Details.ExistingTxID != "TXN-A" {
		t.Errorf("a second choice: %v, want the conflict with TXN-A", err)
	}
	if err := locked.Resolve(last); err != nil {
		t.Errorf("a completed session does not resolve within its day: %v", err)
	}
	for _, s := range []Session{s, locked} {
		if err := s.Choosable(noon.Add(24 * time.Hour)); codeOf(err) != problem.CheckoutSessionNotFound {
			t.Errorf("a choice after 24 hours: %v, want checkout_session_not_found", err)
		}
	}
}

func TestVisitIsNotedUntilTheChoice(t *testing.T) {
	s, _, err := asked(t).Open(noon)
	if err != nil {
		t.Fatal(err)
	}
	seen, change, news := s.Visit("203.0.113.7", noon)
	if !news || seen.IP != "203.0.113.7" || seen.Version != 2 || len(change.Sessions) != 1 {
		t.Errorf("a first visit: %+v, %v", seen, news)
	}
	for name, again := range map[string]Session{"the same address": seen, "a completed session": {Version: 3, Payment: "TXN-A", IP: "203.0.113.1"}} {
		if next, _, news := again.Visit("203.0.113.7", noon); news || next.Version != again.Version || next.IP != again.IP {
			t.Errorf("%s: %+v, %v, want nothing new", name, next, news)
		}
	}
	if _, _, news := seen.Visit("", noon); news {
		t.Error("a visit without an address is recorded")
	}
}

func TestWhatTheCustomerTypedReplacesWhatTheShopTold(t *testing.T) {
	s := asked(t)
	s.IP = "203.0.113.7"
	if got, want := s.Buyer(Buyer{}), (Buyer{Email: "ana@b.example", Name: "Ana Souza", Phone: "+55", IP: "203.0.113.7", Document: "529"}); got != want {
		t.Errorf("nothing typed: %+v, want %+v", got, want)
	}
	typed := Buyer{Email: "eva@b.example", Name: "Eva", IP: "203.0.113.8", Document: "1"}
	want := typed
	want.Phone = "+55"
	if got := s.Buyer(typed); got != want {
		t.Errorf("all typed: %+v, want %+v", got, want)
	}
}
