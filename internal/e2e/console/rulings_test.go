package console

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

const consolePath = "/dashboard/console/"

var consoleFile = regexp.MustCompile(`href="(/dashboard/console/claims/[^"]*/evidence/[^"]*)"`)

// waits opens the list of a kind of decision, the overview, and the page of the object. It returns the page.
func waits(t *testing.T, op harness.Staff, kind, id string) string {
	t.Helper()
	if page := op.Page(t, "/dashboard/console"); !strings.Contains(page, "decisions?kind="+kind) {
		t.Errorf("the overview does not count the %s", kind)
	}
	if page := op.Page(t, consolePath+"decisions?kind="+kind); !strings.Contains(page, id) {
		t.Errorf("the list of %s does not have %s", kind, id)
	}
	return op.Page(t, consolePath+kind+"/"+id)
}

// refusedForm fails the test unless a form is refused and shown again with what was typed.
func refusedForm(t *testing.T, op harness.Staff, path string, form url.Values, status int, says string) {
	t.Helper()
	if a := op.Ask(t, http.MethodPost, consolePath+path, form); a.Status != status || !strings.Contains(a.Text(), says) || status == http.StatusBadRequest && !strings.Contains(a.Body, form.Get("note")) {
		t.Errorf("%s with %v gets %d: %s", path, form, a.Status, a.Text())
	}
}

// An operator decides disputes whose evidence is in, each in another way. The page has the evidence with its files,
// and only the ends that such a claim can have.
func TestOperatorDecidesDisputes(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		picture := "\x89PNG\r\n\x1a\nsigned"
		for word, want := range map[string]string{"approved": "approved", "rejected": "rejected", "withdrawn": "withdrawn"} {
			_, claim := o.Dispute(t, true)
			o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
			o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceFile("image/png", "signed.png", []byte(picture))).Want(t, http.StatusCreated)
			page := waits(t, op, "claims", claim)
			for _, has := range []string{"it was signed for", "signed.png", "10.4", `value="withdrawn"`} {
				if !strings.Contains(page, has) {
					t.Errorf("the page of the dispute does not have %s", has)
				}
			}
			if strings.Contains(page, "claims/"+claim+"/ask") {
				t.Error("the page asks for evidence about a dispute, which only the issuer does")
			}
			file := consoleFile.FindStringSubmatch(page)
			if len(file) < 2 {
				t.Fatalf("the page has no link to the file")
			}
			if a := op.Ask(t, http.MethodGet, file[1], nil); a.Status != http.StatusOK || a.Body != picture || a.Header.Get("Content-Type") != "image/png" {
				t.Errorf("the file of evidence answers %d %s", a.Status, a.Header)
			}
			refusedForm(t, op, "claims/"+claim+"/resolve", url.Values{"note": {"the letter"}}, http.StatusBadRequest, "Choose how the claim ends")
			refusedForm(t, op, "claims/"+claim+"/resolve", url.Values{"outcome": {word}}, http.StatusBadRequest, "in a few words how you know")
			op.Do(t, consolePath+"claims/"+claim+"/resolve", "outcome", word, "note", "by the letter of the bank")
			if got := harness.ClaimStatus(t, o, claim); got != want {
				t.Errorf("ruled %s, the claim is %s", word, got)
			}
			op.Did(t, audit.ClaimResolved, claim)
			if page := op.Page(t, consolePath+"claims/"+claim); strings.Contains(page, "/resolve") {
				t.Error("the page of a claim that has ended still has the form")
			}
			refusedForm(t, op, "claims/"+claim+"/resolve", url.Values{"outcome": {word}, "note": {"once more"}}, http.StatusConflict, "no longer be changed")
		}
	})
}

