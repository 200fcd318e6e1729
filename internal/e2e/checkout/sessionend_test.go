package checkout

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A shop ends a session in which nobody chose: then nobody pays through it. A choice that was first stays.
func TestShopEndsASession(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		token := o.Session(t, harness.CheckoutBody)
		const gone, chosen = "404 checkout_session_not_found invalid_request_error", "409 checkout_session_already_completed conflict_error"
		end := "/checkout/sessions/" + token + "/expire"
		for _, by := range []harness.Client{stranger, o.Production()} {
			by.Post(t, end, "").Refused(t, gone)
		}
		o.Post(t, "/checkout/sessions/cs_none/expire", "").Refused(t, gone)
		o.Shopper(token).Read(t).Want(t, http.StatusOK)
		s.Clock.Advance(time.Minute)
		ended := o.Post(t, end, "").Want(t, http.StatusOK)
		if ended.Text(t, "sessionId") != token || ended.Text(t, "status") != "expired" || !(ended.Text(t, "expiresAt") > ended.Text(t, "createdAt")) {
			t.Errorf("the ended session is %s", ended)
		}
		o.Shopper(token).Read(t).Refused(t, gone)
		o.Shopper(token).Choose(t, harness.Choice("sbx_card")).Refused(t, gone)
		if status, page, _ := s.Visit(t, "/checkout/"+token); status != http.StatusNotFound || strings.Contains(page, "sbx_") {
			t.Errorf("the page of an ended session is %d: %s", status, page)
		}
		s.Clock.Advance(25 * time.Hour)
		_, err := s.App.Sessions.ExpireSessions(t.Context())
		harness.Must(t, err)
		if again := o.Post(t, end, "").Want(t, http.StatusOK); again.Text(t, "expiresAt") != ended.Text(t, "expiresAt") {
			t.Errorf("a session that is ended again is %s, want %s", again, ended)
		}
		if list := o.Get(t, "/events?objectId="+token); list.Text(t, "pagination.total") != "1" || list.Text(t, "data.0.data.object.expiresAt") != ended.Text(t, "expiresAt") {
			t.Errorf("the session's events are %s, want one", list)
		}

		// A shopper who did not pay tries again in another session: that one is ended, whether it is open yet or not, unless he chose.
		for _, next := range []string{"none", "open", "chosen"} {
			token := o.Session(t, `{"amount":10.05,`+harness.Ana+`}`)
			o.Shopper(token).Choose(t, harness.Choice("sbx_card")).Want(t, http.StatusPaymentRequired)
			failed := o.Shopper(token).Read(t).Text(t, "completedTxId")
			again := func() harness.Shopper {
				token, err := s.App.Sessions.RetryPayment(t.Context(), failed)
				harness.Must(t, err)
				return o.Shopper(token)
			}
			var second string
			if next != "none" {
				again()
			}
			if next == "chosen" {
				second = again().Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
			}
			r := o.Post(t, "/checkout/sessions/"+token+"/expire", "")
			if next == "chosen" {
				if r.Refused(t, chosen); r.Text(t, "error.details.existingTxId") != second {
					t.Errorf("the refusal is %s, want %s in it", r, second)
				}
				continue
			}
			r.Want(t, http.StatusOK)
			again().Choose(t, harness.Choice("sbx_cash")).Refused(t, gone)
		}

		used := o.Session(t, harness.CheckoutBody)
		id := o.Shopper(used).Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
		shot := o.Session(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		for token, payment := range map[string]string{used: id, shot: shot} {
			r := o.Post(t, "/checkout/sessions/"+token+"/expire", "")
			r.Refused(t, chosen)
			if r.Text(t, "error.details.existingTxId") != payment {
				t.Errorf("the refusal is %s, want %s in it", r, payment)
			}
		}
	})
}

// Of an end and a choice at the same time one wins.
func TestSessionEndsBesideTheChoice(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for range 8 {
			token := o.Session(t, harness.CheckoutBody)
			var ended, made harness.Reply
			var both sync.WaitGroup
			both.Go(func() { ended = o.Post(t, "/checkout/sessions/"+token+"/expire", "") })
			both.Go(func() { made = o.Shopper(token).Choose(t, harness.Choice("sbx_card")) })
			both.Wait()
			if won := [2]int{ended.Status, made.Status}; won != [2]int{http.StatusOK, http.StatusNotFound} && won != [2]int{http.StatusConflict, http.StatusCreated} {
				t.Errorf("the end and the choice are answered by %v: %s %s", won, ended, made)
			}
		}
	})
}
