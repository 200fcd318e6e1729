package providers

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// priced sets the prices of accounts, by account id.
func priced(t *testing.T, s *harness.Instance, prices map[string]string) {
	t.Helper()
	for id, text := range prices {
		fee, err := money.ParseFee(text)
		harness.Must(t, err)
		_, err = s.App.Accounts.Edit(ctx, s.App.Self(), id, func(a accounts.Account) (accounts.Account, error) {
			a.Terms = []accounts.RailTerms{{Fee: &fee}}
			return a, nil
		})
		harness.Must(t, err)
	}
}

// replays replays the payments since then by the given rules; nil stands for the rules in force.
func replays(t *testing.T, s *harness.Instance, since time.Time, rules *routing.Rules, more ...func(*approuting.PastRoutes)) approuting.Rerouted {
	t.Helper()
	o := approuting.PastRoutes{Since: since, Until: s.Clock.Now().Add(time.Second), Live: true, Rules: rules, Examples: 50}
	for _, change := range more {
		change(&o)
	}
	done, err := s.App.Rules.Replay(ctx, o)
	harness.Must(t, err)
	return done
}

// The expected numbers are computed by hand: eight payments of 10 USD by pix, bank-1 comes first
// and costs 3 %, bank-2 costs 1 %.
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
		live.Post(t, "/payments", harness.Card) // refused: no account serves cards, so it is no payment by pix
		s.NewShop(t).Post(t, "/payments", order).Want(t, http.StatusCreated)

		same := replays(t, s, since, nil)
		if same.Elsewhere+same.Unexplained+same.Estimated.Payments != 0 || same.Real() != 7 || same.Replayed() != 7 || same.Cost.Was() != same.Cost.Total() {
			t.Errorf("the replay by the rules in force differs from what happened: %+v", same.Report)
		}
		cheap := replays(t, s, since, &routing.Rules{Order: routing.LeastCost}, func(o *approuting.PastRoutes) { o.Rail = "pix.BRA" })
		if cheap.Payments != 8 || cheap.Elsewhere != 8 || cheap.Simulated != 0 || cheap.Known.Payments != 2 || cheap.Known.Replayed != 2 || cheap.Estimated.Payments != 6 {
			t.Errorf("the replay by cost is %+v", cheap.Report)
		}
		// Six are paid: four by bank-1 for 30 cents each, two by bank-2 for 10 cents each. The two
		// that reached bank-2 second would reach it first, for the same price.
		if cheap.Cost.Real != 140 || cheap.Volume.Real != 60_00 || cheap.Cost.Known().String() != "0.20 USD" || cheap.Tries.Real != 10 || cheap.Failovers.Real != 2 {
			t.Errorf("the cost was %s of %s, want 1.40 of 60 USD; the known part of the replay costs %s, want 0.20 USD", cheap.Cost.Was(), cheap.Volume.Was(), cheap.Cost.Known())
		}
		// The estimate rests on the accepted tries: 7 of 10 on the rail, 2 of 2 at bank-2.
		if got := fmt.Sprintf("%.3f", cheap.Estimated.Replayed); got != "5.375" {
			t.Errorf("the replay estimates that bank-2 accepts %s of the other payments, want 5.375", got)
		}
		for _, e := range cheap.Examples {
			if !strings.HasSuffix(ids[e.ID], "bank-1") || !strings.HasPrefix(e.Replayed[0], "bank-2") {
				t.Errorf("an example did not move from bank-1 to bank-2: %+v", e)
			}
		}
		if again := replays(t, s, since, &routing.Rules{Order: routing.LeastCost}, func(o *approuting.PastRoutes) { o.Rail = "pix.BRA" }); !reflect.DeepEqual(again, cheap) {
			t.Error("a second replay gives another report")
		}
		// What if bank-1 were gone, or cheaper?
		gone := replays(t, s, since, nil, func(o *approuting.PastRoutes) {
			o.Accounts = map[string]func(accounts.Account) (accounts.Account, error){"bank-1": func(a accounts.Account) (accounts.Account, error) {
				a.Status = accounts.Disabled
				return a, nil
			}}
		})
		if gone.Elsewhere != 8 || gone.Tries.Replayed != 8 || len(gone.Changed) != 1 {
			t.Errorf("the replay without bank-1 is %+v", gone.Report)
		}
		for want, o := range map[string]approuting.PastRoutes{
			"there is no rail x":         {Rail: "x"},
			"pix.BRA lists gone":         {Rules: &routing.Rules{Rails: map[string]routing.Rule{"pix.BRA": {Accounts: []string{"gone"}}}}},
			"there is no account nobody": {Accounts: map[string]func(accounts.Account) (accounts.Account, error){"nobody": nil}},
		} {
			o.Since, o.Until = since, s.Clock.Now()
			if _, err := s.App.Rules.Replay(ctx, o); err == nil || !strings.Contains(message.Sentence(err), want) {
				t.Errorf("the error is %v, want one that contains %q", err, want)
			}
		}
		sandbox := replays(t, s, since, nil, func(o *approuting.PastRoutes) { o.Live = false })
		if sandbox.Payments != 0 || sandbox.Simulated != 1 {
			t.Errorf("in the sandbox %d payments were replayed and %d left out, want 0 and 1", sandbox.Payments, sandbox.Simulated)
		}
	})
}

// A replay by the rules in force begins every payment at the same account as before. This holds
// while success rates change, some payments explore, and circuits open and close.
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
					e, err := s.App.Rules.Explain(ctx, paymentOf(t, r))
					harness.Must(t, err)
					begun[e.Payment.Attempts[0].Provider]++
				}
				if len(begun) < 2 {
					t.Errorf("payments began at %v, want two accounts at least: otherwise this test proves nothing", begun)
				}
				r := replays(t, s, since, nil)
				if r.Payments != 60 || r.Unexplained != 0 || r.Elsewhere != 0 || r.Replayed() != float64(r.Real()) || r.Tries.Replayed != float64(r.Tries.Real) {
					t.Errorf("payments began at %v; in the replay %d of %d began elsewhere: %+v", begun, r.Unexplained, r.Payments, r.Sums)
				}
				half := replays(t, s, since.Add(200*time.Second), nil) // starts from the circuits and scores of that time
				if half.Payments >= 60 || half.Payments < 20 || half.Unexplained != 0 {
					t.Errorf("in the replay of %d later payments %d began elsewhere, want 20 to 59 payments and none elsewhere", half.Payments, half.Unexplained)
				}
			})
		})
	}
}

// paymentOf returns the id of the payment that a create call made, whether it succeeded or failed.
func paymentOf(t *testing.T, r harness.Reply) string {
	t.Helper()
	if r.Status == http.StatusCreated {
		return r.Text(t, "transactionId")
	}
	return r.Text(t, "error.details.transactionId")
}
