package console

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/leaving"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// kept is how long the service of these tests keeps shoppers' data.
const kept = 400 * 24 * time.Hour

const whileClosed = "403 forbidden permission_error reason=merchant_closed"

// A merchant leaves (LEAVE-1 to LEAVE-5): it is closed with payments in all states, a reserve, an open dispute and a withdrawal on its way;
// everything runs to its end, the balance is paid out, and after the retention what is only its own is erased. The books are proved at each step.
func TestAMerchantLeaves(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) {
			c.FX, c.Retention = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}, privacy.Retention{Shoppers: kept}
		})
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		o := s.NewShop(t)
		owner, op := o.Staff(t, people.Owner), harness.OperatorUser(t, o)
		hook := harness.Inbox(t, o, `"*"`)
		o.Wallet(t)
		for range 5 {
			o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		}
		o.Post(t, "/payments", harness.Card, "Sandbox-Simulate: failed").Want(t, http.StatusPaymentRequired)
		disputed, claim := o.Dispute(t, true)
		refunded := o.Create(t, `{"amount":50,"paymentMethodId":"sbx_card"}`)
		o.Refund(t, refunded, `{"amount":5}`)
		pending := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`)
		session := o.Session(t, harness.CheckoutBody)
		o.Fund(t, false, 20_000)
		way := o.Withdraw(t, "50")
		_, err := s.App.Links.Invite(ctx, s.App.Self(), "", users.Invitee{Email: "late@shop.example", Merchant: o.Merchant.ID, Role: people.Developer, Language: merchants.English})
		harness.Must(t, err)

		path := "/dashboard/console/merchants/" + o.Merchant.ID
		if a := op.Ask(t, http.MethodPost, path+"/close", map[string][]string{"closing": {" "}}); a.Status != http.StatusBadRequest {
			t.Errorf("closing without a reason gets %d", a.Status)
		}
		op.Do(t, path+"/close", "closing", "You asked us to")
		op.Did(t, audit.MerchantClosed, o.Merchant.ID)
		if page := op.Page(t, path); !strings.Contains(page, "You asked us to") || !strings.Contains(page, "Open claims") || !strings.Contains(page, `/reopen"`) {
			t.Errorf("the operator's page does not show what is left: %s", harness.Answer{Body: page}.Text())
		}
		if page := owner.Page(t, "/payments"); !strings.Contains(page, "You asked us to") {
			t.Error("the team does not read why the account is closed")
		}
		s.Clean(t)
		op.Do(t, path+"/reopen")
		op.Did(t, audit.MerchantReopen, o.Merchant.ID)
		op.Do(t, path+"/close", "closing", "You asked us to")

		nothingBegins(t, o, session)
		o.Get(t, "/payments/"+pending).Want(t, http.StatusOK)
		if links, err := s.App.Store.Links().Invitations(ctx, o.Merchant.ID, s.Clock.Now()); err != nil || len(links) != 0 {
			t.Errorf("%d invitations are left (%v)", len(links), err)
		}
		exported(t, o)

		// What is open ends: the withdrawal arrives, the payment expires, money is settled, the reserve is released.
		harness.RuleClaim(t, o, disputed, "won")
		harness.Eventually(t, "everything ran to its end and was paid out", func() bool {
			s.Clock.Advance(36 * time.Hour)
			s.Work(t)
			harness.Must(t, s.App.Leaving.Step(ctx))
			_, err := s.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			m, err := s.App.AnyMerchant(ctx, o.Merchant.ID)
			harness.Must(t, err)
			r, err := s.App.Leaving.Rest(ctx, m, false)
			harness.Must(t, err)
			return r.Empty()
		})
		s.Clean(t)
		if status := o.Status(t, pending); status != "expired" {
			t.Errorf("the open payment is %s, want expired", status)
		}
		if status := o.Get(t, "/withdrawals/"+way).Text(t, "status"); status != "completed" {
			t.Errorf("the withdrawal that was on its way is %s", status)
		}
		if status := harness.ClaimStatus(t, o, claim); status != "rejected" && status != "withdrawn" {
			t.Errorf("the dispute is %s", status)
		}
		balances, err := s.App.Store.Books().Balances(ctx, merchants.Scope{Merchant: o.Merchant.ID})
		harness.Must(t, err)
		if balances[ledger.PaidOut] == 0 || balances.Net() != 0 {
			t.Errorf("the balances are %v, want all of it paid out", balances)
		}
		harness.Eventually(t, "the webhook of what ended after the closing arrives", func() bool {
			return hook.Log(t, "?event=payment.failed&status=delivered").Text(t, "pagination.total") == "2" // the card's, and that of the code that expired
		})

		// It may come back until it is erased.
		_, err = s.App.Onboarding.Reopen(ctx, s.App.Self(), o.Merchant.ID)
		harness.Must(t, err)
		o.Create(t, harness.Card)
		_, err = s.App.Leaving.Close(ctx, s.App.Self(), o.Merchant.ID, "And again")
		harness.Must(t, err)
		harness.Eventually(t, "the last payment was paid out", func() bool {
			s.Clock.Advance(36 * time.Hour)
			s.Work(t)
			harness.Must(t, s.App.Leaving.Step(ctx))
			_, err := s.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			b, err := s.App.Store.Books().Balances(ctx, merchants.Scope{Merchant: o.Merchant.ID})
			harness.Must(t, err)
			return b[ledger.Pending] == 0 && b[ledger.Reserve] == 0 && b[ledger.InTransit] == 0
		})
		s.Clock.Advance(kept)
		_, err = s.App.Privacy.Forget(ctx)
		harness.Must(t, err)
		for range 2 { // nothing was ever in production: this is found, and its owners hear of the erasure
			harness.Must(t, s.App.Leaving.Step(ctx))
		}
		s.Clock.Advance(merchants.ErasureNotice)
		harness.Must(t, s.App.Leaving.Step(ctx))
		erased(t, s, o)
		s.Clean(t)
	})
}