// An operator says that the evidence of a dispute was submitted in the provider's panel. The button is there while the provider does
// not have all of it.
func TestOperatorCarriesEvidence(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		_, claim := o.Dispute(t, true)
		path := "claims/" + claim + "/carried"
		if page := op.Page(t, consolePath+"claims/"+claim); strings.Contains(page, path) {
			t.Error("the page offers to carry evidence that there is not")
		}
		s.Upstream(t, sandbox.EvidenceRefused, sandbox.EvidenceRefused, sandbox.EvidenceRefused)
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		s.Clock.Advance(20 * time.Minute)
		harness.Eventually(t, "the evidence is refused", func() bool {
			_, err := s.App.Claims.Sweep(ctx)
			harness.Must(t, err)
			return strings.Contains(op.Page(t, consolePath+"claims/"+claim), "the bank takes no evidence for this dispute")
		})
		s.Upstream(t, "", "", "")
		refusedForm(t, op, path, url.Values{}, http.StatusBadRequest, "in a few words how you know")
		op.Do(t, consolePath+path, "note", "uploaded on Monday")
		op.Did(t, audit.EvidenceCarried, claim)
		page := op.Page(t, consolePath+"claims/"+claim)
		if strings.Contains(page, path) || !strings.Contains(page, "uploaded on Monday") {
			t.Errorf("the page still offers it, or does not say it: %s", page)
		}
		o.Post(t, "/claims/"+claim+"/evidence", `{"kind":"other","text":"and he thanked us"}`).Want(t, http.StatusCreated)
		if page := op.Page(t, consolePath+"claims/"+claim); !strings.Contains(page, path) {
			t.Error("the page does not offer to carry what came since")
		}
	})
}

// Late money waits for the operator, who asks the merchant first or decides at once. Nobody can withdraw it, so the
// page does not offer that.
func TestOperatorDecidesAboutLateMoney(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		for word, want := range map[string]string{"approved": "approved", "rejected": "rejected"} {
			payment := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
			s.Notify(t, "sandbox-1", harness.NoticeBody(payment, `"status":"declined"`)).Want(t, http.StatusOK)
			s.Notify(t, "sandbox-1", harness.NoticeBody(payment, harness.Paid50)).Want(t, http.StatusOK)
			claim := o.Get(t, "/claims?type=inquiry&transactionId="+payment).Text(t, "data.0.id")
			page := waits(t, op, "claims", claim)
			if strings.Contains(page, `value="withdrawn"`) || !strings.Contains(page, "claims/"+claim+"/ask") {
				t.Error("the page of late money offers what cannot happen to it, or not what can")
			}
			if word == "rejected" {
				op.Do(t, consolePath+"claims/"+claim+"/ask", "note", "is this order still wanted?")
				if got := harness.ClaimStatus(t, o, claim); got != "needs_evidence" {
					t.Errorf("asked for evidence, the claim is %s", got)
				}
				o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
				waits(t, op, "claims", claim)
			}
			op.Do(t, consolePath+"claims/"+claim+"/resolve", "outcome", word, "note", "the shopper wrote")
			if got := harness.ClaimStatus(t, o, claim); got != want {
				t.Errorf("ruled %s, the claim is %s", word, got)
			}
			page = op.Page(t, consolePath+"claims/"+claim)
			if strings.Contains(page, `value="approved"`) || strings.Contains(page, `name="keep"`) || strings.Contains(page, `value="returned"`) != (word == "approved") {
				t.Errorf("the page of %s late money offers what cannot happen to it, or not what can", word)
			}
			if word == "approved" { // the shopper's bank sent it back
				op.Do(t, consolePath+"claims/"+claim+"/resolve", "outcome", "returned", "note", "the bank's statement")
				waits(t, op, "claims", o.Get(t, "/claims?type=inquiry&status=pending&transactionId="+payment).Text(t, "data.0.id"))
			}
		}
	})
}

