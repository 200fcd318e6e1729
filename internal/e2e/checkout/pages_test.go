package checkout

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/view"
)

// paged is a service with two accounts whose shoppers enter their cards on a page of the provider: acme-1, which is first, and acme-2.
type paged struct {
	*harness.Instance
	live  harness.Client
	lines [2]*harness.Line
	card  string // the id of the method
}

// eachPaged runs a test on each engine against such a service.
func eachPaged(t *testing.T, test func(t *testing.T, s *paged)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		clock := &harness.Clock{}
		clock.Freeze()
		test(t, openPaged(t, startPaged(t, database, clock)))
	})
}

func startPaged(t *testing.T, database string, clock *harness.Clock) *harness.Instance {
	t.Helper()
	return harness.StartWith(t, database, clock, func(c *daemon.Config) {
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
		c.Adapters = []provider.Adapter{providertest.Paged()}
	})
}

func openPaged(t *testing.T, of *harness.Instance) *paged {
	t.Helper()
	of.Rate(t, "BRL 5.4")
	made, err := of.App.Onboarding.CreateMerchant(ctx, of.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: merchants.Trusted})
	harness.Must(t, err)
	s := &paged{Instance: of, live: harness.Client{Onboarded: made, Instance: of, Credential: made.Sandbox.Secret}.Production()}
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &harness.Line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := providertest.StartServer(t, l)
		t.Cleanup(server.Close)
		of.OpenAccount(t, id, l.Upstream, func(a *accounts.NewAccount) { a.Adapter, a.BaseURL, a.Priority = "paged", server.URL, i+1 })
		s.lines[i] = l
	}
	s.card = harness.Method(t, s.live, "BRA", "card")
	return s
}

// opens makes a payment that waits on the first provider's page.
func (s *paged) opens(t *testing.T) (id string) {
	t.Helper()
	return s.live.Post(t, "/payments", `{"amount":108,"currency":"BRL","paymentMethodId":"`+s.card+`","documentId":"52998224725","hostedCheckout":true}`).
		Want(t, http.StatusCreated).Text(t, "transactionId")
}

// ref is our reference of an attempt.
func ref(id string, order int) string { return fmt.Sprint(strings.TrimPrefix(id, "TXN-"), "-", order) }

// hears lets the service hear from the provider of an attempt what it is now.
func (s *paged) hears(t *testing.T, id string, order int) {
	t.Helper()
	account := fmt.Sprint("acme-", order)
	_, signature, body := s.lines[order-1].NotifyAsIs(ref(id, order), account+"-hush")
	harness.KnockAt(t, s.Instance, "/api/v1/providers/"+account+"/notifications", signature, body).Want(t, http.StatusOK)
}

// refused makes a payment whose card is refused on the first page.
func (s *paged) refused(t *testing.T, reason decline.Reason) (id string) {
	t.Helper()
	id = s.opens(t)
	s.refuses(t, id, 1, reason)
	return id
}

func (s *paged) refuses(t *testing.T, id string, order int, reason decline.Reason) {
	t.Helper()
	s.lines[order-1].Refuse(t, ref(id, order), reason)
	s.hears(t, id, order)
}

// clicks presses "try again", and returns where that leads.
func (s *paged) clicks(t *testing.T, id string) (to string) {
	t.Helper()
	status, page, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/retry?lang=en", "")
	if status != http.StatusSeeOther {
		t.Fatalf("trying again returns %d: %.300s", status, page)
	}
	return h.Get("Location")
}

// page is the address of an attempt's page.
func (s *paged) page(id string, order int) string {
	return s.lines[order-1].Upstream.URL + "/pages/" + ref(id, order)
}

// leads wants a click to lead somewhere.
func (s *paged) leads(t *testing.T, id, want string) {
	t.Helper()
	if to := s.clicks(t, id); to != want {
		t.Errorf("trying again leads to %s, want %s", to, want)
	}
}

func (s *paged) read(t *testing.T, id string) pay.Payment {
	t.Helper()
	p, err := s.App.Store.Payments().Any(ctx, id)
	harness.Must(t, err)
	return p
}

// is wants a payment's status and how many attempts it has.
func (s *paged) is(t *testing.T, id string, want pay.Status, attempts int) pay.Payment {
	t.Helper()
	p := s.read(t, id)
	if p.Status != want || len(p.Attempts) != attempts {
		t.Errorf("want it %s with %d attempts: %s", want, attempts, p)
	}
	return p
}

