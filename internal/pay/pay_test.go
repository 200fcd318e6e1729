package pay

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func cardRail() accounts.Rail {
	return accounts.Rail{ID: "sbx_card", Key: "sbx_card", Method: "card", Country: "USA", Channel: accounts.CreditCard, Sync: true,
		Limits: []accounts.Limit{{Currency: money.USD, Min: 1, Max: 100_000_00}}, Fee: money.Fee{Bps: 290, Flat: 30}, Window: 30 * time.Minute}
}

func pixRail() accounts.Rail {
	return accounts.Rail{ID: "sbx_pix", Key: "sbx_pix", Method: "pix", Country: "BRA", Channel: accounts.Online, Document: "CPF",
		Limits: []accounts.Limit{{Currency: money.BRL, Min: 100, Max: 1_000_000_00}}, Fee: money.Fee{Bps: 99}, Window: 24 * time.Hour}
}

func order(t interface{ Fatal(...any) }, rail accounts.Rail, cents int64) Order {
	rate, err := money.ParseRate("5.4")
	if err != nil {
		t.Fatal(err)
	}
	usd := money.New(cents, money.USD)
	o := Order{ID: "TXN-1", Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}, Amount: usd, Rail: rail, Country: rail.Country,
		Buyer: Buyer{Document: "52998224725"}, Terms: plans.OfTier(merchants.Standard), Rate: rate}
	if o.Local, err = rate.Price(usd, rail.Limits[0].Currency); err != nil {
		t.Fatal(err)
	}
	return o
}

var routes = Cascade{Routes: []Route{{Provider: "one"}, {Provider: "two"}, {Provider: "three"}}}

// sent returns a payment whose first attempt is in progress.
func sent(t interface{ Fatal(...any) }, rail accounts.Rail, cents int64) Payment {
	p, err := Create(order(t, rail, cents), noon)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = p.Begin(routes, noon)
	return p
}

func TestApprovedPaymentIsCapturedOnce(t *testing.T) {
	p := sent(t, cardRail(), 2550)
	p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
	if p.Status != Completed || len(change.Transfers) != 1 || len(change.Events) != 1 {
		t.Fatalf("approved payment: %s with %d transfers and %d events", p, len(change.Transfers), len(change.Events))
	}
	if err := change.Transfers[0].Check(); err != nil {
		t.Error(err)
	}
	if got := change.Transfers[0].Amount(ledger.Pending); got != p.net() {
		t.Errorf("the merchant got %d, want %d", got, p.net())
	}
	again, change := p.ApplyNotice(Notice{ID: "1", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved}}, routes, "CLM-1", noon)
	if len(change.Transfers) != 0 || change.Notices[0].Verdict != Ignored || again.Version != p.Version {
		t.Errorf("a second confirmation: verdict %s, %d transfers; want it ignored", change.Notices[0].Verdict, len(change.Transfers))
	}
}

func TestCascadeMovesOnOnlyWhenNobodyWasCharged(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		status  Status
		next    string // provider of the next attempt
	}{
		{"soft decline", Outcome{Kind: Declined, Soft: true}, Processing, "two"},
		{"hard decline", Outcome{Kind: Declined}, Failed, ""},
		{"unavailable", Outcome{Kind: Unavailable}, Processing, "two"},
		{"error", Outcome{Kind: Errored}, Processing, "two"},
		{"proved missing", Outcome{Kind: Missing}, Processing, "two"},
		{"unknown", Outcome{Kind: Unknown}, Processing, ""},
		{"pending", Outcome{Kind: Awaiting}, Pending, ""},
	} {
		p := sent(t, cardRail(), 2550)
		p, change := p.ApplyAnswer(c.outcome, routes, noon)
		next := ""
		if a := p.Attempts[len(p.Attempts)-1]; len(p.Attempts) == 2 {
			next = a.Provider
		}
		if p.Status != c.status || next != c.next || len(change.Transfers) != 0 {
			t.Errorf("%s: %s, next %q, want %s, next %q", c.name, p, next, c.status, c.next)
		}
		if p.Status.Open() && p.Work.DueAt.IsZero() {
			t.Errorf("%s: an open payment is never due again", c.name)
		}
	}
}

// The merchant sees how long the provider took, without the shopper's time.
func TestTraceShowsHowLongTheCallTook(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon.Add(300*time.Millisecond))
	p, _ = p.ApplyAnswer(Outcome{Kind: Declined}, routes, noon.Add(time.Hour))
	if got := p.Attempts.Trace()[0].DurationMs; got != 300 {
		t.Errorf("the trace says %d ms, want 300", got)
	}
}

