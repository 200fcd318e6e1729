package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// atTheMachine runs commands without a token.
var atTheMachine = audit.Actor{Kind: audit.ByOperator, ID: "root@machine"}

// adjustment is one of a dollar.
func adjustment(merchant, reference string) settlements.NewAdjustment {
	return settlements.NewAdjustment{Merchant: merchant, Live: true, Amount: money.New(1_00, money.USD), Reason: pay.ForGoodwill, Note: "late", Reference: reference}
}

// require lets a right need two persons.
func require(t *testing.T, s *harness.Instance, right operators.Right) {
	t.Helper()
	harness.Must(t, s.App.Dual.Set(ctx, atTheMachine, right, true, ""))
}

// proposed is the proposal of a refused request.
func proposed(t *testing.T, r harness.Reply) string {
	t.Helper()
	r.Refused(t, "409 conflict_state conflict_error reason=approval_needed")
	return r.Text(t, "error.details.proposalId")
}

// A plan, terms and limits are changed once another person with the right approves (OPR-2, OPR-3).
func TestTwoPersonsChangePrices(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		for _, right := range []operators.Right{operators.Prices, operators.Limits} {
			require(t, op.Instance, right)
		}
		bea, cleo := harness.OperatorWithRole(t, o, operators.Finance), harness.OperatorWithRole(t, o, operators.Risk)
		mine := func(name string) harness.Operator { // a token of bea
			return harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: name, Role: operators.Finance, Person: bea.User.ID}, op.Log)
		}
		laptop, phone := mine("bea-laptop"), mine("bea-phone")
		const plan = `{"prices":[{"percent":1.2}],"settlement":{"delay":"48h"}}`
		id := proposed(t, laptop.Ask(t, http.MethodPut, "/plans/gold", plan))
		if again := proposed(t, laptop.Ask(t, http.MethodPut, "/plans/gold", plan)); again != id {
			t.Errorf("a repeat proposes %s, and the first is %s", again, id)
		}
		op.Get(t, "/plans/gold").Refused(t, "404 not_found invalid_request_error")
		approve := func(by harness.Staff, id string) harness.Answer {
			return by.Ask(t, http.MethodPost, consolePath+"proposals/"+id+"/approve", url.Values{})
		}
		for name, by := range map[string]harness.Staff{"whose token proposed": bea, "whose role lacks the right": cleo} {
			if a := approve(by, id); a.Status != http.StatusConflict && a.Status != http.StatusForbidden {
				t.Errorf("somebody %s approves: %d %s", name, a.Status, a.Text())
			}
		}
		for name, by := range map[string]audit.Actor{"itself": {Kind: audit.ByOperator, ID: laptop.Name}, "another one of the person": {Kind: audit.ByOperator, ID: phone.Name}, "a command": atTheMachine} {
			if _, err := op.App.Dual.Approve(ctx, by, id); err == nil {
				t.Errorf("the proposal of a token is approved by %s", name)
			}
		}
		dora := harness.OperatorWithRole(t, o, operators.Finance)
		if page := dora.Page(t, strings.TrimSuffix(consolePath, "/")); !strings.Contains(page, "Proposals to decide") {
			t.Error("the overview does not say that a proposal waits")
		}
		if page := dora.Page(t, consolePath+"proposals"); !strings.Contains(page, "gold") || !strings.Contains(page, id) {
			t.Error("the list lacks the proposal")
		}
		if page := dora.Page(t, consolePath+"proposals/"+id); !strings.Contains(page, `"percent":12`) && !strings.Contains(page, "1.2") || !strings.Contains(page, "bea-laptop") {
			t.Errorf("the page does not say what is proposed, and by whom: %s", page)
		}
		if a := approve(dora, id); a.Status != http.StatusSeeOther {
			t.Fatalf("another person approves: %d %s", a.Status, a.Text())
		}
		op.Get(t, "/plans/gold").Want(t, http.StatusOK)
		if a := approve(dora, id); a.Status != http.StatusConflict {
			t.Errorf("an applied proposal is approved again: %d", a.Status)
		}
		// A node that ended between the two commits has left an applied proposal as approved: to approve it again changes nothing.
		statusOf := func(id string) operators.ProposalStatus {
			p, err := op.App.Dual.Proposal(ctx, id)
			harness.Must(t, err)
			return p.Status
		}
		p, err := op.App.Dual.Proposal(ctx, id)
		harness.Must(t, err)
		p.Version, p.Status = p.Version+1, operators.ProposalApproved
		harness.Must(t, op.App.Store.Commit(ctx, pay.Change{Proposals: []operators.Proposal{p}}))
		if a := approve(dora, id); a.Status != http.StatusSeeOther || statusOf(id) != operators.ProposalApplied {
			t.Errorf("a proposal whose plan is applied is %s: %d %s", statusOf(id), a.Status, a.Text())
		}
		// What was changed meanwhile is not undone by an older proposal.
		old := proposed(t, laptop.Ask(t, http.MethodPut, "/plans/gold", strings.Replace(plan, "1.2", "1.3", 1)))
		now := op.App.Plans.Book().Versions("gold")[0].Plan
		now.RefundFee = 5
		_, _, err = op.App.Plans.Apply(ctx, op.App.Self(), now, op.Clock.Now())
		harness.Must(t, err)
		if a := approve(dora, old); a.Status != http.StatusConflict || statusOf(old) != operators.ProposalRejected {
			t.Errorf("a proposal about a plan that was changed meanwhile is %s: %d %s", statusOf(old), a.Status, a.Text())
		}
		terms := proposed(t, laptop.Patch(t, "/merchants/"+o.Merchant.ID, `{"trustScore":700,"reason":"a good year"}`))
		proposed(t, laptop.Patch(t, "/merchants/"+o.Merchant.ID, `{"trustScore":900,"reason":"a good year"}`))
		if a := dora.Ask(t, http.MethodPost, consolePath+"proposals/"+terms+"/reject", url.Values{"note": {"not agreed"}}); a.Status != http.StatusSeeOther {
			t.Errorf("a proposal is not rejected: %d %s", a.Status, a.Text())
		}
		if a := approve(dora, terms); a.Status != http.StatusConflict {
			t.Errorf("a rejected proposal is approved: %d", a.Status)
		}
		m, err := op.App.AnyMerchant(ctx, o.Merchant.ID)
		if harness.Must(t, err); m.TrustScore == 700 || m.TrustScore == 900 {
			t.Errorf("the trust score is %d though nobody approved", m.TrustScore)
		}
		// A stop needs one person, and its end two.
		risk := audit.Actor{Kind: audit.ByUser, ID: cleo.User.ID}
		stop := func(why string) error {
			_, err := op.App.Payouts.LimitPayouts(ctx, risk, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Stopped = why })
			return err
		}
		harness.Must(t, stop("a strange login"))
		if err := stop(""); err == nil {
			t.Error("one person lets payouts go on")
		}
		list, err := op.App.Dual.Proposals(ctx, false)
		harness.Must(t, err)
		if len(list) != 2 || list[0].Kind != "payouts.limits" {
			t.Fatalf("the open proposals are %v", list)
		}
		eve := harness.OperatorWithRole(t, o, operators.Risk)
		harness.Must(t, op.App.Team.SetOperator(ctx, op.App.Self(), cleo.User.Email, operators.Viewer)) // who proposed may not do it any more
		if a := approve(eve, list[0].ID); a.Status != http.StatusConflict {
			t.Errorf("a proposal of somebody without the right is approved: %d %s", a.Status, a.Text())
		}
		harness.Must(t, op.App.Team.SetOperator(ctx, op.App.Self(), cleo.User.Email, operators.Risk))
		op.Clock.Advance(operators.ProposalLife)
		if _, err := op.App.Dual.Approve(ctx, audit.Actor{Kind: audit.ByUser, ID: eve.User.ID}, list[0].ID); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("an old proposal is approved: %v", err)
		}
		op.Clean(t)
	})
}

