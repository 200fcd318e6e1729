package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// rows runs a test on each engine, for reads of rows that need not be a whole story: nothing is checked.
func rows(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		test(t, s)
	})
}

// claimed writes a claim of a kind and status on a payment that need not be there.
func claimed(t *testing.T, s *store.Store, n int, kind pay.ClaimKind, status pay.ClaimStatus, due time.Time) pay.Claim {
	t.Helper()
	c := pay.Claim{
		ID: fmt.Sprintf("CLM-%03d", n), Scope: acme, Version: 1, Kind: kind, Status: status, Payment: fmt.Sprint("TXN-", n%2), Local: money.New(100, money.BRL),
		DueBy: due, CreatedAt: noon, UpdatedAt: noon, Timeline: []pay.ClaimStep{{Status: status, At: noon.UnixMicro(), Actor: pay.PartyIssuer}},
		Case: pay.Case{Account: "one", ID: fmt.Sprint("dp_", n), Round: 1, Instance: 1},
	}
	must(t, s.Commit(ctx, pay.Change{Claims: []pay.Claim{c}}))
	return c
}

func idsOf(list []pay.Claim) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// Disputes that need evidence come by their deadline; the others newest first. Pages follow each other.
func TestDisputesAreListedByStage(t *testing.T) {
	rows(t, func(t *testing.T, s *store.Store) {
		day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
		claimed(t, s, 1, pay.ChargebackClaim, pay.ClaimNeedsEvidence, day(9))
		claimed(t, s, 2, pay.ChargebackClaim, pay.ClaimNeedsEvidence, day(2))
		claimed(t, s, 3, pay.Inquiry, pay.ClaimNeedsEvidence, day(2))
		claimed(t, s, 4, pay.Inquiry, pay.ClaimPending, time.Time{})
		claimed(t, s, 5, pay.ChargebackClaim, pay.ClaimUnderReview, day(1))
		claimed(t, s, 6, pay.ChargebackClaim, pay.ClaimApproved, day(1))
		claimed(t, s, 7, pay.ChargebackClaim, pay.ClaimExpired, day(1))
		claimed(t, s, 8, pay.UserDispute, pay.ClaimPending, time.Time{})
		claimed(t, s, 9, pay.UserDispute, pay.ClaimApproved, time.Time{})
		for stage, want := range map[pay.DisputeStage][]string{
			pay.StageEvidence: {"CLM-002", "CLM-003", "CLM-001"}, pay.StageReview: {"CLM-005", "CLM-004"}, pay.StageEnded: {"CLM-007", "CLM-006"},
		} {
			var got []string
			var after pay.Claim
			for {
				list, err := s.Claims().Disputes(ctx, acme, stage, after, 1)
				must(t, err)
				if len(list) == 0 {
					break
				}
				after = list[0]
				got = append(got, after.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", stage, got, want)
			}
		}
		counts, err := s.Claims().CountDisputes(ctx, acme)
		must(t, err)
		if got := fmt.Sprint(counts[pay.StageEvidence], counts[pay.StageReview], counts[pay.StageEnded]); got != "3 2 2" {
			t.Errorf("counted %s, want 3 2 2", got)
		}
		other := acme
		other.Shop = "shp_other"
		if list, err := s.Claims().Disputes(ctx, other, pay.StageEvidence, pay.Claim{}, 9); err != nil || len(list) > 0 {
			t.Errorf("another shop sees %v (%v)", idsOf(list), err)
		}
	})
}

func TestRefundsAreListed(t *testing.T) {
	rows(t, func(t *testing.T, s *store.Store) {
		claimed(t, s, 1, pay.UserDispute, pay.ClaimApproved, time.Time{})
		claimed(t, s, 2, pay.UserDispute, pay.ClaimPending, time.Time{})
		claimed(t, s, 3, pay.UserDispute, pay.ClaimApproved, time.Time{})
		claimed(t, s, 5, pay.ChargebackClaim, pay.ClaimApproved, time.Time{})
		for _, c := range []struct {
			f     lists.ClaimFilter
			want  string
			total int64
		}{
			{lists.ClaimFilter{}, "[CLM-003 CLM-002 CLM-001]", 3},
			{lists.ClaimFilter{Page: lists.Page{After: "CLM-003"}}, "[CLM-002 CLM-001]", 3},
			{lists.ClaimFilter{Status: pay.ClaimApproved}, "[CLM-003 CLM-001]", 2},
			{lists.ClaimFilter{Payment: "TXN-1"}, "[CLM-003 CLM-001]", 2},
			{lists.ClaimFilter{Payment: "TXN-0", Status: pay.ClaimApproved}, "[]", 0},
			{lists.ClaimFilter{Payment: "TXN-1", Page: lists.Page{After: "CLM-003"}}, "[CLM-001]", 2},
		} {
			c.f.Limit = 10
			list, total, err := s.Claims().Refunds(ctx, acme, c.f)
			must(t, err)
			if got := fmt.Sprint(idsOf(list)); got != c.want || total != c.total {
				t.Errorf("%+v: got %s of %d, want %s of %d", c.f, got, total, c.want, c.total)
			}
		}
	})
}

func TestAuditIsReadByObject(t *testing.T) {
	rows(t, func(t *testing.T, s *store.Store) {
		entry := func(id, object string, act audit.Act, scope merchants.Scope) audit.Entry {
			return audit.Entry{ID: id, Scope: scope, By: audit.Actor{Kind: audit.ByUser, ID: "usr_" + id}, Act: act, Object: object, At: noon}
		}
		other := acme
		other.Merchant = "mer_other"
		must(t, s.Commit(ctx, pay.Change{Audit: []audit.Entry{
			entry("aud_1", "CLM-1", audit.RefundOpened, acme), entry("aud_2", "CLM-1", audit.ClaimAccepted, acme),
			entry("aud_3", "CLM-2", audit.RefundOpened, acme), entry("aud_4", "CLM-1", audit.RefundOpened, other),
		}}))
		list, err := s.Audit().Of(ctx, acme.Merchant, audit.RefundOpened, []string{"CLM-1", "CLM-2", "CLM-3"})
		must(t, err)
		if len(list) != 2 || list[0].By.ID != "usr_aud_1" || list[1].Object != "CLM-2" {
			t.Errorf("read %+v", list)
		}
	})
}

// Movements are found by type and time, and pages follow each other without a gap.
func TestMovementsAreFound(t *testing.T) {
	rows(t, func(t *testing.T, s *store.Store) {
		for i := range 6 {
			at := noon.Add(time.Duration(i/2) * time.Hour) // two at each time
			kind, lines := ledger.ReserveRelease, []ledger.Posting{{Account: ledger.Reserve, Amount: -10}, {Account: ledger.Available, Amount: 10}}
			if i%2 == 0 {
				kind, lines = ledger.LateAccepted, []ledger.Posting{{Account: ledger.Suspense, Amount: -100}, {Account: ledger.Available, Amount: 100}}
			}
			must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{{ID: fmt.Sprint("tr_", i, "-x"), Merchant: acme.Merchant, Kind: kind, At: at, Postings: lines}}}))
		}
		whole, total, err := s.Books().Movements(ctx, acme, lists.Page{Limit: 100})
		must(t, err)
		find := func(f lists.MovementFilter) (ids []string) {
			for f.Limit = 1; ; {
				found, err := s.Books().Find(ctx, acme, f, false)
				must(t, err)
				for _, m := range found.Movements {
					ids = append(ids, m.ID)
				}
				if found.Next == (lists.MovementPlace{}) {
					return ids
				}
				f.After = found.Next
			}
		}
		var want, releases, later []string
		for _, m := range whole {
			want = append(want, m.ID)
			if m.Type == pay.MovedRelease {
				releases = append(releases, m.ID)
			}
			if !m.At.Before(noon.Add(time.Hour)) && m.At.Before(noon.Add(2*time.Hour)) {
				later = append(later, m.ID)
			}
		}
		if total != 9 || len(later) != 3 || len(releases) != 6 {
			t.Fatalf("%d movements, %d later, %d releases", total, len(later), len(releases))
		}
		for _, c := range []struct {
			f    lists.MovementFilter
			want []string
		}{
			{lists.MovementFilter{}, want}, {lists.MovementFilter{Type: pay.MovedRelease}, releases}, {lists.MovementFilter{Type: pay.MovedCharge}, nil},
			{lists.MovementFilter{Span: lists.Span{From: noon.Add(time.Hour), To: noon.Add(2 * time.Hour)}}, later},
		} {
			if got := find(c.f); !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %v, want %v", c.f, got, c.want)
			}
		}
		list, err := s.Books().Between(ctx, acme, "tr_3-", "tr_3.")
		if err != nil || len(list) != 1 || list[0].ID != "tr_3-x" {
			t.Errorf("between: %v (%v)", list, err)
		}
	})
}