// agrees wants the providers' books to be ours: each payment here is of 108 BRL, and what no payment needed is in suspense.
func (s *paged) agrees(t *testing.T, completed, inquiries int) {
	t.Helper()
	charges := 0
	for _, l := range s.lines {
		for _, c := range l.Charges() {
			if strings.HasSuffix(c, " paid") {
				charges++
			}
		}
	}
	balances, err := s.App.Settlements.Balances(ctx, merchants.Scope{Merchant: s.live.Merchant.ID, Shop: s.live.Shop.ID, Live: true})
	harness.Must(t, err)
	const worth = 20_00 // of 108 BRL, in cents
	if charges != completed+inquiries || balances[ledger.Receivable] != int64(-worth*charges) || balances[ledger.Suspense] != int64(worth*inquiries) {
		t.Errorf("the providers have %d charges of shoppers and owe %d cents, and %d cents are in suspense; want %d that completed payments and %d in suspense",
			charges, -balances[ledger.Receivable], balances[ledger.Suspense], completed, inquiries)
	}
	s.Clean(t)
}

// Until the first provider proves that its page has ended, nothing changes (PAY-39).
func TestPageThatIsNotEndedIsKept(t *testing.T) {
	deletes := func(f harness.Fault) harness.Fault {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodDelete {
				f(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		}
	}
	for name, c := range map[string]struct {
		fault harness.Fault
		kept  bool // the provider says that its page is open
		ended bool // it is not
	}{
		"it ends none": {fault: deletes(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}), kept: true},
		"it is busy":          {fault: harness.Refuses},
		"a gateway answers":   {fault: harness.Gateway},
		"the answer is lost":  {fault: deletes(harness.CutsAfter), ended: true},
		"it refuses the call": {fault: deletes(harness.Refuses)},
		"it does not know it": {fault: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, `{}`, http.StatusNotFound) }},
		"it says another word": {fault: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = w.Write([]byte(`{"status":"ending"}`))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachPaged(t, func(t *testing.T, s *paged) {
				s.Log.Mute() // a word without a meaning is reported
				id := s.refused(t, decline.DoNotHonor)
				before := s.read(t, id)
				s.lines[0].Fails(c.fault)
				want := "/pay/" + id + "?lang=en&note=page_open"
				if c.kept {
					want = s.page(id, 1)
				}
				s.leads(t, id, want)
				after := s.is(t, id, pay.Pending, 1)
				if after.Version != before.Version || len(s.lines[1].Charges()) != 0 {
					t.Errorf("it was %s, and is %s; the second provider has %v", before, after, s.lines[1].Charges())
				}
				s.lines[0].Fails(nil)
				if !c.ended {
					s.lines[0].Refuse(t, ref(id, 1), decline.DoNotHonor) // it is open still
				}
				s.leads(t, id, s.page(id, 2))
				s.is(t, id, pay.Pending, 2)
				s.agrees(t, 0, 0)
			})
		})
	}
}

