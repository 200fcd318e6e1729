package payouts

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

var (
	carla = audit.Actor{Kind: audit.ByOperator, ID: "carla"}
	bruno = audit.Actor{Kind: audit.ByOperator, ID: "bruno"}
)

// fileShop returns the production client of a verified merchant with 1,000 USD available, and a wallet
// that the bank-file account banco pays.
func fileShop(t *testing.T, database string, credentials map[string]string) harness.Client {
	t.Helper()
	s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
		c.WalletCoolDown, c.Admin = time.Millisecond, "127.0.0.1:0"
	})
	s.Rate(t, "MXN 18.35", "BRL 5.4")
	s.PayOutBy(t, "bank-file", accounts.NewAccount{ID: "banco", Credentials: credentials})
	o := s.NewShop(t).Production()
	v := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	o.Fund(t, true, 1_000_00)
	o.Wallet(t, `{"type":"bank_account","currency":"MXN","destination":"`+harness.CLABE+`","holderName":"Ana Souza"}`)
	s.Clock.Advance(time.Second)
	return o
}

// waitingPayouts makes withdrawals that wait for a batch, and returns their ids.
func waitingPayouts(t *testing.T, o harness.Client, amounts ...string) (list []string) {
	t.Helper()
	for _, amount := range amounts {
		list = append(list, o.Withdraw(t, amount))
	}
	o.Clock.Advance(pay.WithdrawalHold(true))
	for _, id := range list {
		o.PayOut(t, id, "processing")
	}
	return list
}

// office are two operators of a service with the admin API.
func office(t *testing.T, s *harness.Instance) (carla, bruno harness.Operator) {
	t.Helper()
	harness.PublishedForOperators.Do(func() { harness.PublishedForOperators.Spec = harness.ReadOperatorsDocument(t, s) })
	return s.Operator(t, "carla", &harness.Diary{}), s.Operator(t, "bruno", &harness.Diary{})
}

// refusedState fails the test unless a request is refused because of the state of its object.
func refusedState(t *testing.T, r harness.Reply) {
	t.Helper()
	if !strings.HasPrefix(r.Problem(t), "409 conflict_state") {
		t.Errorf("want a conflict with the state, got %s", r)
	}
}

// Withdrawals are approved, put into files and answered over the admin API.
func TestAdminAPIPaysOutInFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		o := fileShop(t, database, map[string]string{"layout": "csv"})
		carla, bruno := office(t, o.Instance)
		const fine, created = http.StatusOK, http.StatusCreated
		carla.Patch(t, "/payout-limits/production", `{"approvalAbove":"100"}`).Want(t, fine)
		large := o.Withdraw(t, "150")
		list := waitingPayouts(t, o, "53", "23")
		if r := carla.Get(t, "/withdrawals/waiting").Want(t, fine); r.Text(t, "data.0.id") != large || r.Text(t, "data.0.waiting") != "approval_required" {
			t.Errorf("what waits is %s", r)
		}
		carla.Post(t, "/withdrawals/"+large+"/approve", `{"note":"confirmed by phone"}`).Want(t, fine)
		o.PayOut(t, large, "processing") // a loop could otherwise begin it between two batches
		refusedState(t, carla.Post(t, "/withdrawals/"+list[0]+"/approve", `{"note":"confirmed by phone"}`))
		first := carla.Get(t, "/withdrawals/sent?limit=1").Want(t, fine)
		carla.Get(t, "/withdrawals/sent?limit=1&startingAfter="+first.Text(t, "pagination.nextCursor")).Want(t, fine)
		if r := carla.Get(t, "/withdrawals/"+list[0]).Want(t, fine); r.Text(t, "destination") != harness.CLABE {
			t.Errorf("a withdrawal to pay is %s", r)
		}
		carla.Get(t, "/withdrawals/"+list[0]+"/explanation").Want(t, fine)

		made := carla.Post(t, "/batches", `{"account":"banco"}`).Want(t, created)
		again := carla.Post(t, "/batches", `{"account":"banco"}`).Want(t, created)
		if list, _ := again.At(t, "data"); len(list.([]any)) > 0 {
			t.Errorf("a repeat makes %s, want nothing, as nothing waits", again)
		}
		id := made.Text(t, "data.0.id")
		at := "/batches/" + id
		carla.Post(t, at+"/dissolve", "").Want(t, fine)
		refusedState(t, carla.Post(t, at+"/dissolve", ""))
		id = carla.Post(t, "/batches", `{"account":"banco"}`).Want(t, created).Text(t, "data.0.id")
		at = "/batches/" + id
		refusedState(t, carla.Post(t, at+"/export", ""))
		refusedState(t, carla.Post(t, at+"/approve", ""))
		bruno.Post(t, at+"/approve", "").Want(t, fine)
		carla.Get(t, at).Want(t, fine)
		file := carla.Post(t, at+"/export", "").Want(t, fine)
		if text, err := base64.StdEncoding.DecodeString(file.Text(t, "content")); err != nil || !strings.Contains(string(text), harness.CLABE) {
			t.Errorf("the file is %q, %v", text, err)
		}
		if r := carla.Get(t, "/batches?limit=1").Want(t, fine); r.Text(t, "data.0.id") != id || r.Text(t, "pagination.nextCursor") != id {
			t.Errorf("the newest batch is %s", r)
		}
		if r := carla.Get(t, "/batches?startingAfter="+id).Want(t, fine); r.Text(t, "data.0.status") != "dissolved" {
			t.Errorf("the older batches are %s", r)
		}
		lines := carla.Get(t, at).Want(t, fine)
		answer := "reference,status,bank_reference\n" + lines.Text(t, "payouts.0.line") + ",paid,E1\n"
		carla.Post(t, "/accounts/banco/answers", `{"content":"`+base64.StdEncoding.EncodeToString([]byte(answer))+`"}`).Want(t, fine)
		carla.Post(t, "/accounts/banco/answers", `{"content":"eA=="}`).Refused(t, "400 invalid_request invalid_request_error param=file")
		enter := `{"account":"banco","amount":"10000","currency":"MXN","reference":"TED 1"}`
		carla.Post(t, "/floats", enter).Want(t, created)
		refusedState(t, carla.Post(t, "/floats", enter))
		carla.Get(t, "/floats").Want(t, fine)
		o.Clock.Advance(time.Second)
	})
}