// nothingBegins checks what a closed merchant's program, shoppers and people may not do.
func nothingBegins(t *testing.T, o harness.Client, session string) {
	t.Helper()
	for path, body := range map[string]string{
		"/payments": harness.Card, "/checkout/sessions": harness.CheckoutBody, "/withdrawals": `{"amount":1}`, "/webhooks": `{"endpoint":"https://a.example"}`,
		"/wallets": `{"type":"bank_account","currency":"MXN","destination":"` + harness.CLABE + `"}`, "/kyc/init": `{"level":"basic","subjectType":"company"}`,
	} {
		o.Post(t, path, body).Refused(t, whileClosed)
	}
	live := o.Production()
	live.Post(t, "/payments", harness.Card).Refused(t, whileClosed)
	for _, path := range []string{"/payments", "/me/balance", "/settlements", "/claims", "/webhooks"} {
		o.Get(t, path).Want(t, http.StatusOK)
	}
	if status, page, _ := o.Browse(t, http.MethodPost, "/checkout/"+session, "method=sbx_pix"); status == http.StatusSeeOther && strings.Contains(page, "/pay/") {
		t.Error("a shopper begins a payment at a closed merchant")
	}
	by := o.App.Self()
	_, keyed := o.App.Keys.Create(ctx, by, auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID}, Kind: merchants.Secret})
	_, opened := o.App.Onboarding.CreateShop(ctx, by, o.Merchant.ID, "Another")
	_, invited := o.App.Links.Invite(ctx, by, "", users.Invitee{Email: "new@shop.example", Merchant: o.Merchant.ID, Role: people.Developer})
	for what, err := range map[string]error{"a key": keyed, "a shop": opened, "an invitation": invited} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s of a closed merchant gets %v", what, err)
		}
	}
}

// unpacked returns the files of an archive by their names.
func unpacked(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	harness.Must(t, err)
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		harness.Must(t, err)
		files[f.Name], err = io.ReadAll(r)
		harness.Must(t, err)
	}
	return files
}

// exported checks the archive of what is the merchant's.
func exported(t *testing.T, o harness.Client) {
	t.Helper()
	var archive bytes.Buffer
	made, err := o.App.Leaving.Export(ctx, o.App.Self(), o.Merchant.ID, &archive)
	harness.Must(t, err)
	files := unpacked(t, archive.Bytes())
	var manifest leaving.Manifest
	harness.Must(t, json.Unmarshal(files["manifest.json"], &manifest))
	if len(manifest.Files) != len(files)-1 || len(made.Files) != len(manifest.Files) {
		t.Errorf("the manifest lists %d files of %d", len(manifest.Files), len(files))
	}
	rows := map[string]int{}
	for _, f := range manifest.Files {
		sum := sha256.Sum256(files[f.Name])
		if hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(files[f.Name])) != f.Bytes {
			t.Errorf("%s is not what the manifest says", f.Name)
		}
		rows[f.Name] = f.Rows
		if strings.HasSuffix(f.Name, ".csv") {
			list, err := csv.NewReader(bytes.NewReader(files[f.Name])).ReadAll()
			if err != nil || len(list) != f.Rows+1 || rows[strings.TrimSuffix(f.Name, "csv")+"jsonl"] != f.Rows {
				t.Errorf("%s has %d lines (%v), and the manifest says %d rows", f.Name, len(list), err, f.Rows)
			}
		}
	}
	total := o.Get(t, "/payments").Text(t, "pagination.total")
	if fmt.Sprint(rows["payments.jsonl"]) != total || rows["claims.csv"] == 0 || rows["withdrawals.csv"] == 0 || rows["transfers.csv"] == 0 || rows["audit.csv"] == 0 || rows["wallets.csv"] != 1 {
		t.Errorf("the export has %v, want %s payments", rows, total)
	}
	for name, content := range files {
		if bytes.Contains(content, []byte(o.Credential)) || bytes.Contains(content, []byte(harness.CLABE)) {
			t.Errorf("%s has a secret", name)
		}
	}
}

