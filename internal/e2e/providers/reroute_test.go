package providers

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/routing"
)

// priced gives accounts a price each.
func priced(t *testing.T, s *harness.Instance, prices map[string]string) {
	t.Helper()
	for id, text := range prices {
		fee, err := money.ParseFee(text)
		harness.Must(t, err)
		_, err = s.App.Accounts.Edit(ctx, s.App.Self(), id, func(a acquirer.Account) (acquirer.Account, error) {
			a.Terms = []acquirer.RailTerms{{Fee: &fee}}
			return a, nil
		})
		harness.Must(t, err)
	}
}

// replays runs what was paid since through rules, nil for those in force.
func replays(t *testing.T, s *harness.Instance, since time.Time, rules *routing.Rules, more ...func(*acquiring.PastRoutes)) acquiring.Rerouted {
	t.Helper()
	o := acquiring.PastRoutes{Since: since, Until: s.Clock.Now().Add(time.Second), Live: true, Rules: rules, Examples: 50}
	for _, change := range more {
		change(&o)
	}
	done, err := s.App.Rules.Replay(ctx, o)
	harness.Must(t, err)
	return done
}

// Eight payments of 10 USD by pix, counted by hand: bank-1 is first and asks 3 %,
// bank-2 asks 1 %.
func TestReplayOfRealPayments(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.Clock.Freeze()
		since := s.Clock.Now()
		live := s.NewShop(t).Production()
		banks := banks(t, s, 2)
		priced(t, s, map[string]string{"bank-1": "3%", "bank-2": "1%"})
		banks[1].Next("paid")
		order := live.PixOrder(t)
		ids := map[string]string{}
		for i, answer := range []string{"paid", "paid", "paid", "paid", "soft", "soft", "declined", "open"} {
			s.Clock.Advance(time.Minute)
			banks[0].Next(answer)
			_, e := triedAt(t, live, order)
			ids[e.Payment.ID] = fmt.Sprint(i, e.Payment.Attempts[0].Provider)
		}
		live.Post(t, "/payments", harness.Card) // refused: nobody serves it, which is no payment by pix
		s.NewShop(t).Post(t, "/payments", order).Want(t, http.StatusCreated)

		same := replays(t, s, since, nil)
		if same.Elsewhere+same.Unexplained+same.Estimated.Payments != 0 || same.Real() != 7 || same.Replayed() != 7 || same.Cost.Was() != same.Cost.Total() {
			t.Errorf("by the rules in force it differs: %+v", same.Report)
		}
		cheap := replays(t, s, since, &routing.Rules{Order: routing.LeastCost}, func(o *acquiring.PastRoutes) { o.Rail = "pix.BRA" })
		if cheap.Payments != 8 || cheap.Elsewhere != 8 || cheap.Simulated != 0 || cheap.Known.Payments != 2 || cheap.Known.Replayed != 2 || cheap.Estimated.Payments != 6 {
			t.Errorf("by cost: %+v", cheap.Report)
		}
		// Five paid by bank-1 and bank-2: 4 of 30 cents, 2 of 10. The two that bank-2
		// took second it would have taken first, for the same.
		if cheap.Cost.Real != 140 || cheap.Volume.Real != 60_00 || cheap.Cost.Known().String() != "0.20 USD" || cheap.Tries.Real != 10 || cheap.Failovers.Real != 2 {
			t.Errorf("the cost was %s of %s, known to be %s", cheap.Cost.Was(), cheap.Volume.Was(), cheap.Cost.Known())
		}
		// The rail took 7 of 10 tries, bank-2 2 of 2: 72 of 100, and 7 of 100 end there.
		if got := fmt.Sprintf("%.3f", cheap.Estimated.Replayed); got != "5.375" {
			t.Errorf("of the others bank-2 takes %s, want 5.375", got)
		}
		for _, e := range cheap.Examples {
			if !strings.HasSuffix(ids[e.ID], "bank-1") || !strings.HasPrefix(e.Replayed[0], "bank-2") {
				t.Errorf("an example that was not: %+v", e)
			}
		}
		if again := replays(t, s, since, &routing.Rules{Order: routing.LeastCost}, func(o *acquiring.PastRoutes) { o.Rail = "pix.BRA" }); !reflect.DeepEqual(again, cheap) {
			t.Error("the second time it is another report")
		}
		// What if bank-1 were gone, or cheaper?
		gone := replays(t, s, since, nil, func(o *acquiring.PastRoutes) {
			o.Accounts = map[string]func(acquirer.Account) (acquirer.Account, error){"bank-1": func(a acquirer.Account) (acquirer.Account, error) {
				a.Status = acquirer.AccountDisabled
				return a, nil
			}}
		})
		if gone.Elsewhere != 8 || gone.Tries.Replayed != 8 || len(gone.Changed) != 1 {
			t.Errorf("without bank-1: %+v", gone.Report)
		}
		for want, o := range map[string]acquiring.PastRoutes{
			"there is no rail x":         {Rail: "x"},
			"pix.BRA lists gone":         {Rules: &routing.Rules{Rails: map[string]routing.Rule{"pix.BRA": {Accounts: []string{"gone"}}}}},
			"there is no account nobody": {Accounts: map[string]func(acquirer.Account) (acquirer.Account, error){"nobody": nil}},
		} {
			o.Since, o.Until = since, s.Clock.Now()
			if _, err := s.App.Rules.Replay(ctx, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		sandbox := replays(t, s, since, nil, func(o *acquiring.PastRoutes) { o.Live = false })
		if sandbox.Payments != 0 || sandbox.Simulated != 1 {
			t.Errorf("of the sandbox %d were replayed, %d left out", sandbox.Payments, sandbox.Simulated)
		}
	})
}

