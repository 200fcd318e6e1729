package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

const newAdjustment = "adjustments/new"

// order is the form of an adjustment in a merchant's sandbox.
func order(o harness.Client, amount, reason, reference string) url.Values {
	return url.Values{
		"merchant": {o.Merchant.ID}, "environment": {"sandbox"}, "amount": {amount}, "reason": {reason}, "note": {"the delay of last week"}, "reference": {reference},
	}
}

// adjust sends the form of an adjustment and returns the id that it leads to.
func adjust(t *testing.T, op harness.Staff, form url.Values) string {
	t.Helper()
	a := op.Ask(t, http.MethodPost, consolePath+newAdjustment, form)
	id, found := strings.CutPrefix(a.Header.Get("Location"), consolePath+"adjustments/")
	if a.Status != http.StatusSeeOther || !found {
		t.Fatalf("the adjustment %v gets %d: %s", form, a.Status, a.Text())
	}
	return id
}

// holds fails the test unless the merchant has an amount available.
func holds(t *testing.T, o harness.Client, want string) {
	t.Helper()
	if got := harness.Available(t, o); got != want {
		t.Errorf("available is %s, want %s", got, want)
	}
}

// An operator makes an adjustment above the limit, another one approves it, and it is taken back in the same way. It waits among
// what needs a decision, and whoever made it cannot approve it (ADJ-4, ADJ-6).
func TestOperatorsAdjustABalance(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op, other := harness.OperatorUser(t, o), harness.OperatorUser(t, o)
		_, err := s.App.Payouts.LimitPayouts(ctx, s.App.Self(), o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.ApprovalAbove = 50_00 })
		harness.Must(t, err)
		if page := op.Page(t, consolePath+"merchants/"+o.Merchant.ID); !strings.Contains(page, "adjustments?merchant="+o.Merchant.ID) {
			t.Error("the merchant's page does not lead to its adjustments")
		}
		payment := o.Create(t, harness.Card)
		form := order(o, "50.01", "goodwill", "ticket 1")
		form.Set("about", payment)
		id := adjust(t, op, form)
		path := consolePath + "adjustments/" + id
		holds(t, o, "0")
		if page := waits(t, op, "adjustments", id); strings.Contains(page, "/approve") || !strings.Contains(page, "another operator approves it") || !strings.Contains(page, "payments/"+payment) || !strings.Contains(page, op.User.Email) {
			t.Errorf("the page of an adjustment for whoever made it: %s", page)
		}
		if a := op.Ask(t, http.MethodPost, path+"/approve", url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "another operator must") {
			t.Errorf("the approval by whoever made it gets %d: %s", a.Status, a.Text())
		}
		holds(t, o, "0")
		if page := other.Page(t, path); !strings.Contains(page, "/approve") || strings.Contains(page, "/reverse") {
			t.Error("another operator cannot approve it, or can reverse what has not moved")
		}
		if a := invitedBy(t, harness.OperatorUser(t, o), op).Ask(t, http.MethodPost, path+"/approve", url.Values{}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "one person") {
			t.Errorf("an operator approves the adjustment of whoever invited him: %d %s", a.Status, a.Text())
		}
		other.Do(t, path+"/approve")
		holds(t, o, "50.01")
		other.Did(t, audit.AdjustmentApproved, id)
		if a := other.Ask(t, http.MethodPost, path+"/approve", url.Values{}); a.Status != http.StatusConflict {
			t.Errorf("the second approval gets %d", a.Status)
		}
		if page := op.Page(t, "/dashboard/console"); strings.Contains(page, "decisions?kind=adjustments") {
			t.Error("an adjustment that was approved still waits")
		}

		refusedForm(t, op, "adjustments/"+id+"/reverse", url.Values{}, http.StatusBadRequest, "the merchant reads why")
		reversal := strings.TrimPrefix(op.Do(t, path+"/reverse", "note", "it was another merchant's"), consolePath+"adjustments/")
		if again := op.Do(t, path+"/reverse", "note", "it was another merchant's"); again != consolePath+"adjustments/"+reversal {
			t.Errorf("the second reversal leads to %s", again)
		}
		refusedForm(t, op, "adjustments/"+id+"/reverse", url.Values{"note": {"for another reason"}}, http.StatusConflict, "is of another adjustment")
		if page := op.Page(t, path); !strings.Contains(page, "Its reversal waits") || strings.Contains(page, "/reverse") {
			t.Error("the page does not say that the reversal waits")
		}
		other.Do(t, consolePath+"adjustments/"+reversal+"/approve")
		holds(t, o, "0")
		if page := op.Page(t, path); !strings.Contains(page, "It is reversed") || !strings.Contains(page, reversal) {
			t.Error("the page does not say that it is reversed")
		}
		if page := op.Page(t, consolePath+"adjustments/"+reversal); strings.Contains(page, "/reverse") || !strings.Contains(page, id) {
			t.Error("a reversal can be reversed, or does not name the first")
		}
		if file := op.Ask(t, http.MethodGet, consolePath+"decisions.csv", nil); strings.Count(file.Body, string(audit.AdjustmentApproved)) != 2 {
			t.Errorf("the file of decisions has %s", file.Body)
		}
	})
}

