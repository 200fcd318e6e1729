package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

// completed writes a captured payment of 25.50 USD.
func completed(t *testing.T, s *store.Store, id string) pay.Payment {
	t.Helper()
	p, change := stored(t, s, id).ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
	must(t, s.Commit(ctx, payload(change)))
	return p
}

// refund opens a refund of that many centavos.
func refund(t *testing.T, s *store.Store, p pay.Payment, id string, centavos int64) (pay.Payment, pay.Claim, pay.Change) {
	t.Helper()
	have, err := s.Books().Balances(ctx, acme)
	must(t, err)
	p, claim, change, err := p.Refund(pay.NewRefund{ID: id, Amount: money.New(centavos, money.BRL), Reason: "ünï \"x\""}, have, noon)
	must(t, err)
	return p, claim, payload(change)
}

func TestClaimComesBackAsItWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := completed(t, s, "A")
		p, claim, change := refund(t, s, p, "CLM-1", 5000)
		must(t, s.Commit(ctx, change))
		claim, change = claim.ApplyRefundOutcome(p, pay.Outcome{Kind: pay.Unknown, ProviderRef: "their-1"}, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		got, err := s.Claims().Get(ctx, acme, claim.ID)
		must(t, err)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", claim) {
			t.Errorf("read\n%+v\nwrote\n%+v", got, claim)
		}
		read, err := s.Payments().Get(ctx, acme, p.ID)
		must(t, err)
		if read.Refunds.USD != p.Refunds.USD || read.End.Captured != 1 || read.Terms.Dispute.Fee != plans.OfTier(merchants.Standard).ChargebackFee {
			t.Errorf("read %+v, captured by %d, fee %d", read.Refunds.USD, read.End.Captured, read.Terms.Dispute.Fee)
		}
		for _, scope := range []merchants.Scope{{Merchant: acme.Merchant, Shop: "shp_other"}, {Merchant: acme.Merchant, Shop: acme.Shop, Live: true}} {
			if _, err := s.Claims().Get(ctx, scope, claim.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v reads it: %v", scope, err)
			}
		}
		if err := s.Commit(ctx, payload(change)); !errors.Is(err, store.ErrStale) {
			t.Errorf("the same version twice: %v, want ErrStale", err)
		}
	})
}

func TestEvidenceFileComesBackToItsShop(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := completed(t, s, "A")
		n := pay.Notice{ID: "1", Account: "one", Reference: p.Reference(1), Dispute: true, Outcome: pay.Outcome{Played: true}}
		_, change := p.ApplyNotice(n, routes, "CLM-1", noon)
		must(t, s.Commit(ctx, payload(change)))
		content := bytes.Repeat([]byte{0, 0xff, '"', '\n'}, pay.MaxEvidenceFile/4)
		_, change, err := change.Claims[0].Submit(change.Payments[0], pay.Evidence{ID: "ev_1", Kind: "receipt", File: &pay.EvidenceFile{Name: "ü", Type: "image/png"}}, content, noon)
		must(t, err)
		must(t, s.Commit(ctx, change))
		f, err := s.Claims().File(ctx, acme, "CLM-1", "ev_1")
		must(t, err)
		if !bytes.Equal(f.Content, content) || f.Name != "ü" || f.Type != "image/png" || f.Scope != acme || !f.At.Equal(noon) {
			t.Errorf("read %d bytes of %q %q of %+v at %v", len(f.Content), f.Name, f.Type, f.Scope, f.At)
		}
		other := acme
		other.Shop = "shp_other"
		for _, err := range []error{second(s.Claims().File(ctx, other, "CLM-1", "ev_1")), second(s.Claims().File(ctx, acme, "CLM-2", "ev_1")), second(s.Claims().File(ctx, acme, "CLM-1", "ev_2"))} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("another shop's file: %v, want ErrNotFound", err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestDueClaimsAreLeasedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := completed(t, s, "A")
		var change pay.Change
		for n := range 4 {
			p, _, change = refund(t, s, p, fmt.Sprint("CLM-", n), 100)
			must(t, s.Commit(ctx, change))
			p.Stored = p.Status
		}
		due, err := s.OldestDue(ctx)
		must(t, err)
		if !due["claims"].Equal(noon.Add(45 * time.Second)) {
			t.Errorf("the oldest is due at %v", due["claims"])
		}
		if early, err := s.Claims().Lease(ctx, noon.Add(44*time.Second), noon.Add(time.Hour), 10); len(early) != 0 || err != nil {
			t.Errorf("%d claims were leased during their calls (%v)", len(early), err)
		}
		seen := map[string]bool{}
		for range 3 {
			list, err := s.Claims().Lease(ctx, noon.Add(time.Minute), noon.Add(time.Hour), 3)
			must(t, err)
			for _, c := range list {
				if seen[c.ID] {
					t.Errorf("%s was leased twice", c.ID)
				}
				seen[c.ID] = true
			}
		}
		if len(seen) != 4 {
			t.Errorf("%d of 4 claims were leased", len(seen))
		}
	})
}

