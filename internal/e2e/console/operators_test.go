package console

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
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

// Where there are two operators, one of them confirms whom the other invites. Nobody has the link before. Identities that one operator made
// by himself stay one person, also through each other.
func TestSecondOperatorConfirmsWhoIsInvited(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		accept := func(link, name string) harness.Staff {
			t.Helper()
			e, err := s.App.Links.Accept(ctx, users.From{Address: "127.0.0.1"}, link[strings.LastIndex(link, "/")+1:], "", users.NewUser{Name: name, Password: harness.StaffPassword})
			harness.Must(t, err)
			return harness.Staff{Client: o, User: e.User, Cookie: e.Token}
		}
		// known makes a user whose address is proved, who is no operator yet.
		known := func(email string) harness.Staff {
			t.Helper()
			told, err := s.App.Links.Invite(ctx, s.App.Self(), "", users.Invitee{Email: email, Merchant: o.Merchant.ID, Role: people.Viewer})
			harness.Must(t, err)
			return accept(told.Address, "Nora")
		}
		address := regexp.MustCompile(`/dashboard/link/[\w-]+`)
		invite := func(by harness.Staff, email string) string {
			t.Helper()
			return address.FindString(by.Ask(t, http.MethodPost, consolePath+"operators/invite", url.Values{"email": {email}, "role": {"admin"}}).Body)
		}
		waiting := func() people.Link {
			t.Helper()
			_, list, err := s.App.Team.Operators(ctx)
			harness.Must(t, err)
			if len(list) != 1 || !list[0].Waits {
				t.Fatalf("the invitations are %v, want one that waits", list)
			}
			return list[0]
		}
		confirm := func(by harness.Staff, l people.Link) harness.Answer {
			t.Helper()
			return by.Ask(t, http.MethodPost, consolePath+"operators/confirm", url.Values{"invitation": {l.ID}})
		}
		ana := harness.OperatorUser(t, o)
		var own [2]harness.Staff
		var links [2]string
		for i, email := range []string{"ana+1@ops.example", "ana+2@ops.example"} { // she is alone still
			own[i] = known(email)
			if links[i] = invite(ana, email); links[i] == "" {
				t.Fatal("an operator who is alone gets no link")
			}
		}
		for i, link := range links {
			if a := own[i].Ask(t, http.MethodPost, link, url.Values{}); a.Status != http.StatusSeeOther {
				t.Fatalf("the invitation is not accepted: %d %s", a.Status, a.Text())
			}
		}
		nora := known("nora@ops.example")
		if link := invite(ana, "nora@ops.example"); link != "" {
			t.Error("one of three operators gets the link of a new one at once")
		}
		l := waiting()
		for name, op := range map[string]harness.Staff{"whoever invited": ana, "an identity of whoever invited": own[0]} {
			if a := confirm(op, l); a.Status != http.StatusConflict {
				t.Errorf("%s confirms: %d %s", name, a.Status, a.Text())
			}
		}
		if a := confirm(nora, l); a.Status != http.StatusNotFound {
			t.Errorf("whoever is invited confirms: %d %s", a.Status, a.Text())
		}
		bea := harness.OperatorUser(t, o)
		if page := bea.Page(t, strings.TrimSuffix(consolePath, "/")); !strings.Contains(page, "Operators to confirm") {
			t.Error("the overview does not say that an operator waits")
		}
		if page := ana.Page(t, consolePath+"operators"); strings.Contains(page, "operators/confirm") || !strings.Contains(page, "Needs a second operator") {
			t.Error("whoever invited is offered to confirm, or does not see that it waits")
		}
		if page := bea.Page(t, consolePath+"operators"); !strings.Contains(page, "operators/confirm") || !strings.Contains(page, ana.User.Email+" invited this person") {
			t.Error("another operator does not see whom to confirm, and who invited")
		}
		u, err := s.App.Store.Users().Get(ctx, own[1].User.ID)
		if harness.Must(t, err); !slices.ContainsFunc(u.News, func(n people.News) bool {
			return n.What == people.OperatorWaits && n.Merchant == l.Email && n.By == ana.User.Email
		}) {
			t.Errorf("another operator hears %+v, want that an operator waits", u.News)
		}
		s.Clock.Advance(time.Hour)
		link := address.FindString(confirm(bea, l).Body)
		if link == "" {
			t.Fatal("whoever confirms gets no link")
		}
		bea.Did(t, audit.LinkConfirmed, l.ID)
		if a := confirm(bea, l); a.Status != http.StatusNotFound {
			t.Errorf("it is confirmed twice: %d %s", a.Status, a.Text())
		}
		if _, list, err := s.App.Team.Operators(ctx); err != nil || len(list) != 1 || list[0].Waits || !list[0].EndsAt.After(l.EndsAt) {
			t.Errorf("the invitations that were confirmed are %v (%v), want one that works for its whole life from now on", list, err)
		}
		other := known("other@ops.example")
		a := other.Ask(t, http.MethodPost, link, url.Values{})
		if u, err = s.App.Store.Users().Get(ctx, other.User.ID); err != nil || u.Operator != "" {
			t.Errorf("another one uses the link (%v): %d to %s", err, a.Status, a.Header.Get("Location"))
		}
		if a := nora.Ask(t, http.MethodPost, link, url.Values{}); a.Status != http.StatusSeeOther {
			t.Fatalf("the invitation that was confirmed is not accepted: %d %s", a.Status, a.Text())
		}
		for _, pair := range []struct {
			one, other harness.Staff
			two        bool
		}{{own[0], own[1], false}, {ana, own[0], false}, {own[1], ana, false}, {ana, nora, false}, {own[0], nora, true}, {bea, nora, true}, {bea, other, true}, {ana, bea, true}} {
			if err := base.TwoPersons(ctx, s.App.Base, pair.one.User.ID, pair.other.User.ID); (err == nil) != pair.two {
				t.Errorf("%s and %s are two persons: %v", pair.one.User.Email, pair.other.User.Email, err)
			}
		}
		harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), ana.User.Email))
		if base.TwoPersons(ctx, s.App.Base, own[0].User.ID, own[1].User.ID) == nil {
			t.Error("two identities of one operator are two persons once that operator was removed")
		}
		s.Clock.Advance(operators.NewOperator)
		harness.Must(t, base.TwoPersons(ctx, s.App.Base, own[0].User.ID, own[1].User.ID))
	})
}
