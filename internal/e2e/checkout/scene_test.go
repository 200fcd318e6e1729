package checkout

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// says wants words in a text, in their order.
func says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	rest := text
	for _, word := range words {
		at := strings.Index(rest, word)
		if at < 0 {
			t.Errorf("%s does not say %q after what comes before it:\n%s", what, word, text)
			return
		}
		rest = rest[at+len(word):]
	}
}

// reads wants a text at a path of a reply.
func reads(t *testing.T, r harness.Reply, path, want string) {
	t.Helper()
	if got := r.Text(t, path); got != want {
		t.Errorf("%s is %s, want %s: %s", path, got, want, r)
	}
}

// Three shoppers are sent to a provider's page for their cards. One is declined there and leaves, one never enters a card, and one is
// declined, tries again, and pays at the next provider. The shop, the operator and the statistics learn what happened (PAY-38, PAY-39).
func TestThreeCardsOnPagesAreToldAsTheyWere(t *testing.T) {
	eachPaged(t, func(t *testing.T, s *paged) {
		declined, left, saved := s.opens(t), s.opens(t), s.opens(t)
		s.refuses(t, declined, 1, decline.InsufficientFunds)
		s.refuses(t, saved, 1, decline.DoNotHonor)
		s.leads(t, saved, s.page(saved, 2))
		s.lines[1].PayPage(t, ref(saved, 2))
		s.hears(t, saved, 2)

		// Of the two that nobody paid, one page ends by itself, and the other one's end is not told.
		s.Clock.Advance(30 * time.Minute)
		s.lines[0].EndPage(t, ref(declined, 1))
		s.hears(t, declined, 1)
		s.Sweep(t, "both pages have ended", func() bool { return s.live.Status(t, declined) == "failed" && s.live.Status(t, left) == "failed" })

		for id, want := range map[string][4]string{ // status, failure.code, failure.declineCode, how many tries
			declined: {"failed", "insufficient_funds", "insufficient_funds", "1"},
			left:     {"failed", "abandoned", "<nil>", "0"},
			saved:    {"completed", "<nil>", "<nil>", "1"},
		} {
			p := s.live.Get(t, "/payments/"+id).Want(t, http.StatusOK)
			reads(t, p, "status", want[0])
			if want[1] == "<nil>" {
				reads(t, p, "failure", want[1])
			} else {
				reads(t, p, "failure.code", want[1])
				reads(t, p, "failure.declineCode", want[2])
			}
			list, _ := p.At(t, "tries")
			if tries, _ := list.([]any); len(tries) != int(want[3][0]-'0') {
				t.Errorf("%s has the tries %v, want %s", id, tries, want[3])
			}
			for _, secret := range []string{"acme-1", "acme-2", "paged"} {
				if strings.Contains(string(p.Body), secret) {
					t.Errorf("the shop reads of the provider: %s", p)
				}
			}
		}
		tried := s.live.Get(t, "/payments/"+declined)
		for path, want := range map[string]string{"tries.0.outcome": "declined", "tries.0.code": "insufficient_funds", "tries.0.declineCode": "insufficient_funds"} {
			reads(t, tried, path, want)
		}
		reads(t, s.live.Get(t, "/payments/"+saved), "tries.0.declineCode", "do_not_honor")

		for id, want := range map[string]string{declined: "payment.failed", left: "payment.failed", saved: "payment.completed"} {
			told := s.live.Get(t, "/events?objectId="+id).Want(t, http.StatusOK)
			reads(t, told, "pagination.total", "1") // nobody listened to the earlier ones
			reads(t, told, "data.0.type", want)
			if want == "payment.failed" {
				reads(t, told, "data.0.data.object.failure.code", s.live.Get(t, "/payments/"+id).Text(t, "failure.code"))
			}
		}
		for id, words := range map[string][]string{
			declined: {"failed", "insufficient_funds", "1 at acme-1: expired", "on its page: declined (insufficient_funds)"},
			left:     {"failed", "abandoned: nobody tried to pay", "1 at acme-1: expired"},
			saved:    {"completed", "1 at acme-1: expired", "on its page: declined (do_not_honor)", "2 at acme-2: approved", "the shopper tried again"},
		} {
			story, err := s.App.Store.Story(ctx, id)
			harness.Must(t, err)
			says(t, "the story", story, words...)
			e, err := s.App.Rules.Explain(ctx, id)
			harness.Must(t, err)
			for i, a := range e.Payment.Attempts {
				if a.Status == pay.Lapsed && (len(a.Tries) == 0) != (id == left) || a.Again != (i == 1) {
					t.Errorf("attempt %d is explained as %+v", a.Order, a)
				}
			}
		}
		s.counts(t)
		s.agrees(t, 1, 0)
	})
}

// counts wants the numbers of the three cards, for the shop and for the operator.
func (s *paged) counts(t *testing.T) {
	t.Helper()
	shop, operator := s.live.Staff(t, people.Viewer), harness.OperatorUser(t, s.live)
	counted := func(who harness.Staff, path string, words ...string) {
		t.Helper()
		harness.Eventually(t, path+" says "+strings.Join(words, ", "), func() bool { // a job adds up
			text := who.Ask(t, http.MethodGet, path, nil).Text()
			for _, word := range words {
				if !strings.Contains(text, word) {
					return false
				}
			}
			return true
		})
	}
	home := "/dashboard/" + s.live.Shop.ID + "/production"
	counted(shop, home+"/analytics", "Approval rate 50.0%", "Card 3 1 1 1 0 0 50.0%")
	counted(shop, home+"/analytics?by=refusal", "Insufficient funds 1 50.0%")
	counted(operator, "/dashboard/console/analytics?by=account", "acme-1 3 0 2 1 0 0", "acme-2 1 1 0 0 0 100%")
	counted(operator, "/dashboard/console/accounts", "0 of 2", "1 of 1")
	for account, want := range map[string]accounts.RailRecord{"acme-1": {Rail: "card.BRA", Declined: 2, Untried: 1}, "acme-2": {Rail: "card.BRA", Paid: 1}} {
		record, err := s.App.Accounts.Record(ctx, account, true)
		if harness.Must(t, err); len(record.Rails) != 1 || record.Rails[0] != want {
			t.Errorf("%s has the record %+v, want %+v", account, record.Rails, want)
		}
	}
}