// heard applies a dispute's news and commits it.
func heard(t *testing.T, s *store.Store, payment, id string, n pay.Notice) {
	t.Helper()
	must(t, s.Commit(ctx, contest(t, s, payment, id, n)))
}

// contest decides about a dispute's news.
func contest(t *testing.T, s *store.Store, payment, id string, n pay.Notice) pay.Change {
	t.Helper()
	p, err := s.Payments().Any(ctx, payment)
	must(t, err)
	claims, err := s.Claims().Of(ctx, []string{payment})
	must(t, err)
	n.ID, n.Account, n.Reference, n.Dispute = id, "one", p.Reference(1), n.Ruling == ""
	_, change := n.ApplyDispute(p, claims, [2]string{"CLM-" + id, "CLM-" + id + "-late"}, noon)
	return payload(change)
}

// Disputes and the money that they hold are read as they were written.
func TestDisputesComeBackAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := completed(t, s, "A")
		part := pay.Outcome{Local: money.New(1000, p.Price.Local.Currency)}
		heard(t, s, p.ID, "1", pay.Notice{DisputeID: "dp_1", Stage: "needs_response", Outcome: part})
		heard(t, s, p.ID, "2", pay.Notice{DisputeID: "dp_2", Outcome: part})
		heard(t, s, p.ID, "3", pay.Notice{DisputeID: "dp_1", Ruling: pay.DisputeLost})
		heard(t, s, p.ID, "4", pay.Notice{DisputeID: "dp_1", Instance: 2, Stage: "PREARBITRATION"})
		read, err := s.Payments().Any(ctx, p.ID)
		must(t, err)
		if got := fmt.Sprint(read.Disputes.Open(), len(read.Disputes.Entries)); got != "[CLM-2 CLM-4] 3" {
			t.Errorf("open are %s of %+v", got, read.Disputes.Entries)
		}
		claims, err := s.Claims().Of(ctx, []string{p.ID})
		must(t, err)
		first, second := claims[0], claims[2]
		if first.Case.ID != "dp_1" || first.Case.Stage != "needs_response" || first.Case.Account != "one" || first.Case.Minor != 1000 || first.Status != pay.ClaimApproved {
			t.Errorf("the first is %+v", first)
		}
		if second.Previous != first.ID || second.Case.Instance != 2 || second.Case.Key() != "one/dp_1/2" || second.Frozen == 0 || second.Fee != 0 {
			t.Errorf("the second is %+v", second)
		}
		story, err := s.Story(ctx, p.ID)
		must(t, err)
		if want := "; dispute dp_1, at one, stage PREARBITRATION, instance 2, after CLM-1"; !strings.Contains(story, want) {
			t.Errorf("the story does not contain %q:\n%s", want, story)
		}
		pending, err := s.Claims().Lease(ctx, noon.Add(6*time.Hour), noon.Add(7*time.Hour), 9)
		if must(t, err); len(pending) != 2 {
			t.Errorf("%d open disputes are queried, want 2", len(pending))
		}
		sound(t, s)
	})
}

// Two nodes that hear of the same dispute at once open one claim.
func TestDisputeIsOpenedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := completed(t, s, "A")
		one := contest(t, s, p.ID, "1", pay.Notice{DisputeID: "dp_1"})
		two := contest(t, s, p.ID, "2", pay.Notice{DisputeID: "dp_1"})
		must(t, s.Commit(ctx, one))
		if err := s.Commit(ctx, two); !errors.Is(err, store.ErrStale) {
			t.Errorf("the other node: %v, want ErrStale", err)
		}
		two.Payments, two.Notices, two.Transfers, two.Events = nil, nil, nil, nil
		if err := s.Commit(ctx, two); err == nil {
			t.Error("a second claim of one dispute was written, past the payment's version")
		}
		if n := contest(t, s, p.ID, "3", pay.Notice{DisputeID: "dp_1"}); len(n.Claims) != 0 || n.Notices[0].Verdict != pay.Ignored {
			t.Errorf("a second decision opens %v", n.Claims)
		}
	})
}

func sound(t *testing.T, s *store.Store) {
	t.Helper()
	broken := found(t, s)
	for _, b := range broken {
		if !strings.Contains(b.Invariant, "shop's merchant") && !strings.Contains(b.Invariant, "delivery") { // rows that no test here writes
			t.Errorf("broken: %s", b)
		}
	}
}

