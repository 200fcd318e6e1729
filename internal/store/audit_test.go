package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/store"
)

// Whatever the filter, the newest entries are those that a check of each entry would select.
func TestAuditLogNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(3, 4))
		acts := []audit.Act{audit.KeyCreated, audit.UserSignedIn, audit.LinkCreated, audit.ShopRebranded, audit.MerchantVisited, audit.RefundOpened, audit.LoginCreated}
		both := func(a audit.Act) bool {
			object, _, _ := strings.Cut(string(a), ".")
			return slices.Contains([]string{"user", "link", "shop", "merchant"}, object)
		}
		var all []audit.Entry
		for i := range 300 {
			at := noon.Add(time.Duration(random.Int64N(int64(96 * time.Hour)))).Truncate(time.Millisecond)
			e := audit.Entry{
				ID: id.New(audit.Prefix, at), Scope: merchants.Scope{Merchant: []string{"mer_1", "mer_1", "mer_2"}[random.IntN(3)], Live: random.IntN(2) == 0},
				By:  audit.Actor{Kind: audit.ActorKinds()[random.IntN(5)], ID: fmt.Sprintf("usr_%d", random.IntN(3)), IP: "192.0.2.1"},
				Act: acts[random.IntN(len(acts))], Object: fmt.Sprint(i), At: at, Salt: "salt", Note: []string{"", "a note"}[random.IntN(2)],
			}
			must(t, s.Commit(ctx, pay.Change{Audit: []audit.Entry{e}}))
			all = append(all, e)
		}
		slices.SortFunc(all, func(a, b audit.Entry) int { return strings.Compare(b.ID, a.ID) })
		for range 300 {
			live := random.IntN(2) == 0
			f := audit.MerchantFilter{Limit: 1 + random.IntN(40), Kind: append(audit.ActorKinds(), "", "", "")[random.IntN(8)], Actor: []string{"", "", "usr_1", "usr_9"}[random.IntN(4)]}
			if random.IntN(3) == 0 {
				f.From = noon.Add(time.Duration(random.IntN(96)) * time.Hour)
			}
			if random.IntN(3) == 0 {
				f.To = noon.Add(time.Duration(random.IntN(96)) * time.Hour)
			}
			if random.IntN(3) == 0 {
				f.After = all[random.IntN(len(all))].ID
			}
			var want []string
			for _, e := range all {
				if e.Merchant == "mer_1" && (e.Live == live || e.Live && both(e.Act)) && (f.Kind == "" || e.By.Kind == f.Kind) && (f.Actor == "" || e.By.ID == f.Actor) &&
					(f.From.IsZero() || !e.At.Before(f.From)) && (f.To.IsZero() || e.At.Before(f.To)) && (f.After == "" || e.ID < f.After) && len(want) < f.Limit {
					want = append(want, e.ID)
				}
			}
			list, err := s.Audit().Newest(ctx, "mer_1", live, f)
			must(t, err)
			var got []string
			for _, e := range list {
				got = append(got, e.ID)
				if e.By.IP != "192.0.2.1" || e.Details["note"] != "" {
					t.Fatalf("the entry is %+v: want its address, and no note", e)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("live %t %+v: got %v, want %v", live, f, got, want)
			}
		}
	})
}

// A member has been there since the membership began, and was seen where one of the sign-ins was.
func TestMembersWithTheirTimes(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
		signIn := func(n int, user string, seen time.Time, waiting bool) people.SignIn {
			return people.SignIn{ID: fmt.Sprint("sgn_", n), Version: 1, User: user, Hash: fmt.Sprint("hash", n), Waiting: waiting, CreatedAt: noon, SeenAt: seen, EndsAt: at(99)}
		}
		must(t, s.Commit(ctx, pay.Change{
			Users: []people.User{
				{ID: "usr_a", Version: 1, Email: "a@acme.example", Name: "Ana", CreatedAt: noon}, {ID: "usr_b", Version: 1, Email: "b@acme.example", Name: "Bea", CreatedAt: noon},
			},
			Memberships: []people.Membership{
				people.Membership{User: "usr_a", Merchant: "mer_1"}.Give(people.Owner, at(1)), people.Membership{User: "usr_b", Merchant: "mer_1"}.Give(people.Viewer, at(2)),
			},
			SignIns: []people.SignIn{signIn(1, "usr_a", at(8), false), signIn(2, "usr_a", at(5), false), signIn(3, "usr_b", at(9), true)},
		}))
		list, err := s.Users().Members(ctx, "mer_1")
		must(t, err)
		if len(list) != 2 || list[0].Name != "Ana" || !list[0].Since.Equal(at(1)) || !list[0].SeenAt.Equal(at(8)) || list[1].Role != people.Viewer || !list[1].SeenAt.IsZero() {
			t.Errorf("the members are %+v", list)
		}
	})
}
