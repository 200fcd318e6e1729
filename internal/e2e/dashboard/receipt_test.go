package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/mail"
	"github.com/cascadapay/cascada/internal/mail/mailtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// An agent sends a customer the receipt: in the customer's language, with the shop's name, at most three times a day,
// and a second click sends no second one. In the sandbox it goes to the agent, because addresses of test payments may
// be anybody's. The audit log has it. A payment that was not paid has no receipt.
func TestReceiptIsSentFromThePage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Adapters = []provider.Adapter{providertest.Plain()}
			c.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		taken := func(n int) mailtest.Mail { // the newest of so many receipts; invitations are sent too
			t.Helper()
			var receipts []mailtest.Mail
			harness.Eventually(t, fmt.Sprintf("%d receipts are sent", n), func() bool {
				_, err := s.App.Mails.SendMails(ctx)
				harness.Must(t, err)
				receipts = slices.DeleteFunc(slices.Clone(in.Accepted()), func(m mailtest.Mail) bool { return !strings.HasPrefix(m.Subject, "Your receipt") })
				return len(receipts) == n
			})
			return receipts[n-1]
		}
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		id := o.Create(t, order(7, "ana@example.com"))
		says(t, "the page", text(u.Page(t, "/payments/"+id)), "Send the receipt")
		says(t, "the question", text(u.Page(t, "/payments/"+id+"/receipt")), "it goes to you, at "+u.User.Email)
		if strings.HasPrefix(database, "sqlite") {
			for name, path := range map[string]string{"receipt": "/receipt", "payment-receipt": ""} {
				tab := u.Tab(t, "/payments/"+id+path)
				harness.Accessible(t, tab, name)
				harness.Shoot(t, tab, "sales-"+name)
			}
		}
		for range 2 {
			u.Do(t, "/payments/"+id+"/receipt")
		}
		m := taken(1)
		if m.To != u.User.Email || m.Subject != "Your receipt from "+o.Shop.Name {
			t.Errorf("the receipt of a test goes to %s: %s", m.To, m.Subject)
		}
		says(t, "the receipt", m.Text, "You paid: 25.50 USD", "Order: A-7", "Payment: "+id, "This is a test. No money moved.")
		page := o.Staff(t, people.Owner).Page(t, "/audit")
		if n := strings.Count(text(page), "Sent a receipt"); n != 1 {
			t.Errorf("the audit log has %d receipts, want 1", n)
		}
		for n := range 2 {
			s.Clock.Advance(2 * time.Minute)
			u.Do(t, "/payments/"+id+"/receipt")
			taken(2 + n)
		}
		s.Clock.Advance(2 * time.Minute)
		if a := u.Ask(t, http.MethodPost, "/payments/"+id+"/receipt", url.Values{}); a.Status != http.StatusTooManyRequests {
			t.Errorf("a fourth receipt in a day gets %d: %s", a.Status, a.Text())
		}
		for payment, want := range map[string]int{o.Create(t, harness.PaidByShopper): http.StatusConflict, o.Create(t, order(8, "")): http.StatusBadRequest, "TXN-none": http.StatusNotFound} {
			if a := u.Ask(t, http.MethodPost, "/payments/"+payment+"/receipt", url.Values{}); a.Status != want {
				t.Errorf("the receipt of %s gets %d, want %d: %s", payment, a.Status, want, a.Text())
			}
		}
		if page := u.Page(t, "/payments/"+o.Create(t, harness.PaidByShopper)); strings.Contains(page, "/receipt\"") {
			t.Error("a payment that waits offers a receipt")
		}
		up := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "first", up)
		live := o.Production().Create(t, strings.Replace(o.PixOrder(t), "{", `{"userEmail":"joao@example.com",`, 1))
		s.TellUpstream(t, up, live, 1, "paid", "first-hush").Want(t, http.StatusOK)
		u.Live = true
		says(t, "the question in production", text(u.Page(t, "/payments/"+live+"/receipt")), "It goes to joao@example.com")
		u.Do(t, "/payments/"+live+"/receipt")
		m = taken(4)
		if m.To != "joao@example.com" || strings.Contains(m.Text, "test") {
			t.Errorf("the receipt goes to %s:\n%s", m.To, m.Text)
		}
	})
}

// A receipt that still waits when its shopper's data is erased is not sent, and clicks at the same time send one.
func TestReceiptOfAnErasedShopperIsNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		})
		s.Rate(t, "MXN 18.35")
		defer s.Log.Mute() // the e-mail is given up
		in.Refuses(func(string) error { return mailtest.Reply(451, "later") })
		o := s.NewShop(t)
		id := o.Create(t, order(1, "ana@example.com"))
		by := audit.Actor{Kind: audit.ByUser, ID: o.Staff(t, people.Support).User.ID}
		var clicks sync.WaitGroup
		for range 4 {
			clicks.Go(func() {
				_, err := s.App.Mails.SendReceipt(ctx, harness.SandboxScope(o), id, "agent@acme.example", by)
				harness.Must(t, err)
			})
		}
		clicks.Wait()
		if n, err := s.App.Store.Mails().Count(ctx, o.Merchant.ID, id, time.Time{}); err != nil || n != 1 {
			t.Errorf("four clicks make %d receipts (%v)", n, err)
		}
		harness.Eventually(t, "the receipt and the invitation were refused once", func() bool { return s.App.Mails.MailTries()[mails.Retried] == 2 })
		if done, err := s.App.Privacy.EraseShopper(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, privacy.Shopper{Payment: id}, false); err != nil || len(done.Payments) != 1 {
			t.Fatalf("the shopper is not erased: %+v (%v)", done, err)
		}
		in.Refuses(func(string) error { return nil })
		s.Clock.Advance(time.Hour)
		harness.Eventually(t, "no e-mail waits", func() bool {
			_, err := s.App.Mails.SendMails(ctx)
			harness.Must(t, err)
			n, err := s.App.Store.Mails().Waiting(ctx)
			harness.Must(t, err)
			return n == 0
		})
		for _, m := range in.Accepted() {
			if strings.HasPrefix(m.Subject, "Your receipt") {
				t.Errorf("the receipt was sent: %s", m.Text)
			}
		}
	})
}