// A settlement is paid by hand over the admin API, once.
func TestAdminAPIPaysASettlement(t *testing.T) {
	t.Parallel()
	eachSettled(t, func(t *testing.T, o harness.Client, _ *harness.Payer, id, _ string) {
		carla, _ := office(t, o.Instance)
		const fine = http.StatusOK
		if r := carla.Get(t, "/settlements?status=closed").Want(t, fine); r.Text(t, "data.0.id") != id {
			t.Errorf("the closed settlements are %s", r)
		}
		carla.Get(t, "/settlements/"+id).Want(t, fine)
		first := carla.Get(t, "/settlements/"+id+"/lines?limit=1").Want(t, fine)
		if r := carla.Get(t, "/settlements/"+id+"/lines?limit=1&startingAfter="+first.Text(t, "pagination.nextCursor")).Want(t, fine); r.Text(t, "data.0.number") != "2" {
			t.Errorf("the second page of lines is %s", r)
		}
		asked := func(want bool) { // whether somebody is asked to pay it
			t.Helper()
			if got := !toBePaid(t, o).IsZero(); got != want {
				t.Errorf("somebody is asked to pay the settlement: %t, want %t", got, want)
			}
		}
		asked(true)
		pay := "/settlements/" + id + "/payments"
		available := carla.Get(t, "/settlements/"+id).Text(t, "available")
		debit := carla.Post(t, "/adjustments", `{"merchantId":"`+o.Merchant.ID+`","amount":"-`+available+`","reason":"other","note":"a debt","reference":"d1"}`).Want(t, fine).Text(t, "id")
		asked(false) // its net is not there
		carla.Post(t, pay, `{"reference":"TED 0"}`).Refused(t, "422 balance_insufficient balance_error param=amount")
		carla.Post(t, "/adjustments/"+debit+"/reverse", `{"note":"it was paid in"}`).Want(t, fine)
		carla.Post(t, pay, `{"reference":"TED 1","amount":"10"}`).Want(t, http.StatusCreated)
		refusedState(t, carla.Post(t, pay, `{"reference":"TED 1","amount":"10"}`))
		carla.Post(t, pay, `{"reference":"TED 2"}`).Want(t, http.StatusCreated)
		carla.Post(t, pay, `{"reference":"TED 3"}`).Refused(t, "409 settlement_already_paid conflict_error")
		asked(false)
	})
}