// A payment whose provider answers nothing waits for the operator, who resolves it either way. A payment whose end
// is known has no form.
func TestOperatorResolvesPayments(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		for word, want := range map[string]string{"paid": "completed", "not-charged": "failed"} {
			d.Lines["acme-1"].Fails(harness.Gateway)
			d.Pay(t, 1, 1)
			id := d.IDs[len(d.IDs)-1]
			for range 30 {
				d.Pass(t, time.Hour)
			}
			op := harness.OperatorUser(t, d.Live) // the hours end a sign-in
			page := waits(t, op, "payments", id)
			if !strings.Contains(page, "acme-1") || !strings.Contains(page, "/resolve") {
				t.Error("the page has neither the account nor the form")
			}
			refusedForm(t, op, "payments/"+id+"/resolve", url.Values{"note": {"their list"}}, http.StatusBadRequest, "Choose how the payment ended")
			op.Do(t, consolePath+"payments/"+id+"/resolve", "outcome", word, "note", "it is on their list")
			if got := d.Live.Status(t, id); got != want {
				t.Errorf("ruled %s, the payment is %s", word, got)
			}
			op.Did(t, audit.PaymentResolved, id)
			if page := op.Page(t, consolePath+"payments/"+id); word == "paid" && strings.Contains(page, "/resolve") {
				t.Error("the page of a paid payment still has the form")
			}
		}
	})
}

// decides sends a decision about a withdrawal until it is taken. The service works on the withdrawal too, at any time: it asks the
// provider, and looks at one that has ended for settlements that it covers. The operator is told then to load the page again.
func decides(t *testing.T, op harness.Staff, path string, form url.Values) {
	t.Helper()
	harness.Eventually(t, "the decision is taken", func() bool {
		a := op.Ask(t, http.MethodPost, consolePath+path, form)
		if a.Status != http.StatusSeeOther && a.Status != http.StatusConflict {
			t.Fatalf("the decision gets %d: %s", a.Status, a.Text())
		}
		return a.Status == http.StatusSeeOther
	})
}

// A withdrawal whose payout provider answers nothing is with it until the operator says how it ended.
func TestOperatorResolvesWithdrawals(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, b *harness.Payer) {
		silent := func(*harness.Payer, payouts.Request) pay.PayoutOutcome {
			return pay.PayoutOutcome{Kind: pay.PayoutUnknown}
		}
		b.Behave(silent, silent)
		for _, words := range [][]string{{"paid", "completed", "returned", "failed"}, {"not-paid", "failed"}} {
			id := o.Withdraw(t, "100")
			o.Clock.Advance(pay.WithdrawalHold(true))
			o.PayOut(t, id, "processing")
			o.Clock.Advance(time.Hour)
			op := harness.OperatorUser(t, o) // the hours end a sign-in
			if page := op.Page(t, consolePath+"decisions?kind=withdrawals"); !strings.Contains(page, id) || !strings.Contains(page, "bank-1") {
				t.Error("the list does not have the withdrawal with its account")
			}
			path := "withdrawals/" + id + "/resolve"
			refusedForm(t, op, path, url.Values{"note": {"their list"}}, http.StatusBadRequest, "Choose how the withdrawal ended")
			refusedForm(t, op, path, url.Values{"outcome": {"not-paid"}, "note": {"their list"}, "reference": {"spei-7"}}, http.StatusBadRequest, "only for a payout that arrived")
			for ; len(words) > 0; words = words[2:] {
				if page := op.Page(t, consolePath+"withdrawals/"+id); !strings.Contains(page, `value="`+words[0]+`"`) {
					t.Errorf("the page does not offer %s", words[0])
				}
				decides(t, op, path, url.Values{"outcome": {words[0]}, "note": {"line 7 of their list"}})
				if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != words[1] {
					t.Errorf("ruled %s, the withdrawal is %s", words[0], r)
				}
			}
			op.Did(t, audit.WithdrawalResolved, id)
			if page := op.Page(t, consolePath+"withdrawals/"+id); strings.Contains(page, "/resolve") {
				t.Error("the page of a withdrawal that failed still has the form")
			}
		}
		if got := harness.Available(t, o); got != "997" { // the fee of the one that arrived stays
			t.Errorf("the merchant has %s", got)
		}
	})
}