func TestExhaustedCascadeFails(t *testing.T) {
	p := sent(t, cardRail(), 2591)
	for i := range routes.Routes {
		if p.Status != Processing {
			t.Fatalf("after %d attempts: %s", i, p)
		}
		p, _ = p.ApplyAnswer(Outcome{Kind: Unavailable}, routes, noon)
	}
	if p.Status != Failed || p.End.Failure.Code != string(problem.CascadeExhausted) || len(p.Attempts.Trace()) != 3 {
		t.Errorf("got %s, want it failed as exhausted after three attempts", p)
	}
}

// The create call continues with the simulation after the provider's answer. If its node dies, another
// node continues it.
func TestPaymentIsInHandUntilItsCreateCallAnswers(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting, Played: true}, byNode(routes, "node_a"), noon)
	if p.Status != Pending || p.Work.Answered != "" || p.Work.Owner != "node_a" || p.Work.DueAt != noon.Add(callLease) {
		t.Fatalf("before the simulation: %s, answered %q, in hand of %q until %s", p, p.Work.Answered, p.Work.Owner, p.Work.DueAt)
	}
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, byNode(routes, "node_b"), noon.Add(callLease))
	if p.Work.Answered != "" || p.Work.Owner != "node_b" {
		t.Errorf("after another node's query it is answered %q, in hand of %q", p.Work.Answered, p.Work.Owner)
	}
	p, _ = p.Reply(noon)
	if p.Work.Owner != "" {
		t.Errorf("answered, it is in hand of %q", p.Work.Owner)
	}
}

// byNode returns the cascade with a node as the caller.
func byNode(c Cascade, node string) Cascade {
	c.By = Caller{node, noon}
	return c
}

// "Missing" is proof only if no call can still arrive.
func TestNothingIsProvedWhileACallIsOnItsWay(t *testing.T) {
	p, _ := sent(t, pixRail(), 1000).Resend(Caller{"node_a", noon}, noon) // called twice
	twice, _ := p.Attempts.Current()
	once := twice
	once.Calls = 1
	early, late := noon.Add(callTime-1), noon.Add(callTime)
	for _, c := range []struct {
		kind        OutcomeKind
		once, twice OutcomeKind // the result before the end of the flight
	}{
		{Approved, Approved, Approved}, {Awaiting, Awaiting, Awaiting}, {Declined, Declined, Unknown},
		{Unavailable, Unavailable, Unknown}, {Errored, Errored, Unknown}, {Missing, Unknown, Unknown}, {Unknown, Unknown, Unknown},
	} {
		for _, got := range []struct{ is, want OutcomeKind }{
			{once.ProvedByQuery(Outcome{Kind: c.kind}, early).Kind, c.once}, {twice.ProvedByQuery(Outcome{Kind: c.kind}, early).Kind, c.twice},
			{twice.ProvedByQuery(Outcome{Kind: c.kind}, late).Kind, c.kind},
			{once.ProvedByCall(Outcome{Kind: c.kind}).Kind, c.kind},
		} {
			if got.is != got.want {
				t.Errorf("%s becomes %s, want %s", c.kind, got.is, got.want)
			}
		}
	}
	for _, kind := range []OutcomeKind{Declined, Unavailable, Errored} {
		if got := twice.ProvedByCall(Outcome{Kind: kind}).Kind; got != Unknown {
			t.Errorf("one of two calls gets %s, which becomes %s", kind, got)
		}
	}
	if !once.MayStart(noon.Add(callStart)) || once.MayStart(noon.Add(callStart+1000)) {
		t.Errorf("a call may start within %s", callStart)
	}
}

func TestSoftDeclineOfTheLastProviderExhausts(t *testing.T) {
	for _, c := range []struct {
		name string
		last Outcome
		code problem.Code
	}{
		{"soft", Outcome{Kind: Declined, Soft: true, Code: problem.CardDeclined}, problem.CascadeExhausted},
		{"hard", Outcome{Kind: Declined, Code: problem.InsufficientFunds}, problem.InsufficientFunds},
		{"hard without a reason", Outcome{Kind: Declined}, problem.CardDeclined},
	} {
		p := sent(t, cardRail(), 1000)
		for range 2 {
			p, _ = p.ApplyAnswer(Outcome{Kind: Declined, Soft: true, Code: problem.CardDeclined}, routes, noon)
		}
		p, _ = p.ApplyAnswer(c.last, routes, noon)
		if p.Status != Failed || p.End.Failure.Code != string(c.code) || p.Work.Answered != Failed {
			t.Errorf("%s: %s, want it failed with %s", c.name, p, c.code)
		}
	}
}