// Credentials and tokens are not kept in proposals: whoever proposed them gives them again, and they go through once (OPR-2).
func TestSecretsAreProposedAndGivenAgain(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		require(t, op.Instance, operators.Credentials)
		bea := harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: "bea", Role: operators.Admin, Person: harness.OperatorUser(t, op.NewShop(t)).User.ID}, op.Log)
		require(t, op.Instance, operators.Manage)
		u := providertest.NewUpstream(t, "key-1")
		account := harness.PlainAccount("bank", u, "")
		id := proposed(t, op.Post(t, "/accounts", account))
		query, closeDB := op.Open(t)
		defer closeDB()
		if doc := fmt.Sprint(query("SELECT doc FROM proposals")); strings.Contains(doc, "key-1") || strings.Contains(doc, "body") {
			t.Errorf("a proposal keeps the credentials: %s", doc)
		}
		p, err := op.App.Dual.Approve(ctx, audit.Actor{Kind: audit.ByOperator, ID: bea.Name}, id)
		if harness.Must(t, err); p.Status != operators.ProposalApproved {
			t.Errorf("the proposal is %s", p.Status)
		}
		proposed(t, op.Post(t, "/accounts", strings.Replace(account, "key-1", "key-2", 1))) // that is another one
		op.Post(t, "/accounts", account).Want(t, http.StatusCreated)
		proposed(t, op.Post(t, "/accounts/bank/credentials", `{"credentials":{"apiKey":"key-3"}}`))
		proposed(t, op.Post(t, "/users/"+harness.OperatorUser(t, op.NewShop(t)).User.ID+"/unlock", "")) // with a link it would be a second identity
		if _, _, err := op.App.Operators.Add(ctx, audit.Actor{Kind: audit.ByOperator, ID: op.Name}, auth.Newcomer{Name: "carla", Role: operators.Viewer}); err == nil {
			t.Error("one person makes a token for somebody")
		}
		op.Clean(t)
	})
}