// The bank sent a part of a payout back, and no account reports it: the operator types how much, as people of the language write it. A
// refusal stands beside the field. With an empty field it is all that has not come back.
func TestOperatorBooksAPartThatCameBack(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		id := o.Withdraw(t, "100") // 97 USD are 1779.95 MXN
		o.Clock.Advance(pay.WithdrawalHold(true))
		o.PayOut(t, id, "completed")
		op := harness.OperatorUser(t, o)
		at, path := consolePath+"withdrawals/"+id, "withdrawals/"+id+"/resolve"
		if page := op.Page(t, at); !strings.Contains(page, `name="amount"`) || !strings.Contains(page, "1,779.95") {
			t.Errorf("the form does not ask for a part: %s", page)
		}
		for amount, want := range map[string]string{"x": "such as 1779.95 MXN", "0": "such as 1779.95 MXN", "1.234": "such as 1779.95 MXN", "1,779.96": "at most what has not come back, 1,779.95\u00a0MXN"} {
			a := op.Ask(t, http.MethodPost, consolePath+path, url.Values{"outcome": {"returned"}, "amount": {amount}, "note": {"the statement"}})
			_, field, _ := strings.Cut(a.Body, `name="amount"`)
			field, _, _ = strings.Cut(field, `name="reference"`)
			if a.Status != http.StatusBadRequest || !strings.Contains(field, want) || !strings.Contains(field, `value="`+amount+`"`) {
				t.Errorf("%q gets %d, and beside the field: %s", amount, a.Status, field)
			}
		}
		refusedForm(t, op, path, url.Values{"outcome": {"not-paid"}, "amount": {"5"}, "note": {"the statement"}}, http.StatusBadRequest, "only for money that came back")
		harness.Must(t, o.App.People.Introduce(ctx, op.User.ID, "Op", merchants.Spanish))
		decides(t, op, path, url.Values{"outcome": {"returned"}, "amount": {"1.000,50"}, "note": {"the statement of Monday"}})
		harness.Must(t, o.App.People.Introduce(ctx, op.User.ID, "Op", merchants.English))
		r := o.Get(t, "/withdrawals/"+id)
		if r.Text(t, "status") != "completed" || r.Text(t, "returnedAmount") != "54.52" {
			t.Errorf("after a part came back it is %s", r)
		}
		op.Did(t, audit.WithdrawalResolved, id)
		if page := op.Page(t, at); !strings.Contains(page, "54.52") || !strings.Contains(page, "779.45") {
			t.Errorf("the page does not say what came back and what can: %s", page)
		}
		decides(t, op, path, url.Values{"outcome": {"returned"}, "amount": {""}, "note": {"the rest"}})
		if r := o.Get(t, "/withdrawals/"+id); r.Text(t, "status") != "failed" || r.Text(t, "returnedAmount") != "97" {
			t.Errorf("after all came back it is %s", r)
		}
	})
}

// An operator verifies a merchant, and rejects what another one handed in with a reason that it reads.
func TestOperatorDecidesVerifications(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for word, want := range map[string]string{"verified": "verified", "rejected": "rejected"} {
			o := s.NewShop(t)
			op := harness.OperatorUser(t, o)
			id := o.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
			address, err := url.Parse(s.App.Verifications.VerificationURL(id))
			harness.Must(t, err)
			_, err = s.App.Verifications.HandIn(ctx, id, address.Query().Get("token"))
			harness.Must(t, err)
			if page := waits(t, op, "verifications", id); !strings.Contains(page, o.Merchant.Name) || !strings.Contains(page, o.Merchant.Email) {
				t.Error("the page does not say whom it is about")
			}
			path := "verifications/" + id + "/decide"
			refusedForm(t, op, path, url.Values{}, http.StatusBadRequest, "Choose whether it is verified or rejected")
			refusedForm(t, op, path, url.Values{"outcome": {"rejected"}, "code": {"other"}}, http.StatusBadRequest, "Tell the merchant what is wrong")
			op.Do(t, consolePath+path, "outcome", word, "code", "document_expired", "message", "the passport ended in May")
			r := o.Get(t, "/kyc/"+id).Want(t, http.StatusOK)
			if r.Text(t, "status") != want {
				t.Errorf("decided %s, the verification is %s", word, r)
			}
			if word == string(merchants.KYCRejected) && r.Text(t, "lastError.message") != "the passport ended in May" {
				t.Errorf("the merchant does not read why: %s", r)
			}
			op.Did(t, audit.VerificationMoved, id)
			if page := op.Page(t, consolePath+"verifications/"+id); strings.Contains(page, "/decide") {
				t.Error("the page of a decided verification still has the form")
			}
			refusedForm(t, op, path, url.Values{"outcome": {"verified"}}, http.StatusConflict, "cannot go from")
		}
	})
}

