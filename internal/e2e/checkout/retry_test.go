package checkout

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// cardPage makes a card payment that waits on a page, as in production, and returns its id.
func cardPage(t *testing.T, o harness.Client) string {
	t.Helper()
	return o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_card","hostedCheckout":true,"returnUrl":"https://shop.example/thanks"}`,
		"Sandbox-Strict: true").Want(t, http.StatusCreated).Text(t, "transactionId")
}

// A shopper whose card was refused reads why, and pays at the next provider, as the next attempt of the same payment (PAY-38, PAY-39).
func TestRefusedCardIsTriedAtTheNextProvider(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, dsn string) {
		s := harness.Start(t, dsn, &harness.Clock{})
		o := s.NewShop(t)
		id := cardPage(t, o)
		retry := func(want string) {
			t.Helper()
			if status, page, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/retry?lang=en", ""); status != http.StatusSeeOther || !strings.HasPrefix(h.Get("Location"), want) {
				t.Fatalf("trying again returns %d %s: %.300s", status, h.Get("Location"), page)
			}
		}
		read := func(id string) pay.Payment {
			t.Helper()
			shown, err := s.App.Sessions.Shown(t.Context(), id)
			harness.Must(t, err)
			return shown.Payment
		}
		retry("/pay/" + id) // no card was refused
		s.AtBank(t, id, "decline:insufficient_funds")
		shows(t, s, "/pay/"+id+"?lang=en", []string{"The card was not accepted", "The account has insufficient funds.", "You have not been charged.", "/retry?lang=en"})
		if _, _, h := s.Browse(t, http.MethodGet, "/c/"+id, ""); !strings.HasSuffix(h.Get("Location"), "/pay/"+id) {
			t.Errorf("the payment's address leads to %s, not to the page that says what happened", h.Get("Location"))
		}
		first := read(id).Attempts[0].Provider
		explains := func(want string) {
			t.Helper()
			e, err := s.App.Rules.Explain(t.Context(), id)
			if harness.Must(t, err); e.Retry != want {
				t.Errorf("explain says %q, want %q", e.Retry, want)
			}
		}
		explains("the shopper's next try stays with " + first + ": another provider is not tried after insufficient_funds")
		retry("/sandbox/bank/" + id) // at the same provider: another card may have the funds
		if p := read(id); len(p.Attempts) != 1 || p.Status != pay.Pending {
			t.Errorf("after a decline of the issuer: %s", p)
		}
		s.AtBank(t, id, "decline:do_not_honor")
		explains("after do_not_honor the shopper's next try goes to sandbox-2: 0 of 2 retries were used")
		if page := o.Staff(t, people.Viewer).Ask(t, http.MethodGet, "/dashboard/"+o.Shop.ID+"/sandbox/payments/"+id, nil).Text(); !strings.Contains(page, "The next try goes to another provider.") {
			t.Errorf("the dashboard does not say where the next try goes: %s", page)
		}
		retry("/sandbox/bank/" + id)
		p := read(id)
		if len(p.Attempts) != 2 || p.Attempts[0].Status != pay.Lapsed || p.Attempts[1].Provider == p.Attempts[0].Provider || p.Status != pay.Pending {
			t.Fatalf("after a decline that another provider may accept: %s", p)
		}
		shows(t, s, "/pay/"+id+"?lang=en", []string{"Pay by card"}, "not accepted")
		s.AtBank(t, id, "pay")
		paid := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		if paid.Text(t, "status") != "completed" || paid.Text(t, "tries.0.code") != "insufficient_funds" || paid.Text(t, "tries.1.declineCode") != "do_not_honor" ||
			paid.Text(t, "tries.1.outcome") != "declined" {
			t.Errorf("the payment is %s", paid.Body)
		}
	})
}

// A page that ends after a refusal failed for that reason; one that nobody used was abandoned.
func TestCardPageThatEndsSaysWhy(t *testing.T) {
	t.Parallel()
	clock := &harness.Clock{}
	s := harness.Start(t, dbtest.SQLite(t), clock)
	o := s.NewShop(t)
	refused, abandoned := cardPage(t, o), cardPage(t, o)
	s.AtBank(t, refused, "decline:fraud_suspected")
	o.Post(t, "/sandbox/clock", `{"advance":"31m"}`).Want(t, http.StatusOK)
	for id, want := range map[string]string{refused: "fraud_blocked", abandoned: "abandoned"} {
		s.Sweep(t, "the page ends", func() bool { return o.Status(t, id) == "failed" })
		if p := o.Get(t, "/payments/"+id).Want(t, http.StatusOK); p.Text(t, "failure.code") != want {
			t.Errorf("%s: %s", want, p.Body)
		}
	}
	shows(t, s, "/pay/"+abandoned+"?lang=en", []string{"The payment was not made in time."})
}

// A shopper whose card is blocked cannot try again, and chooses another way to pay, although the shop chose the card. A direct charge
// leads to the shop for that (CHK-17).
func TestBlockedCardIsOfferedAnotherWay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, dsn string) {
		s := harness.Start(t, dsn, &harness.Clock{})
		o := s.NewShop(t)
		id := cardPage(t, o)
		shows(t, s, "/pay/"+id+"?lang=en", nil, "/change") // nothing was refused: it is the shop's choice
		s.AtBank(t, id, "decline:fraud_suspected")
		shows(t, s, "/pay/"+id+"?lang=en", []string{"The card was not accepted", "You have not been charged.", "/change?lang=en", "Choose another way to pay"}, "/retry")
		if status, page, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/change?lang=en", ""); status != http.StatusSeeOther || !strings.HasPrefix(h.Get("Location"), "/checkout/cs_") {
			t.Fatalf("another way returns %d %s: %.300s", status, h.Get("Location"), page)
		}
		p := o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		if p.Text(t, "status") != "failed" || p.Text(t, "failure.declineCode") != "another_way" || p.Text(t, "tries.0.declineCode") != "fraud_suspected" {
			t.Errorf("the payment is %s", p.Body)
		}
		direct := o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_card"}`, "Sandbox-Strict: true").Want(t, http.StatusCreated).Text(t, "transactionId")
		s.AtBank(t, direct, "decline:fraud_suspected")
		shows(t, s, "/pay/"+direct+"?lang=en", []string{"The card was not accepted", "To pay another way, go back to "}, "/change", "/retry")
	})
}