// To release a right needs two persons, or whoever runs the machine with a reason (OPR-2, OPR-3).
func TestReleasingNeedsTwoPersons(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		ana, bea := harness.OperatorUser(t, o), harness.OperatorUser(t, o)
		set := func(by harness.Staff, required string) harness.Answer {
			return by.Ask(t, http.MethodPost, consolePath+"operators/dual-control", url.Values{"right": {"adjustments"}, "required": {required}})
		}
		needs := func() bool {
			t.Helper()
			required, err := s.App.Dual.Required(ctx, operators.Adjustments)
			harness.Must(t, err)
			return required
		}
		require(t, s, operators.Manage)
		if a := set(ana, "yes"); a.Status != http.StatusSeeOther || !needs() {
			t.Fatalf("one person cannot require two: %d %s", a.Status, a.Text())
		}
		if a := set(ana, ""); a.Status != http.StatusConflict && a.Status != http.StatusForbidden || !needs() {
			t.Errorf("one person releases a right: %d %s", a.Status, a.Text())
		}
		if err := s.App.Dual.Set(ctx, atTheMachine, operators.Adjustments, false, ""); err == nil {
			t.Error("a command without a token releases a right")
		}
		list, err := s.App.Dual.Proposals(ctx, false)
		harness.Must(t, err)
		if len(list) != 1 {
			t.Fatalf("the proposals are %v", list)
		}
		// An adjustment waits whatever its amount, and a command without a token makes none.
		if _, err := s.App.Adjustments.Make(ctx, atTheMachine, adjustment(o.Merchant.ID, "machine")); err == nil {
			t.Error("a command without a token makes an adjustment")
		}
		made, err := s.App.Adjustments.Make(ctx, audit.Actor{Kind: audit.ByUser, ID: ana.User.ID}, adjustment(o.Merchant.ID, "ana"))
		if harness.Must(t, err); made.Status != pay.AdjustmentPending {
			t.Errorf("an adjustment of one person is %s", made.Status)
		}
		// A token of ana is ana.
		token, _, err := s.App.Operators.Add(ctx, audit.Actor{Kind: audit.ByUser, ID: ana.User.ID}, auth.Newcomer{Name: "own", Role: operators.Admin, Person: ana.User.ID})
		if harness.Must(t, err); token == "" {
			t.Error("an operator makes no token of her own")
		}
		for name, by := range map[string]audit.Actor{"ana": {Kind: audit.ByUser, ID: ana.User.ID}, "her token": {Kind: audit.ByOperator, ID: "own"}, "a command": atTheMachine} {
			if _, err := s.App.Dual.Approve(ctx, by, list[0].ID); err == nil {
				t.Errorf("%s approves what ana proposed", name)
			}
			if _, err := s.App.Adjustments.Approve(ctx, by, made.ID); err == nil {
				t.Errorf("%s approves ana's adjustment", name)
			}
		}
		if a := bea.Ask(t, http.MethodPost, consolePath+"proposals/"+list[0].ID+"/approve", url.Values{}); a.Status != http.StatusSeeOther || needs() {
			t.Errorf("two persons do not release a right: %d %s", a.Status, a.Text())
		}
		harness.Must(t, s.App.Dual.Set(ctx, atTheMachine, operators.Manage, false, "the others are on leave"))
		found, err := s.App.AuditLog(ctx, audit.Filter{Object: string(operators.Manage)}, 1)
		if harness.Must(t, err); len(found) != 1 || found[0].Details["emergency"] == "" {
			t.Errorf("the audit log has %v", found)
		}
		s.Clean(t)
	})
}