// An adjustment is booked once, however often its form is sent. What is wrong stands beside its field, and moves nothing. Whoever made
// one may reject it (ADJ-1, ADJ-2, ADJ-5).
func TestFormOfAnAdjustment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		foreign := s.NewShop(t).Create(t, harness.Card)
		op := harness.OperatorUser(t, o)
		_, err := s.App.Payouts.LimitPayouts(ctx, s.App.Self(), o.Merchant.ID, false, func(l *pay.PayoutLimits) { l.ApprovalAbove = 50_00 })
		harness.Must(t, err)
		if page := op.Page(t, consolePath+newAdjustment+"?merchant="+o.Merchant.ID); !strings.Contains(page, `value="`+o.Merchant.ID+`"`) || !strings.Contains(page, `value="late_cash_returned"`) || strings.Contains(page, `value="reversal"`) {
			t.Error("the form does not have the merchant of its address, or the reasons that an operator may give")
		}
		for _, c := range []struct {
			field, value string
			status       int
			says         string
		}{
			{"merchant", "mer_nobody", http.StatusNotFound, "no merchant with this id"},
			{"environment", "moon", http.StatusBadRequest, "Choose sandbox or production"},
			{"amount", "five", http.StatusBadRequest, "one of US dollars"},
			{"amount", "", http.StatusBadRequest, "one of US dollars"},
			{"amount", "-5", http.StatusBadRequest, "must be above zero"},
			{"reason", "", http.StatusBadRequest, "Choose a reason"},
			{"reason", "reversal", http.StatusBadRequest, "Choose a reason"},
			{"note", " ", http.StatusBadRequest, "Write why"},
			{"note", strings.Repeat("x", pay.MaxNote+1), http.StatusBadRequest, "may have at most 1000: shorten it"},
			{"reference", "", http.StatusBadRequest, "your own name of this booking"},
			{"about", foreign, http.StatusBadRequest, "of this merchant"},
			{"allowNegative", "true", http.StatusBadRequest, "Only an adjustment that takes money"},
		} {
			form := order(o, "5", "goodwill", "ticket 1")
			form.Set(c.field, c.value)
			a := op.Ask(t, http.MethodPost, consolePath+newAdjustment, form)
			if a.Status != c.status || !strings.Contains(a.Text(), c.says) || !strings.Contains(a.Body, `id="f-`+c.field+`-error"`) {
				t.Errorf("%s %q gets %d: %s", c.field, c.value, a.Status, a.Text())
			}
		}
		id := adjust(t, op, order(o, "10", "goodwill", "ticket 1"))
		if again := adjust(t, op, order(o, "10", "goodwill", "ticket 1")); again != id {
			t.Errorf("the form that is sent again leads to %s and not %s", again, id)
		}
		holds(t, o, "10")
		op.Did(t, audit.AdjustmentMade, id)
		if a := op.Ask(t, http.MethodPost, consolePath+newAdjustment, order(o, "11", "goodwill", "ticket 1")); a.Status != http.StatusConflict || !strings.Contains(a.Body, `id="f-reference-error"`) || !strings.Contains(a.Body, `value="11"`) {
			t.Errorf("a reference of another adjustment gets %d: %s", a.Status, a.Text())
		}
		debit := order(o, "-20", "fee_correction", "ticket 2")
		if a := op.Ask(t, http.MethodPost, consolePath+newAdjustment, debit); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, `id="f-amount-error"`) {
			t.Errorf("a debit of more than is available gets %d: %s", a.Status, a.Text())
		}
		debit.Set("allowNegative", "true")
		adjust(t, op, debit)
		holds(t, o, "-10")
		if a := op.Ask(t, http.MethodPost, consolePath+"adjustments/"+id+"/reverse", url.Values{"note": {"a mistake"}}); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, `id="f-allowNegative-error"`) {
			t.Errorf("a reversal of more than is available gets %d: %s", a.Status, a.Text())
		}
		op.Do(t, consolePath+"adjustments/"+id+"/reverse", "note", "a mistake", "allowNegative", "true")
		holds(t, o, "-20")

		rejected, waiting := adjust(t, op, order(o, "60", "goodwill", "ticket 3")), adjust(t, op, order(o, "70", "goodwill", "ticket 4"))
		newest := adjust(t, op, order(o, "1", "goodwill", "ticket 5"))
		refusedForm(t, op, "adjustments/"+rejected+"/reject", url.Values{}, http.StatusBadRequest, "Write why")
		op.Do(t, consolePath+"adjustments/"+rejected+"/reject", "note", "too much")
		op.Did(t, audit.AdjustmentRejected, rejected)
		refusedForm(t, op, "adjustments/"+rejected+"/reverse", url.Values{"note": {"x"}}, http.StatusConflict, "Only an adjustment that is applied")
		holds(t, o, "-19")
		for query, want := range map[string][]string{"": {waiting, newest, rejected}, "?status=rejected": {rejected}, "?merchant=" + o.Merchant.ID: {waiting, newest}, "?merchant=mer_nobody": nil} {
			page, at := op.Page(t, consolePath+"adjustments"+query), 0
			for _, id := range want {
				next := strings.Index(page[at:], "adjustments/"+id)
				if next < 0 {
					t.Fatalf("the list %q does not have %v in this order", query, want)
				}
				at += next
			}
			if none := len(want) == 0; none != strings.Contains(page, "No adjustments") || query == "?status=rejected" && strings.Contains(page, waiting) {
				t.Errorf("the list %q has others", query)
			}
		}
		op.Do(t, "/dashboard/profile", "name", "Operator", "language", "es")
		op.Page(t, consolePath+newAdjustment)
		adjust(t, op, order(o, "19,00", "debt_paid_in", "ticket 6"))
		holds(t, o, "0")
	})
}