// Each invariant of claims finds the error that it is for.
func TestCheckFindsBrokenClaims(t *testing.T) {
	step := []pay.ClaimStep{{Status: pay.ClaimPending}}
	of := func(p pay.Payment, kind pay.ClaimKind, status pay.ClaimStatus) pay.Claim {
		return pay.Claim{ID: "CLM-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix), Scope: acme, Version: 1, Kind: kind, Status: status, Payment: p.ID, Local: money.New(100, money.BRL), USD: 19, Timeline: step}
	}
	paid := func(p pay.Payment, cents int64) ledger.Transfer {
		return ledger.Transfer{ID: "tr_" + strings.TrimPrefix(p.ID, pay.PaymentPrefix) + "-paid", Merchant: acme.Merchant, Kind: ledger.RefundPaid, Payment: p.ID, Claim: "CLM-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix), Local: money.New(100, money.BRL), At: noon,
			Postings: []ledger.Posting{{Account: ledger.Pending, Amount: -cents}, {Account: ledger.Refunds, Amount: cents}}}
	}
	rules := map[string]func(p pay.Payment) pay.Change{
		"frozen is what open claims hold": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimUnderReview)
			c.Frozen = 19
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"suspense is what open inquiries are about": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.Inquiry, pay.ClaimPending)}}
		},
		"a resolved claim holds nothing and waits for nothing": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimRejected)
			c.DueAt = noon
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"an open claim that something has to happen to is looked at again": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimPending)}}
		},
		"evidence is under way, or the operator's to submit, only while its dispute is open": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimRejected)
			c.Defense = pay.Defense{State: pay.DefenseDelayed, Pieces: 1}
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"a claim has told that it was opened, and once that it was resolved": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimRejected)}}
		},
		"a claim has all its events": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimRejected)
			c.Sequence = 2
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"an event stays with its claim's shop and environment": func(p pay.Payment) pay.Change {
			e := pay.Event{ID: "evt_" + strings.TrimPrefix(p.ID, pay.PaymentPrefix) + "-9", Type: webhooks.ClaimOpened, Scope: acme, Object: "CLM-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix), Sequence: 1, At: noon, Payload: []byte("{}")}
			e.Live = true
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimRejected)}, Events: []pay.Event{e}}
		},
		"refunds that stand add up to what the payment says": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimApproved)}}
		},
		"an approved claim has paid the shopper what it says, another one nothing": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimRejected)}, Transfers: []ledger.Transfer{paid(p, 19)}}
		},
		"a shopper gets back at most what came in": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimApproved)}, Transfers: []ledger.Transfer{paid(p, 2551)}}
		},
		"a refund leaves the fees where its payment's term says": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimApproved)}, Transfers: []ledger.Transfer{paid(p, 2550)}}
		},
		"a transfer's claim is one of its payment": func(p pay.Payment) pay.Change {
			return pay.Change{Transfers: []ledger.Transfer{paid(p, 2550)}}
		},
		"a transfer is named after what it is of": func(p pay.Payment) pay.Change {
			other := paid(p, 1)
			other.ID = "tr_of-nothing-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix)
			return pay.Change{Claims: []pay.Claim{of(p, pay.UserDispute, pay.ClaimApproved)}, Transfers: []ledger.Transfer{other}}
		},
		"an event is named after what it tells of": func(p pay.Payment) pay.Change {
			e := pay.Event{ID: "evt_of-nothing-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix), Type: webhooks.ClaimOpened, Scope: acme, Object: "CLM-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix), Sequence: 1, At: noon, Payload: []byte("{}")}
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimRejected)}, Events: []pay.Event{e}}
		},
		"an inquiry's money came in once": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.Inquiry, pay.ClaimRejected)}}
		},
		"the disputes that are open on a payment are its open claims": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimUnderReview)}}
		},
		"a lost dispute has taken what it says, or all that there was": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimApproved)}}
		},
		"a claim holds what its transfers froze": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimUnderReview)
			c.Frozen = 19
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"what disputes gave back again had been taken by the claim before": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimRejected)
			back := paid(p, 19)
			back.Kind = ledger.ChargebackReversal
			back.Postings = []ledger.Posting{{Account: ledger.Chargebacks, Amount: -19}, {Account: ledger.Frozen, Amount: 19}}
			return pay.Change{Claims: []pay.Claim{c}, Transfers: []ledger.Transfer{back}}
		},
		"a claim follows one of the same kind that has ended, and is the only one that does": func(p pay.Payment) pay.Change {
			c := of(p, pay.ChargebackClaim, pay.ClaimRejected)
			c.Previous = "CLM-nobody"
			return pay.Change{Claims: []pay.Claim{c}}
		},
		"a file belongs to evidence of its shop's claim": func(p pay.Payment) pay.Change {
			return pay.Change{Claims: []pay.Claim{of(p, pay.ChargebackClaim, pay.ClaimRejected)}, Files: []pay.File{{ID: "ev_1", Scope: acme, Claim: "CLM-" + strings.TrimPrefix(p.ID, pay.PaymentPrefix)}}}
		},
	}
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		found := func(rule string) []check.Broken {
			broken := found(t, s)
			return slices.DeleteFunc(broken, func(b check.Broken) bool { return b.Invariant != rule })
		}
		for n, rule := range slices.Sorted(maps.Keys(rules)) {
			before := found(rule)
			must(t, s.Commit(ctx, rules[rule](completed(t, s, fmt.Sprint("A", n)))))
			if after := found(rule); slices.Equal(after, before) {
				t.Errorf("%q does not find it", rule)
			}
		}
	})
}
