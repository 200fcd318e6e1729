package access

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func TestOperatorRunsAnAccountFromItsFirstDayToItsLast(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		u := providertest.NewUpstream(t, "key-1")
		o := op.NewShop(t)
		live := o.Production()
		op.Get(t, "/adapters").Is(t, http.StatusOK, `{"data":[{"name":"plain","rails":["pix.BRA","spei.MEX"],"credentials":[
			{"name":"apiKey","doc":"Settings, API keys","required":true,"secret":true},
			{"name":"webhookSecret","doc":"Settings, Notifications","required":true,"secret":true},
			{"name":"merchantNumber","doc":"Settings, Profile","required":false,"secret":false}]}]}`)
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[],"pagination":{"limit":50,"nextCursor":null}}`)

		// An account accepts payments as soon as the reply is sent.
		opened := op.Post(t, "/accounts", harness.PlainAccount("bank", u, `,"rails":["pix.BRA"],"priority":7,"terms":[{"price":"2%+0.30","limits":["BRL:1-500"]}],"merchantId":"`+o.Merchant.ID+`"`))
		bank := func(version int, more string) string {
			return fmt.Sprintf(`{"id":"bank","adapter":"plain","environment":"production","merchantId":%q,"baseUrl":%q,"credentials":["apiKey","webhookSecret"],
				"notificationUrl":%q,"paysOut":false,"version":%d,"createdAt":"<time>","updatedAt":"<time>",%s}`, o.Merchant.ID, u.URL, op.URL+harness.APIPath+"/providers/bank/notifications", version, more)
		}
		asOpened := `"status":"enabled","priority":7,"rails":["pix.BRA"],"allRails":false,"terms":[{"price":"2%+0.3","limits":["BRL:1-500"]}]`
		opened.Is(t, http.StatusCreated, bank(1, asOpened))
		op.Did(t, audit.ProviderAdded, "bank", opened)
		paid := live.Create(t, live.PixOrder(t))
		op.Get(t, "/accounts/bank").Is(t, http.StatusOK, bank(1, asOpened))
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[`+bank(1, asOpened)+`],"pagination":{"limit":50,"nextCursor":null}}`)
		op.Post(t, "/accounts/bank/check", "").Is(t, http.StatusOK, `{"account":"bank","result":"works"}`)

		changed := op.Patch(t, "/accounts/bank", `{"version":1,"priority":3,"rails":[],"terms":[]}`)
		asChanged := `"status":"enabled","priority":3,"rails":["pix.BRA","spei.MEX"],"allRails":true,"terms":[]`
		changed.Is(t, http.StatusOK, bank(2, asChanged))
		op.Did(t, audit.ProviderChanged, "bank", changed)
		op.Patch(t, "/accounts/bank", `{"version":2}`).Is(t, http.StatusOK, bank(2, asChanged)) // no fields: no new version
		op.Patch(t, "/accounts/bank", `{"version":1,"priority":9}`).Refused(t, "409 conflict_state conflict_error reason=version")

		u.Revoke("key-1")
		if r := op.Post(t, "/accounts/bank/check", ""); r.Text(t, "result") != "fails" || !strings.Contains(r.Text(t, "problem"), "401") {
			t.Errorf("the check of a revoked key returns %s, want fails with a 401", r)
		}
		u2 := providertest.NewUpstream(t, "key-1") // payments go to this one, because the first account's key is revoked
		op.Post(t, "/accounts", harness.PlainAccount("second", u2, "")).Want(t, http.StatusCreated)
		// A credential may be a PEM text, which has many lines.
		rotated := op.Post(t, "/accounts/bank/credentials", `{"credentials":{"webhookSecret":"bank-hush-2","merchantNumber":"-----BEGIN KEY-----\n77\n-----END KEY-----\n"}}`).Want(t, http.StatusOK)
		if got := rotated.Text(t, "credentials"); got != "[apiKey merchantNumber webhookSecret]" || rotated.Text(t, "version") != "3" {
			t.Errorf("after a rotation the account has the credentials %s: %s", got, rotated)
		}
		if at := rotated.Text(t, "rotatedAt"); at == "" {
			t.Errorf("rotatedAt is empty after a rotation: %s", rotated)
		}
		op.Did(t, audit.ProviderRotated, "bank", rotated)
		op.TellUpstream(t, u, paid, 1, "paid", "bank-hush-2").Want(t, http.StatusOK)
		if got := live.Status(t, paid); got != "completed" {
			t.Errorf("after a notification with the new secret the payment is %s, want completed", got)
		}

		disabled := op.Post(t, "/accounts/second/disable", "").Want(t, http.StatusOK)
		op.Did(t, audit.ProviderDisabled, "second", disabled)
		op.Post(t, "/accounts/second/disable", "").Is(t, http.StatusOK, string(disabled.Body)) // the second time changes nothing
		if r := live.Post(t, "/payments", live.PixOrder(t)); r.Status == http.StatusCreated {
			t.Errorf("a disabled account accepted a payment: %s", r)
		}
		op.Did(t, audit.ProviderEnabled, "second", op.Post(t, "/accounts/second/enable", "").Want(t, http.StatusOK))
		open := live.Create(t, live.PixOrder(t))
		op.Remove(t, "/accounts/second").Refused(t, "409 conflict_state conflict_error reason=open_payments")
		op.TellUpstream(t, u2, open, 2, "paid", "second-hush").Want(t, http.StatusOK)
		removed := op.Remove(t, "/accounts/second").Want(t, http.StatusOK)
		if removed.Text(t, "status") != "removed" || removed.Text(t, "credentials") != "[]" {
			t.Errorf("want a removed account without credentials, got %s", removed)
		}
		op.Did(t, audit.ProviderRemoved, "second", removed)
		op.Remove(t, "/accounts/bank?force=true").Want(t, http.StatusOK)
		op.Get(t, "/accounts").Is(t, http.StatusOK, `{"data":[],"pagination":{"limit":50,"nextCursor":null}}`)
		if r := op.Get(t, "/accounts?all=true").Want(t, http.StatusOK); strings.Count(string(r.Body), `"status":"removed"`) != 2 {
			t.Errorf("with all=true the list does not have both removed accounts: %s", r)
		}
		const gone = "409 conflict_state conflict_error reason=removed"
		op.Patch(t, "/accounts/bank", `{"version":4}`).Refused(t, gone)
		op.Post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"key-1"}}`).Refused(t, gone)
		op.Post(t, "/accounts/bank/enable", "").Refused(t, gone)
		op.Post(t, "/accounts/bank/disable", "").Refused(t, gone)
		op.Post(t, "/accounts/bank/check", "").Refused(t, gone)
		op.Remove(t, "/accounts/bank").Refused(t, gone)
		op.Post(t, "/accounts", harness.PlainAccount("bank", u2, "")).Refused(t, "409 conflict_state conflict_error param=id reason=id_taken")
	})
}

// If two operators change the version of an account that both read, one of them is refused. So
// neither undoes the other's change.
func TestOperatorsDoNotOverwriteEachOther(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		u := providertest.NewUpstream(t, "key-1")
		bo := op.Operator(t, "bo", op.Log)
		op.Post(t, "/accounts", harness.PlainAccount("bank", u, "")).Want(t, http.StatusCreated)
		for version := 1; version <= 5; version++ {
			replies := make([]harness.Reply, 2)
			var both sync.WaitGroup
			for i, who := range []harness.Operator{op, bo} {
				both.Go(func() {
					replies[i] = who.Patch(t, "/accounts/bank", fmt.Sprintf(`{"version":%d,"priority":%d}`, version, 10*version+i))
				})
			}
			both.Wait()
			won := 0
			if replies[1].Status == http.StatusOK {
				won = 1
			}
			who := []harness.Operator{op, bo}[won]
			replies[won].Want(t, http.StatusOK)
			who.Did(t, audit.ProviderChanged, "bank", replies[won])
			replies[1-won].Refused(t, "409 conflict_state conflict_error reason=version")
			if got := op.Get(t, "/accounts/bank").Text(t, "priority"); got != fmt.Sprint(10*version+won) {
				t.Errorf("the priority is %s, want %d, which %s set", got, 10*version+won, who.Name)
			}
		}
	})
}
