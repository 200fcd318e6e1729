package rates_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

func rateOf(t *testing.T, text string) money.Rate {
	t.Helper()
	r, err := money.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var rateLimits = rates.Limits{StaleAfter: 24 * time.Hour, MaxAge: 7 * 24 * time.Hour, MaxJumpBps: 2000}

func TestNewerReadingReplacesTheRateUnlessItJumps(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var q rates.KnownRate
	for i, c := range []struct {
		rate, source string
		age          time.Duration
		force        bool
		want         rates.Verdict
		rateAfter    string // in use
		heldAfter    string
		version      int64
	}{
		{"54", "feed", 0, false, rates.Held, "", "54", 1}, // against the built-in 5.4
		{"54", "feed", 0, false, rates.Held, "", "54", 1}, // again: nothing new
		{"5.5", "feed", 2 * time.Hour, false, rates.Applied, "5.5", "", 2},
		{"5.5", "feed", 2 * time.Hour, false, rates.Known, "5.5", "", 2},
		{"5.6", "feed", 3 * time.Hour, false, rates.Known, "5.5", "", 2},     // older
		{"5.51", "feed", 2 * time.Hour, false, rates.Applied, "5.51", "", 3}, // a correction
		{"5.51", "feed", time.Hour, false, rates.Applied, "5.51", "", 4},     // the same time, a new rate
		{"6.612", "feed", 0, false, rates.Applied, "6.612", "", 5},           // exactly a fifth more
		{"5", "feed", 0, false, rates.Held, "6.612", "5", 6},
		{"5.1", "feed", 0, false, rates.Held, "6.612", "5.1", 7},
		{"6.7", "feed", -time.Microsecond, true, "", "6.612", "5.1", 7}, // a time in the future
		{"5.1", "operator", 0, true, rates.Applied, "5.1", "", 8},
		{"5.2", "operator", time.Hour, true, rates.Applied, "5.2", "", 9}, // the operator may go back
	} {
		r := rates.Reading{Currency: money.BRL, Rate: rateOf(t, c.rate), Source: c.source, At: now.Add(-c.age)}
		next, verdict, err := q.Accept(r, rateOf(t, "5.4"), rateLimits, c.force, now)
		if verdict != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%d: %s is %q (%v), want %q", i, c.rate, verdict, err, c.want)
		}
		text := func(r money.Rate) string {
			if r.IsZero() {
				return ""
			}
			return r.Decimal()
		}
		if text(next.Rate) != c.rateAfter || text(next.Held.Rate) != c.heldAfter || next.Version != c.version {
			t.Errorf("%d: after %s the quote is %+v, want %q in use, %q held, version %d", i, c.rate, next, c.rateAfter, c.heldAfter, c.version)
		}
		q = next
	}
	if _, _, err := q.Accept(rates.Reading{Currency: money.USD, Rate: rateOf(t, "2"), At: now}, money.Rate{}, rateLimits, true, now); err == nil {
		t.Error("a rate of 2 for the US dollar was accepted")
	} else if shown := new(problem.Error); !errors.As(err, &shown) || shown.Code != problem.InvalidRequest {
		t.Errorf("USD: %v", err)
	}
	if _, verdict, err := (rates.KnownRate{}).Accept(rates.Reading{Currency: "EUR", Rate: rateOf(t, "0.9"), At: now}, money.Rate{}, rateLimits, false, now); verdict != rates.Applied || err != nil {
		t.Errorf("a currency without a built-in rate has nothing to jump from: %q, %v", verdict, err)
	}
}

func TestRateAges(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration][2]bool{
		24 * time.Hour:        {false, false},
		24*time.Hour + 1:      {true, false},
		7 * 24 * time.Hour:    {true, false},
		7*24*time.Hour + 1:    {true, true},
		100 * 365 * time.Hour: {true, true},
		-time.Hour:            {false, false},
	} {
		q := rates.KnownRate{Reading: rates.Reading{Currency: money.BRL, Rate: rateOf(t, "5.4"), At: now.Add(-age)}}
		if got := [2]bool{q.Stale(rateLimits, now), q.Expired(rateLimits, now)}; got != want {
			t.Errorf("at %s: stale, expired are %v, want %v", age, got, want)
		}
	}
	if (rates.KnownRate{}).Stale(rateLimits, now) || (rates.KnownRate{}).Expired(rateLimits, now) {
		t.Error("a currency without a rate has no age")
	}
}

// A rate at which amounts cannot be held is refused whoever sets it (SVC-19).
func TestAbsurdRateIsRefusedEvenByForce(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		currency money.Currency
		rate     string
		want     bool
	}{
		{money.MXN, "1e17", false}, {money.MXN, "1e8", true}, {money.MXN, "100000001", false},
		{money.MXN, "1e-18", false}, {money.MXN, "0.01", true}, {money.MXN, "0.0009", false},
		{"LBP", "89500", true}, {"KWD", "0.306", true}, {"CLF", "0.024", true}, {"JPY", "0.9", false}, {"VND", "26000", true},
	} {
		r := rates.Reading{Currency: c.currency, Rate: rateOf(t, c.rate), Source: "operator", At: now}
		_, verdict, err := rates.KnownRate{}.Accept(r, money.Rate{}, rateLimits, true, now)
		if refused := new(problem.Error); (err == nil) != c.want || err != nil && (!errors.As(err, &refused) || refused.Code != problem.InvalidRequest || refused.Param != "rate") {
			t.Errorf("%s of %s: %q, %v, want accepted: %v", c.rate, c.currency, verdict, err, c.want)
		}
	}
}