// A receipt says what the shopper has again: not what is only on its way back, and what a lost dispute took too.
func TestReceiptSaysWhatCameBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		in := mailtest.Start(t, mailtest.Options{})
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
			c.Mail = daemon.Mail{URL: "smtp://" + in.Address, From: "Cascada <no-reply@pay.example.com>"}
		})
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		receipt := func(payment string) string { // the newest of a payment
			t.Helper()
			u.Do(t, "/payments/"+payment+"/receipt")
			defer s.Clock.Advance(2 * time.Minute)
			text := ""
			harness.Eventually(t, "the receipt is sent", func() bool {
				_, err := s.App.Mails.SendMails(ctx)
				harness.Must(t, err)
				n, err := s.App.Store.Mails().Waiting(ctx)
				harness.Must(t, err)
				for _, m := range in.Accepted() {
					if strings.Contains(m.Text, payment) {
						text = m.Text
					}
				}
				return n == 0 && text != ""
			})
			return text
		}
		refunded := o.Create(t, order(1, "ana@example.com"))
		s.Upstream(t, sandbox.RefundSlow, sandbox.NoFault, sandbox.NoFault)
		o.Refund(t, refunded, `{"amount":5}`).Want(t, http.StatusOK)
		if text := receipt(refunded); strings.Contains(text, "got back") {
			t.Errorf("the refund is under way, and the receipt says\n%s", text)
		}
		s.Upstream(t, sandbox.NoFault, sandbox.NoFault, sandbox.NoFault)
		harness.Eventually(t, "the refund is approved", func() bool {
			s.Clock.Advance(time.Hour)
			_, err := s.App.Claims.Sweep(ctx)
			harness.Must(t, err)
			return o.Claims(t, refunded) == "approved"
		})
		says(t, "the receipt", receipt(refunded), "You paid: 25.50 USD", "You got back: 5.00 USD")
		disputed := o.Create(t, order(2, "ana@example.com"))
		o.Notify(t, "sandbox-1", harness.NoticeBody(disputed, `"status":"disputed","reason":"fraudulent"`)).Want(t, http.StatusOK)
		if text := receipt(disputed); strings.Contains(text, "got back") {
			t.Errorf("the dispute is open, and the receipt says\n%s", text)
		}
		harness.RuleClaim(t, o, disputed, "lost")
		says(t, "the receipt", receipt(disputed), "You got back: 25.50 USD")
	})
}

// Two agents click at the same time, at two nodes: the shopper gets one receipt.
func TestClicksAtTwoNodesSendOneReceipt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		sender, err := mail.NewSender(mail.Config{URL: "smtp://127.0.0.1:1", From: "no-reply@pay.example.com"})
		harness.Must(t, err)
		clock, log := &harness.Clock{}, &harness.Faults{}
		click := func(a *app.App, scope merchants.Scope, payment string) {
			t.Helper()
			_, err := a.Mails.SendReceipt(ctx, scope, payment, "agent@acme.example", audit.Actor{Kind: audit.ByUser, ID: "usr_1"})
			harness.Must(t, err)
		}
		node := func(meanwhile func()) *app.App {
			return harness.NodeOf(t, database, clock, log, func(c *app.Config) {
				c.Mailer, c.Providers, c.Sandbox = sender, map[string]provider.Provider{"sandbox-1": sandbox.New("sandbox-1", nil)}, []string{"sandbox-1"}
				c.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
					if len(change.Mails) > 0 {
						meanwhile()
					}
					return commit()
				}
			})
		}
		var scope merchants.Scope
		var payment string
		second := node(func() {})
		first := node(func() { click(second, scope, payment) })
		who := harness.Acme(t, first)
		p, _, err := first.Payments.Create(ctx, who, payments.NewPayment{Amount: money.New(25_50, money.USD), PaymentMethodID: "sbx_card", Buyer: pay.Buyer{Email: "ana@example.com"}})
		harness.Must(t, err)
		scope, payment = p.Scope, p.ID
		for n := range int64(2) {
			click(first, scope, payment)
			if got, err := first.Store.Mails().Count(ctx, scope.Merchant, payment, time.Time{}); err != nil || got != n+1 {
				t.Fatalf("after click %d at two nodes there are %d receipts (%v)", n+1, got, err)
			}
			clock.Advance(2 * time.Minute)
		}
		harness.Sound(t, first, log)
	})
}

// A service without a mail server says so, in place of the button.
func TestReceiptNeedsAMailServer(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		id := o.Create(t, order(1, "ana@example.com"))
		says(t, "the page", text(u.Page(t, "/payments/"+id)), "This service sends no e-mails")
		if a := u.Ask(t, http.MethodPost, "/payments/"+id+"/receipt", url.Values{}); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Text(), "sends no e-mails") {
			t.Errorf("a receipt gets %d: %s", a.Status, a.Text())
		}
	})
}