// erased checks a merchant that has left.
func erased(t *testing.T, s *harness.Instance, o harness.Client) {
	t.Helper()
	m, err := s.App.AnyMerchant(ctx, o.Merchant.ID)
	harness.Must(t, err)
	if !m.Leaving.Erased() || m.Email != "" || m.Name == "" {
		t.Fatalf("the merchant is %+v, want it erased", m.Leaving)
	}
	if m.Leaving.GoneAt.IsZero() {
		t.Error("the merchant is not gone")
	}
	for _, act := range []audit.Act{audit.MerchantErased, audit.WalletDeleted, audit.WebhookDeleted} {
		list, err := s.App.Store.Audit().Latest(ctx, audit.Filter{Merchant: m.ID, Act: act}, 1)
		harness.Must(t, err)
		if len(list) != 1 || list[0].By != (audit.Actor{Kind: audit.BySystem}) {
			t.Errorf("the entry of %s is %+v, want one by the service", act, list)
		}
	}
	if r := o.Get(t, "/payments"); r.Status != http.StatusUnauthorized {
		t.Errorf("a key of a merchant that has left gets %s", r)
	}
	if _, err := s.App.Onboarding.Reopen(ctx, s.App.Self(), o.Merchant.ID); err == nil {
		t.Error("a merchant that has left was opened again")
	}
	scope := merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
	var shoppers int
	_, err = s.App.Store.Payments().Each(context.Background(), o.Merchant.ID, func(p pay.Payment) {
		if p.Times.Erased.IsZero() {
			shoppers++
		}
	})
	harness.Must(t, err)
	wallet, err := s.App.Store.Wallets().Default(ctx, scope)
	if shoppers != 0 || err == nil {
		t.Errorf("%d payments still have their shopper, and the default wallet is %s", shoppers, wallet.ID)
	}
	if _, n, err := s.App.Store.Subscriptions().List(ctx, scope, lists.Page{Limit: 1}); err != nil || n != 0 {
		t.Errorf("%d webhooks are left (%v)", n, err)
	}
}

// Operators close merchants and switch sandboxes over the API. Without its sandbox a merchant has production alone (SBX-19).
func TestOperatorsCloseMerchantsAndSwitchSandboxes(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		path := "/merchants/" + o.Merchant.ID
		for _, call := range []string{"/close", "/reopen"} {
			op.Post(t, "/merchants/mer_nobody"+call, map[string]string{"/close": `{"reason":"x"}`}[call]).Refused(t, "404 not_found invalid_request_error")
		}
		op.Ask(t, http.MethodPut, "/merchants/mer_nobody/sandbox", `{"on":false}`).Refused(t, "404 not_found invalid_request_error")
		r := op.Post(t, path+"/close", `{"reason":"You asked us to"}`).Want(t, http.StatusOK)
		if r.Text(t, "closed") != "You asked us to" {
			t.Errorf("a closed merchant is %s", r)
		}
		op.Did(t, audit.MerchantClosed, o.Merchant.ID, r)
		op.Post(t, path+"/close", `{"reason":"Once more"}`).Refused(t, "409 conflict_state conflict_error reason=merchant_closed")
		o.Post(t, "/payments", harness.Card).Refused(t, whileClosed)
		op.Did(t, audit.MerchantReopen, o.Merchant.ID, op.Post(t, path+"/reopen", "").Want(t, http.StatusOK))
		op.Post(t, path+"/reopen", "").Want(t, http.StatusOK) // twice changes nothing
		o.Create(t, harness.Card)

		owner := o.Staff(t, people.Owner)
		off := op.Ask(t, http.MethodPut, path+"/sandbox", `{"on":false}`).Want(t, http.StatusOK)
		op.Did(t, audit.SandboxSwitched, o.Merchant.ID, off)
		o.Get(t, "/payments").Refused(t, "403 forbidden permission_error reason=sandbox_off")
		o.Production().Get(t, "/payments").Want(t, http.StatusOK)
		if page := owner.Page(t, "/dashboard/"+o.Shop.ID+"/production"); strings.Contains(page, ">Sandbox<") {
			t.Error("the dashboard shows the switch to a sandbox that is off")
		}
		if a := owner.Ask(t, http.MethodGet, "/payments", nil); a.Status != http.StatusForbidden {
			t.Errorf("a page of a sandbox that is off gets %d", a.Status)
		}
		op.Ask(t, http.MethodPut, path+"/sandbox", `{"on":true}`).Want(t, http.StatusOK)
		o.Get(t, "/payments").Want(t, http.StatusOK)

		op.Post(t, path+"/close", `{"reason":"For good"}`).Want(t, http.StatusOK)
		read, err := op.App.AnyMerchant(ctx, o.Merchant.ID)
		harness.Must(t, err)
		before := read
		before.Version--
		if m, err := op.App.Onboarding.Erase(ctx, op.App.Self(), before); err != nil || m.Leaving.Erased() {
			t.Errorf("a merchant that changed since it was read was erased (%v)", err)
		}
		_, err = op.App.Onboarding.Erase(ctx, op.App.Self(), read)
		harness.Must(t, err)
		op.Post(t, path+"/reopen", "").Refused(t, "409 conflict_state conflict_error reason=merchant_erased")
	})
}