// Money from the first page is never lost, whenever it is heard of, and no shopper pays twice without a task for the operator.
func TestFirstPagesMoneyMeetsTheRetry(t *testing.T) {
	lies := func(w http.ResponseWriter, r *http.Request, next http.Handler) { // its page stays open
		if r.Method == http.MethodDelete {
			_ = json.NewEncoder(w).Encode(map[string]string{"status": "canceled", "reference": r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]})
			return
		}
		next.ServeHTTP(w, r)
	}
	for name, c := range map[string]struct {
		play      func(t *testing.T, s *paged, id string)
		captured  int
		inquiries int
	}{
		"heard of before the click": {func(t *testing.T, s *paged, id string) {
			s.lines[0].PayPage(t, ref(id, 1))
			s.hears(t, id, 1)
			s.leads(t, id, "/pay/"+id+"?lang=en")
		}, 1, 0},
		"found when the page is ended": {func(t *testing.T, s *paged, id string) {
			s.lines[0].PayPage(t, ref(id, 1))
			s.leads(t, id, "/pay/"+id+"?lang=en")
		}, 1, 0},
		"heard of while the second provider is called": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			asked, release := s.lines[1].Hold()
			var click sync.WaitGroup
			click.Go(func() { s.clicks(t, id) })
			harness.Soon(t, "the second provider to be called", asked)
			s.lines[0].PayPage(t, ref(id, 1))
			s.hears(t, id, 1)
			release()
			click.Wait()
		}, 1, 0},
		"heard of when the second page is open": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
			s.hears(t, id, 1)
		}, 1, 0},
		"both pages were paid, the first is heard of first": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
			s.lines[1].PayPage(t, ref(id, 2))
			s.hears(t, id, 1)
		}, 1, 1},
		"both pages were paid, the second is heard of first": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
			s.lines[1].PayPage(t, ref(id, 2))
			s.hears(t, id, 2)
			s.hears(t, id, 1)
			s.hears(t, id, 1) // the same again
		}, 2, 1},
		"heard of when the second page has ended": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.Clock.Advance(31 * time.Minute)
			s.Sweep(t, "the second page ends", func() bool { return s.live.Status(t, id) == "failed" })
			s.lines[0].PayPage(t, ref(id, 1))
			s.hears(t, id, 1)
		}, 0, 1},
		"never heard of, the second page is left": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
		}, 0, 1},
		"never heard of, the second card is refused": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
			s.refuses(t, id, 2, decline.StolenCard)
		}, 0, 1},
		"both pages were paid, the first is never heard of": {func(t *testing.T, s *paged, id string) {
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[1].PayPage(t, ref(id, 2))
			s.hears(t, id, 2)
			s.Clock.Advance(2 * time.Hour)
			_, err := s.App.Cascade.Sweep(ctx) // nobody has paid the first yet
			harness.Must(t, err)
			s.lines[0].PayPage(t, ref(id, 1))
		}, 2, 1},
		"both pages were paid, the first is never heard of, and silent for ten days": {func(t *testing.T, s *paged, id string) {
			s.Log.Mute()
			s.lines[0].Fails(lies)
			s.leads(t, id, s.page(id, 2))
			s.lines[0].PayPage(t, ref(id, 1))
			s.lines[1].PayPage(t, ref(id, 2))
			s.hears(t, id, 2)
			s.lines[0].Fails(harness.Refuses)
			for range 10 {
				s.Clock.Advance(24 * time.Hour)
				_, err := s.App.Cascade.Sweep(ctx)
				harness.Must(t, err)
			}
			s.lines[0].Fails(lies)
		}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachPaged(t, func(t *testing.T, s *paged) {
				id := s.refused(t, decline.DoNotHonor)
				c.play(t, s, id)
				s.Sweep(t, "nobody looks at the payment any more", func() bool {
					s.Clock.Advance(24 * time.Hour)
					return s.read(t, id).Work.DueAt.IsZero()
				})
				p := s.read(t, id)
				if p.End.Captured != c.captured || (p.Status == pay.Completed) != (c.captured > 0) {
					t.Errorf("want attempt %d to have completed it: %s", c.captured, p)
				}
				for i, l := range s.lines {
					for reference, charge := range l.Charges() {
						if strings.HasSuffix(charge, " open") && !(i == 0 && c.captured == 2) {
							t.Errorf("%s can still be paid: %s", reference, charge)
						}
					}
				}
				claims, _, err := s.App.Claims.List(ctx, p.Scope, harness.ClaimsOf(id))
				harness.Must(t, err)
				if a, open := p.Strays.Attention(); len(claims) != c.inquiries || open != (c.inquiries > 0) || open && a.Code != map[bool]pay.AttentionCode{true: pay.PaidTwice, false: pay.LatePayment}[c.captured > 0] {
					t.Errorf("want %d inquiries: %d, and %+v", c.inquiries, len(claims), a)
				}
				s.agrees(t, min(c.captured, 1), c.inquiries)
			})
		})
	}
}

// Money of another amount that came on the first page, which has ended otherwise, is late money too.
func TestOtherMoneyOfTheFirstPageIsLate(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		id := s.refused(t, decline.DoNotHonor)
		s.leads(t, id, s.page(id, 2))
		s.lines[1].PayPage(t, ref(id, 2))
		s.hears(t, id, 2)
		p := s.is(t, id, pay.Completed, 2)
		o := pay.Outcome{Kind: pay.Lapsed, Also: []pay.Money{{Ref: "half", ProviderRef: "half", Local: money.New(54_00, "BRL")}}}
		_, _, err := s.App.Cascade.ApplyAnswer(ctx, p, p.Attempts[0], o, time.Time{}, pay.Cascade{}, view.Cause{})
		harness.Must(t, err)
		claims, _, err := s.App.Claims.List(ctx, p.Scope, harness.ClaimsOf(id))
		harness.Must(t, err)
		if len(claims) != 1 || claims[0].Kind != pay.Inquiry || claims[0].Local != money.New(54_00, "BRL") {
			t.Errorf("the claims are %v, want an inquiry of 54 BRL", claims)
		}
		s.Clean(t)
	})
}

