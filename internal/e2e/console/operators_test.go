package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// Operators who remove each other at the same time, two or in a circle of three, are not all removed: whoever was removed
// removes nobody any more. Else nobody could open the console again.
func TestOperatorsDoNotRemoveEachOtherAll(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for round := range 12 {
			list := make([]harness.Staff, 2+round%2)
			for i := range list {
				list[i] = harness.OperatorUser(t, o)
			}
			var clicks sync.WaitGroup
			answers := make([]harness.Answer, len(list))
			for i, op := range list {
				next := list[(i+1)%len(list)]
				clicks.Go(func() {
					answers[i] = op.Ask(t, http.MethodPost, consolePath+"operators/remove", url.Values{"user": {next.User.ID}})
				})
			}
			clicks.Wait()
			left, removed := 0, 0
			for i, op := range list {
				u, err := s.App.Store.Users().Get(ctx, op.User.ID)
				harness.Must(t, err)
				if u.Active() {
					left++
				}
				switch a := answers[i]; {
				case a.Status == http.StatusSeeOther && a.Header.Get("Location") == consolePath+"operators":
					removed++
				case a.Status != http.StatusSeeOther && a.Status != http.StatusUnauthorized:
					t.Errorf("a click of one who was removed gets %d: %s", a.Status, a.Text())
				}
			}
			if left == 0 || left+removed != len(list) {
				t.Errorf("of %d operators %d are left, and %d were told that they removed another", len(list), left, removed)
			}
		}
	})
}

// Who is a merchant's last owner is not removed, and keeps the roles at other merchants too: half of a removal is none.
func TestLastOwnerIsNotRemovedInPart(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		first, second := s.NewShop(t), s.NewShop(t)
		op, u := harness.OperatorUser(t, first), harness.OperatorUser(t, first)
		first.Staff(t, people.Owner)
		for _, o := range []harness.Client{first, second} {
			told, err := s.App.Links.Invite(ctx, s.App.Self(), "", users.Invitee{Email: u.User.Email, Merchant: o.Merchant.ID, Role: people.Owner})
			harness.Must(t, err)
			_, err = s.App.Links.Accept(ctx, users.From{Address: "127.0.0.1"}, told.Address[strings.LastIndex(told.Address, "/")+1:], u.User.ID, users.NewUser{})
			harness.Must(t, err)
		}
		a := op.Ask(t, http.MethodPost, consolePath+"operators/remove", url.Values{"user": {u.User.ID}})
		if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "needs an owner") {
			t.Errorf("the last owner's removal gets %d: %s", a.Status, a.Text())
		}
		list, err := s.App.People.Tenancies(ctx, u.User.ID)
		if err != nil || len(list) != 2 {
			t.Errorf("the user has %d roles left (%v), want both", len(list), err)
		}
		second.Staff(t, people.Owner)
		op.Do(t, consolePath+"operators/remove", "user", u.User.ID)
		if now, err := s.App.Store.Users().Get(ctx, u.User.ID); err != nil || now.Active() {
			t.Errorf("the user is not removed (%v)", err)
		}
	})
}

// Who accepts an invitation at the moment of the own removal has a role and is a user, or neither.
func TestRemovedUserKeepsNoRole(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 10 {
			u := harness.OperatorUser(t, o)
			told, err := s.App.Links.Invite(ctx, s.App.Self(), "", users.Invitee{Email: u.User.Email, Merchant: o.Merchant.ID, Role: people.Viewer})
			harness.Must(t, err)
			var both sync.WaitGroup
			both.Go(func() {
				_, _ = s.App.Links.Accept(ctx, users.From{Address: "127.0.0.1"}, told.Address[strings.LastIndex(told.Address, "/")+1:], u.User.ID, users.NewUser{}) // refused if the removal was faster
			})
			both.Go(func() { harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), u.User.Email)) })
			both.Wait()
			if _, _, err := s.App.Links.Link(ctx, told.Address[strings.LastIndex(told.Address, "/")+1:]); err == nil {
				t.Fatal("a user who was removed may come back by an invitation from before")
			}
			if list, err := s.App.People.Tenancies(ctx, u.User.ID); err != nil || len(list) > 0 {
				t.Fatalf("a user who was removed has the roles %v (%v)", list, err)
			}
		}
	})
}