func TestMoneyAfterTheEndIsKeptAside(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon)
	p, _ = p.Expire(Outcome{Kind: Lapsed}, noon.Add(25*time.Hour))
	n := Notice{ID: "9", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, Local: p.Price.Local}}
	p, change := p.ApplyNotice(n, routes, "CLM-9", noon.Add(26*time.Hour))
	if p.Status != Expired || change.Notices[0].Verdict != Late || len(change.Claims) != 1 || change.Claims[0].Kind != Inquiry {
		t.Fatalf("late money: %s, %+v", p, change.Notices)
	}
	if got := change.Transfers[0].Amount(ledger.Suspense); got != p.Price.Amount.Minor {
		t.Errorf("suspense got %d, want %d", got, p.Price.Amount.Minor)
	}
	n.ID = "10"
	if _, change := p.ApplyNotice(n, routes, "CLM-10", noon.Add(27*time.Hour)); len(change.Transfers) != 0 {
		t.Error("the same late money was booked twice")
	}
}

func TestConfirmationOfAnotherAmountIsNotApplied(t *testing.T) {
	p := sent(t, pixRail(), 1000)
	p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon)
	for _, paid := range []money.Amount{money.New(p.Price.Local.Minor-1, money.BRL), money.New(p.Price.Local.Minor, money.USD)} {
		next, change := p.ApplyNotice(Notice{ID: "1", Reference: p.Reference(1), Outcome: Outcome{Kind: Approved, Local: paid}}, routes, "CLM-1", noon)
		if next.Status != Pending || change.Notices[0].Verdict != Mismatched || len(change.Transfers) != 0 {
			t.Errorf("paid %s for %s: %s, %s", paid, p.Price.Local, next.Status, change.Notices[0].Verdict)
		}
	}
}

// A query counts no more than a notification: an amount that does not fit is for the operator,
// once, and no other provider is tried meanwhile.
func TestAnswerOfAnotherAmountIsNotApplied(t *testing.T) {
	for _, pending := range []bool{false, true} {
		p := sent(t, pixRail(), 1000)
		from := p.Status
		if pending {
			p, _ = p.ApplyAnswer(Outcome{Kind: Awaiting}, routes, noon)
			from = Pending
		}
		wrong := Outcome{Kind: Approved, Local: money.New(p.Price.Local.Minor-1, money.BRL)}
		for i, receipts := range []int{1, 0} {
			next, change := p.ApplyAnswer(wrong, routes, noon)
			if next.Status != from || len(change.Notices) != receipts || len(change.Events) != receipts || len(change.Transfers) != 0 || len(next.Attempts) != 1 {
				t.Fatalf("answer %d: %s, %+v", i+1, next, change)
			}
			if at := next.Work.DueAt.Sub(noon); at != sweepEvery {
				t.Errorf("answer %d: it is queried again after %s", i+1, at)
			}
			if receipts > 0 && (change.Notices[0].Verdict != Mismatched || !strings.Contains(string(change.Notices[0].Body), p.Price.Local.String())) {
				t.Errorf("answer %d: the receipt is %+v", i+1, change.Notices[0])
			}
			p = next
		}
		ended, change := p.ApplyAnswer(wrong, routes, noon.Add(p.Way.Window))
		if ended.Status.Open() || ended.End.Failure.Code != "amount_mismatch" || len(change.Events) != 1 || len(change.Transfers) != 0 {
			t.Errorf("after its window: %s, failure %+v", ended, ended.End.Failure)
		}
		fits, _ := p.ApplyAnswer(Outcome{Kind: Approved, Local: p.Price.Local}, routes, noon)
		if fits.Status != Completed {
			t.Errorf("once the amount fits: %s", fits)
		}
	}
}

func TestLimitsNameTheBound(t *testing.T) {
	rail := pixRail()
	rail.Limits[0].Min, rail.Limits[0].Max = 1000, 2000
	for cents, want := range map[int64]string{100: "min", 1000: "max"} {
		_, err := Create(order(t, rail, cents), noon)
		var e *problem.Error
		if !asError(err, &e) || e.Code != problem.AmountOutOfLimits || e.Details.BoundViolated != want {
			t.Errorf("%d cents: %v, want amount_out_of_limits, %s", cents, err, want)
		}
	}
}

func asError(err error, e **problem.Error) bool {
	got, ok := err.(*problem.Error)
	*e = got
	return ok
}