// Two clicks at once, also on two nodes, make one retry.
func TestTwoClicksAtOnceAreOneRetry(t *testing.T) {
	both := func(t *testing.T, s *paged, other *harness.Instance) {
		id := s.refused(t, decline.ProcessingError)
		var clicks sync.WaitGroup
		for _, node := range []*harness.Instance{s.Instance, other, s.Instance, other} {
			clicks.Go(func() {
				if status, page, _ := node.Browse(t, http.MethodPost, "/pay/"+id+"/retry?lang=en", ""); status != http.StatusSeeOther {
					t.Errorf("a click returns %d: %.300s", status, page)
				}
			})
		}
		clicks.Wait()
		s.is(t, id, pay.Pending, 2)
		if n := s.lines[1].ChargesAsked.Load(); n != 1 {
			t.Errorf("the second provider was called %d times", n)
		}
		s.leads(t, id, "/pay/"+id+"?lang=en") // nobody was refused on the second page
		s.lines[1].PayPage(t, ref(id, 2))
		s.hears(t, id, 2)
		s.is(t, id, pay.Completed, 2)
		s.agrees(t, 1, 0)
	}
	t.Run("one node", func(t *testing.T) {
		eachPaged(t, func(t *testing.T, s *paged) { both(t, s, s.Instance) })
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		database, clock := dbtest.Postgres(t), &harness.Clock{}
		clock.Freeze()
		other := startPaged(t, database, clock)
		s := openPaged(t, startPaged(t, database, clock))
		id := s.opens(t)
		harness.Eventually(t, "the other node knows the accounts", func() bool {
			_, known := other.App.Providers.Upstream("acme-2")
			return known && other.App.Providers.Routes(s.read(t, id)).Routes != nil
		})
		both(t, s, other)
	})
}

// The operator's rules bound a retry, and each page has the time that its shopper has.
func TestOperatorsRulesBoundTheRetry(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		rule := func(of routing.Retry) {
			t.Helper()
			_, _, err := s.App.Rules.Apply(ctx, s.App.Self(), routing.Rules{Retry: of})
			harness.Must(t, err)
		}
		never, once := 0, 1
		rule(routing.Retry{Times: &never})
		id := s.refused(t, decline.DoNotHonor)
		s.leads(t, id, s.page(id, 1))
		rule(routing.Retry{Reasons: []decline.Reason{decline.InsufficientFunds}})
		s.leads(t, id, s.page(id, 1))
		s.refuses(t, id, 1, decline.InsufficientFunds) // the operator wants this one to go elsewhere
		rule(routing.Retry{Within: 10 * time.Minute})
		s.Clock.Advance(9 * time.Minute)
		s.refuses(t, id, 1, decline.DoNotHonor)
		s.Clock.Advance(time.Minute)
		s.leads(t, id, s.page(id, 1))
		s.Clock.Advance(19 * time.Minute)
		rule(routing.Retry{Times: &once})
		s.leads(t, id, s.page(id, 2))
		p := s.is(t, id, pay.Pending, 2)
		if want := p.Times.Expires.Format(time.RFC3339); s.lines[1].Until(ref(id, 2)) != want {
			t.Errorf("the second page ends at %s, and the shopper has until %s", s.lines[1].Until(ref(id, 2)), want)
		}
		s.refuses(t, id, 2, decline.DoNotHonor)
		s.leads(t, id, s.page(id, 2)) // once
		s.Clock.Advance(20 * time.Minute)
		s.Sweep(t, "the sweep has run", func() bool { return true })
		s.is(t, id, pay.Pending, 2)
		s.lines[1].PayPage(t, ref(id, 2))
		s.hears(t, id, 2)
		s.is(t, id, pay.Completed, 2)
		s.agrees(t, 1, 0)
	})
}

// While a merchant is paused nothing begins, and what is under way goes on: the shopper keeps the page, and may pay there.
func TestPausedMerchantsShopperKeepsThePage(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		id := s.refused(t, decline.DoNotHonor)
		_, err := s.App.Onboarding.Pause(ctx, s.App.Self(), s.live.Merchant.ID, "we wait for papers")
		harness.Must(t, err)
		s.leads(t, id, s.page(id, 1))
		s.is(t, id, pay.Pending, 1)
		s.lines[0].PayPage(t, ref(id, 1))
		s.hears(t, id, 1)
		s.is(t, id, pay.Completed, 1)
		s.agrees(t, 1, 0)
	})
}