// The service's own setting switches every sandbox off.
func TestServiceWithoutSandboxes(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.NoSandbox = true })
	o := s.NewShop(t)
	o.Get(t, "/payments").Refused(t, "403 forbidden permission_error reason=sandbox_off")
	o.Production().Get(t, "/payments").Want(t, http.StatusOK)
	if page := o.Staff(t, people.Owner).Page(t, "/dashboard/"+o.Shop.ID+"/production"); strings.Contains(page, ">Sandbox<") {
		t.Error("the dashboard shows the switch to a sandbox that is off")
	}
}

// Programs of the operator read what merchants that leave still have, and export what is theirs; the audit log has that.
func TestAdminAPIExportsAMerchant(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o, other := op.NewShop(t), op.NewShop(t)
		payment, foreign := o.Create(t, harness.Card), other.Create(t, harness.Card)
		path := "/merchants/" + o.Merchant.ID
		for _, of := range []string{"/export", "/leaving"} {
			op.Get(t, "/merchants/mer_nobody"+of).Refused(t, "404 not_found invalid_request_error")
		}
		r := op.Get(t, path+"/export").Want(t, http.StatusOK)
		if kind, name := r.Header.Get("Content-Type"), r.Header.Get("Content-Disposition"); kind != "application/zip" || !strings.Contains(name, o.Merchant.ID+".zip") {
			t.Errorf("an export is %s, %s", kind, name)
		}
		files := unpacked(t, r.Body)
		var manifest leaving.Manifest
		harness.Must(t, json.Unmarshal(files["manifest.json"], &manifest))
		if len(manifest.Files) != len(files)-1 || len(files) < 20 || manifest.Merchant != o.Merchant.ID {
			t.Errorf("the manifest of %d files is %+v", len(files), manifest)
		}
		for name, text := range files {
			if strings.Contains(string(text), o.Live.Secret) || strings.Contains(string(text), foreign) || strings.Contains(string(text), other.Merchant.ID) {
				t.Errorf("%s of an export has a key, or what is another merchant's", name)
			}
		}
		if !strings.Contains(string(files["payments.jsonl"]), payment) {
			t.Errorf("the exported payments are %s", files["payments.jsonl"])
		}
		op.Did(t, audit.MerchantExport, o.Merchant.ID, r)
		viewer := harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: "eva", Role: operators.Viewer}, op.Log)
		viewer.Get(t, path+"/export").Refused(t, "403 forbidden permission_error reason=role")
		viewer.Get(t, path+"/leaving").Want(t, http.StatusOK)

		if r := op.Get(t, path+"/leaving").Want(t, http.StatusOK); r.Text(t, "closedAt") != "null" && r.Text(t, "closedAt") != "<nil>" || r.Text(t, "environments.1.waitsFor") != leaving.WaitsOpen || r.Text(t, "environments.1.pending") == "0" || r.Text(t, "environments.0.waitsFor") != "nothing" {
			t.Errorf("an open merchant with money that is not settled is %s", r)
		}
		if r := op.Get(t, "/merchants/leaving").Want(t, http.StatusOK); strings.Contains(string(r.Body), o.Merchant.ID) {
			t.Errorf("nobody leaves: %s", r)
		}
		for _, id := range []string{o.Merchant.ID, other.Merchant.ID} {
			op.Post(t, "/merchants/"+id+"/close", `{"reason":"You asked us to"}`).Want(t, http.StatusOK)
		}
		first := op.Get(t, "/merchants/leaving?limit=1").Want(t, http.StatusOK)
		op.Post(t, path+"/reopen", "").Want(t, http.StatusOK)
		second := op.Get(t, "/merchants/leaving?limit=1&startingAfter="+first.Text(t, "pagination.nextCursor")).Want(t, http.StatusOK)
		if first.Text(t, "data.0.merchantId") != o.Merchant.ID || second.Text(t, "data.0.merchantId") != other.Merchant.ID || second.Text(t, "data.0.environments.0.environment") != "production" {
			t.Errorf("those that leave are %s, and then %s", first, second)
		}
	})
}