// What people decided is a file: who, when, what, and why. What the sandbox did by itself is not in it.
func TestDecisionsAreAFile(t *testing.T) {
	t.Parallel()
	harness.EachPayer(t, func(t *testing.T, o harness.Client, _ *harness.Payer) {
		op := harness.OperatorUser(t, o)
		file := func() [][]string {
			t.Helper()
			a := op.Ask(t, http.MethodGet, consolePath+"decisions.csv", nil)
			if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Disposition"), `attachment; filename="decisions`) {
				t.Fatalf("the file is %d %v", a.Status, a.Header)
			}
			rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.Body, "\ufeff"))).ReadAll()
			harness.Must(t, err)
			return rows[1:]
		}
		before := len(file())
		_, err := o.App.Payouts.LimitPayouts(ctx, o.App.Self(), o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.ApprovalAbove = 100_00 })
		harness.Must(t, err)
		withdrawal := o.Withdraw(t, "250")
		o.Clock.Advance(pay.WithdrawalHold(true))
		harness.Eventually(t, "the withdrawal waits", func() bool {
			_, err := o.App.Payouts.PayOut(ctx)
			harness.Must(t, err)
			return strings.Contains(op.Page(t, consolePath+"decisions"), withdrawal)
		})
		op.Do(t, consolePath+"withdrawals/"+withdrawal+"/approve", "note", "the merchant called")
		box := o.As(o.Sandbox.Secret)
		kyc := box.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
		address, err := url.Parse(o.App.Verifications.VerificationURL(kyc))
		harness.Must(t, err)
		_, err = o.App.Verifications.HandIn(ctx, kyc, address.Query().Get("token"))
		harness.Must(t, err)
		op.Do(t, consolePath+"verifications/"+kyc+"/decide", "outcome", "rejected", "code", "document_expired", "message", "the passport ended in May")
		paid := box.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		o.Notify(t, "sandbox-1", harness.NoticeBody(paid, `"status":"paid","amount":"183","currency":"USD"`)).Want(t, http.StatusOK)
		open, err := o.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		op.Do(t, consolePath+"notices/close", "id", open[0].ID, "note", "given back at the provider")
		_, claim := box.Dispute(t, true)
		box.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		op.Do(t, consolePath+"claims/"+claim+"/resolve", "outcome", "rejected", "note", "the letter of the bank")
		rows := file()
		if len(rows) != before+4 {
			t.Errorf("the file has %d rows, want %d: %v", len(rows), before+4, rows)
		}
		for i, want := range [][]string{ // the newest first
			{"claim.ruled", claim, "reject", "the letter of the bank", "Sandbox"}, {"notification.closed", open[0].ID, "closed", "given back at the provider", "Sandbox"},
			{"verification.moved", kyc, "rejected", "the passport ended in May", "Sandbox"}, {"withdrawal.approved", withdrawal, "approved", "the merchant called", "Production"},
		} {
			row := rows[i]
			if got := []string{row[3], row[4], row[5], row[6], row[8]}; !slices.Equal(got, want) || row[2] != op.User.Email || row[1] == "" || row[7] != o.Merchant.ID {
				t.Errorf("row %d is %q, want %q by %s", i+1, row, want, op.User.Email)
			}
		}
	})
}