// Whatever is refunded, in whatever parts, some of which the provider refuses: every transfer sums
// to zero, the books end where they began, and never more is refunded than was captured.
func TestRefundNeverExceedsCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sent(t, pixRail(), rapid.Int64Range(19, 100_000_00).Draw(t, "cents"))
		p, change := p.ApplyAnswer(Outcome{Kind: Approved}, routes, noon)
		books := ledger.Balances{}
		post := func(c Change) {
			for _, tr := range c.Transfers {
				if err := tr.Check(); err != nil {
					t.Fatal(err)
				}
				for _, line := range tr.Postings {
					books[line.Account] += line.Amount
				}
			}
			for _, next := range c.Payments {
				p = next
			}
		}
		post(change)
		for n := 0; p.Refundable().IsPositive(); n++ {
			part := rapid.Int64Range(1, p.Refundable().Minor).Draw(t, "part")
			if n > 12 {
				part = p.Refundable().Minor
			}
			_, claim, change, err := p.Refund(NewRefund{ID: "CLM-" + strings.Repeat("x", n+1), Amount: money.New(part, p.Price.Local.Currency)}, books, noon)
			if err != nil {
				t.Fatalf("refund of %d with %v in the books: %v", part, books, err)
			}
			post(change)
			answer := Outcome{Kind: Approved}
			if n <= 12 && rapid.Bool().Draw(t, "refused") {
				answer.Kind = Declined
			}
			_, change = claim.ApplyRefundOutcome(p, answer, noon)
			post(change)
		}
		if _, _, _, err := p.Refund(NewRefund{ID: "CLM-0", Amount: money.New(1, p.Price.Local.Currency)}, books, noon); err == nil {
			t.Fatal("a refund above the capture went through")
		}
		for _, a := range ledger.Accounts() {
			want := int64(0)
			switch a {
			case ledger.Receivable:
				want = -p.Price.Amount.Minor
			case ledger.Refunds:
				want = p.Price.Amount.Minor
			}
			if books[a] != want {
				t.Fatalf("after a full refund of %s, %s holds %d, want %d", p.Price.Amount, a, books[a], want)
			}
		}
	})
}

// However a local amount is split, the payments of its parts bring the merchant no more than it is worth, what
// providers owe beyond that is in rounding, and none of them is free of the fees that were agreed (PAY-36).
func TestManySmallPaymentsAreWorthNoMoreThanOneLargeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		currency := rapid.SampledFrom([]money.Currency{money.MXN, money.BRL, money.CLP, money.COP, "PYG", "KWD", "JPY", money.USD}).Draw(t, "currency")
		rate, err := money.ParseRate(rapid.SampledFrom([]string{"1", "18.35", "5.4", "0.31", "147.2", "951.37", "4012.5", "7301"}).Draw(t, "rate"))
		if err != nil {
			t.Fatal(err)
		}
		rail := accounts.Rail{ID: "1001", Limits: []accounts.Limit{{Currency: currency, Min: 1, Max: 1_000_000_000}}, Fee: money.Fee{Bps: 50}}
		tier := rapid.SampledFrom(merchants.Tiers()).Draw(t, "tier")
		var whole, credited int64
		for _, part := range rapid.SliceOfN(rapid.Int64Range(1, 2_000), 1, 50).Draw(t, "parts") {
			local := money.New(part, currency)
			usd, err := Worth(local, rate)
			if err != nil {
				continue // worth nothing
			}
			whole += part
			p, err := Create(Order{ID: "TXN-1", Scope: merchants.Scope{Merchant: "mer_1"}, Amount: usd, Local: local, Asked: local, Rate: rate, Rail: rail, Terms: plans.OfTier(tier)}, noon)
			if err != nil {
				t.Fatal(err)
			}
			c := p.capture(noon)
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			owed, _ := rate.OwedInUSD(local)
			if c.Gross() != usd.Minor || -c.Amount(ledger.Receivable) != owed.Minor || c.Amount(ledger.Rounding) < 0 || c.Amount(ledger.Rounding) > 1 {
				t.Fatalf("%s is owed %s and credited %s:\n%s", local, owed, usd, c)
			}
			if c.Amount(ledger.PlatformFees) == 0 || usd.Minor > 1 && c.Amount(ledger.ProviderFees) == 0 {
				t.Fatalf("%s costs no fee:\n%s", usd, c)
			}
			credited += c.Amount(ledger.Pending) + c.Amount(ledger.Reserve)
		}
		if worth, err := rate.ToUSD(money.New(whole, currency)); err != nil || credited > worth.Minor {
			t.Fatalf("%s is worth %s, its parts brought %d cents", money.New(whole, currency), worth, credited)
		}
	})
}

// The merchant's part is never negative, for every tier, rail and amount.
func TestFeesNeverExceedTheAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usd := money.New(rapid.Int64Range(1, 100_000_00).Draw(t, "cents"), money.USD)
		terms := anyTerms(t)
		fee := money.Fee{Bps: rapid.Int64Range(0, 10_000).Draw(t, "bps"), Flat: rapid.Int64Range(0, 1000).Draw(t, "flat")}
		fees, reserve := terms.Charge(merchants.Charged{USD: usd, Cost: fee, Converted: rapid.Bool().Draw(t, "converted")})
		if net := usd.Minor - fees.Total() - reserve; net < 0 || reserve < 0 || min(fees.Platform, fees.Provider, fees.Flat, fees.Tax) < 0 {
			t.Fatalf("%s at %s with %+v: fees %+v, reserve %d, net %d", usd, terms.Plan, fee, fees, reserve, net)
		}
	})
}