// By the rules in force every payment begins where it did, whatever the order follows
// from: success rates and what is explored, and circuits that open and close.
func TestReplayRepeatsWhatWasDecided(t *testing.T) {
	for _, order := range []routing.Order{routing.Priority, routing.SuccessRate} {
		t.Run(string(order), func(t *testing.T) {
			routed(t, string(order), func(t *testing.T, s *harness.Instance) {
				s.Clock.Freeze()
				since := s.Clock.Now()
				live := s.NewShop(t).Production()
				banks := banks(t, s, 3)
				body := live.PixOrder(t)
				begun := map[string]int{}
				for i := range 60 {
					s.Clock.Advance(7 * time.Second)
					for j, u := range banks {
						u.Next([]string{"open", "down", "soft", "paid", "down", "declined"}[(i/(5+3*j)+j)%6])
					}
					r := live.Post(t, "/payments", body)
					e, err := s.App.Providers.Explain(ctx, paymentOf(t, r))
					harness.Must(t, err)
					begun[e.Payment.Attempts[0].Provider]++
				}
				if len(begun) < 2 {
					t.Errorf("payments began at %v: that proves nothing", begun)
				}
				r := replays(t, s, since, nil)
				if r.Payments != 60 || r.Unexplained != 0 || r.Elsewhere != 0 || r.Replayed() != float64(r.Real()) || r.Tries.Replayed != float64(r.Tries.Real) {
					t.Errorf("began at %v; %d of %d not where they did: %+v", begun, r.Unexplained, r.Payments, r.Sums)
				}
				half := replays(t, s, since.Add(200*time.Second), nil) // circuits and scores are known from before
				if half.Payments >= 60 || half.Payments < 20 || half.Unexplained != 0 {
					t.Errorf("of the later %d payments %d began elsewhere", half.Payments, half.Unexplained)
				}
			})
		})
	}
}

// paymentOf is of the payment that a create call made, however it ended.
func paymentOf(t *testing.T, r harness.Reply) string {
	t.Helper()
	if r.Status == http.StatusCreated {
		return r.Text(t, "transactionId")
	}
	return r.Text(t, "error.details.transactionId")
}
