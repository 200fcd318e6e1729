package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
)

const conflict = "409 conflict_state conflict_error"

// Users, invitations, operators and what needs two persons, over the admin API alone.
func TestAdminAPIManagesPeople(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		o := op.NewShop(t)
		m := o.Merchant.ID
		op.Post(t, "/invitations", `{"email":"eva@acme.example","role":"owner"}`).Refused(t, "400 invalid_request invalid_request_error param=operatorRole")
		op.Post(t, "/invitations", `{"email":"eva@acme.example","merchantId":"`+m+`"}`).Refused(t, "400 invalid_request invalid_request_error param=role")
		sent := op.Post(t, "/invitations", `{"email":"eva@acme.example","merchantId":"`+m+`","role":"owner","language":"es"}`).Want(t, created)
		id := sent.Text(t, "invitation.id")
		if !strings.Contains(sent.Text(t, "address"), "/dashboard/link/") {
			t.Errorf("an invitation is %s", sent)
		}
		op.Get(t, "/invitations?merchantId="+m).Want(t, fine)
		op.Get(t, "/invitations/"+id+"?merchantId="+m).Want(t, fine)
		op.Remove(t, "/invitations/"+id+"?merchantId="+m).Want(t, fine)
		op.Get(t, "/invitations/"+id+"?merchantId="+m).Refused(t, "404 not_found invalid_request_error")

		first := o.Staff(t, people.Owner).User
		owner, second := first.ID, o.Staff(t, people.Viewer).User.ID
		op.Post(t, "/invitations", `{"email":"`+first.Email+`","merchantId":"`+m+`","role":"owner"}`).Refused(t, conflict+" reason=is_member")
		if r := op.Get(t, "/users?limit=1&merchantId="+m).Want(t, fine); r.Text(t, "data.0.id") != owner || r.Text(t, "pagination.nextCursor") != owner {
			t.Errorf("the first page of users is %s", r)
		}
		op.Ask(t, http.MethodPut, "/users/"+second+"/role", `{"merchantId":"`+m+`","role":"developer"}`).Want(t, fine)
		op.Ask(t, http.MethodPut, "/users/"+owner+"/role", `{"merchantId":"`+m+`","role":"viewer"}`).Refused(t, conflict+" reason=last_owner")
		op.Ask(t, http.MethodPut, "/users/"+second+"/operator-role", `{"role":"viewer"}`).Refused(t, conflict+" reason=not_operator")
		if r := op.Get(t, "/users/"+second).Want(t, fine); r.Text(t, "memberships.0.role") != "developer" {
			t.Errorf("a changed user is %s", r)
		}
		op.Post(t, "/users/"+second+"/unlock", "").Want(t, fine)
		op.Post(t, "/users/"+second+"/sign-out", "").Want(t, fine)
		op.Post(t, "/users/"+second+"/links", `{"kind":"sign-in"}`).Want(t, created)
		op.Remove(t, "/users/"+owner+"?merchantId="+m).Refused(t, conflict+" reason=last_owner")
		op.Remove(t, "/users/"+second).Want(t, fine)

		boss := harness.OperatorUser(t, o).User.ID
		op.Post(t, "/users/"+boss+"/links", `{"kind":"password"}`).Refused(t, conflict+" reason=operator")
		op.Ask(t, http.MethodPut, "/users/"+boss+"/operator-role", `{"role":"finance"}`).Want(t, fine)
	})
}

func TestAdminAPIManagesOperators(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		added := op.Post(t, "/operators", `{"name":"bot","role":"viewer"}`).Want(t, created)
		bot := op
		bot.Token = added.Text(t, "token")
		bot.Get(t, "/operators").Want(t, fine)
		bot.Post(t, "/operators", `{"name":"bot2","role":"admin"}`).Refused(t, "403 forbidden permission_error reason=role")
		op.Post(t, "/operators", `{"name":"bot","role":"viewer"}`).Refused(t, conflict+" reason=name_taken")
		op.Patch(t, "/operators/bot", `{"role":"support"}`).Want(t, fine)
		if r := op.Get(t, "/operators/bot").Want(t, fine); r.Text(t, "role") != "support" {
			t.Errorf("a changed operator is %s", r)
		}
		op.Remove(t, "/operators/bot").Want(t, fine)
		op.Remove(t, "/operators/bot").Refused(t, conflict+" reason=removed")
		op.Patch(t, "/operators/bot", `{"role":"viewer"}`).Refused(t, conflict+" reason=removed")

		// Two persons.
		mate := harness.OperatorToken(t, op.Instance, auth.Newcomer{Name: "ben", Role: operators.Admin}, op.Log)
		op.Get(t, "/dual-controls").Want(t, fine)
		op.Ask(t, http.MethodPut, "/dual-controls/limits", `{"required":true}`).Want(t, fine)
		key := "Idempotency-Key: 41"
		change := func() harness.Reply {
			return op.Ask(t, http.MethodPatch, "/payout-limits/production", `{"daily":"20000"}`, key)
		}
		change().Refused(t, conflict+" reason=approval_needed")
		list := op.Get(t, "/proposals").Want(t, fine)
		id := list.Text(t, "data.0.id")
		op.Get(t, "/proposals/"+id).Want(t, fine)
		op.Post(t, "/proposals/"+id+"/approve", "").Refused(t, conflict+" reason=same_operator")
		mate.Post(t, "/proposals/"+id+"/approve", "").Want(t, fine)
		if r := op.Get(t, "/payout-limits/production").Want(t, fine); r.Text(t, "daily") != "20000" {
			t.Errorf("approved limits are %s", r)
		}
		op.Ask(t, http.MethodPut, "/dual-controls/limits", `{"required":false}`).Refused(t, conflict+" reason=approval_needed")
		next := op.Get(t, "/proposals").Want(t, fine).Text(t, "data.0.id")
		mate.Post(t, "/proposals/"+next+"/reject", `{"note":"not now"}`).Want(t, fine)
		mate.Post(t, "/proposals/"+next+"/reject", `{"note":"not now"}`).Refused(t, conflict+" reason=rejected")
		op.Post(t, "/payout-limits/production/stop", `{"reason":"a key was stolen"}`).Want(t, fine)
		op.Post(t, "/payout-limits/production/resume", "").Refused(t, conflict+" reason=approval_needed")
		op.Ask(t, http.MethodPut, "/dual-controls/manage", `{"required":true}`).Want(t, fine)
		// A proposal does not use the key up: the approved one is carried out with it, once.
		once := "Idempotency-Key: 42"
		add := func() harness.Reply {
			return op.Ask(t, http.MethodPost, "/operators", `{"name":"carl","role":"viewer"}`, once)
		}
		add().Refused(t, conflict+" reason=approval_needed")
		mate.Post(t, "/proposals/"+op.Get(t, "/proposals").Text(t, "data.0.id")+"/approve", "").Want(t, fine)
		first, again := add().Want(t, created), add().Want(t, created)
		if first.Text(t, "token") != again.Text(t, "token") {
			t.Errorf("a repeat has another token: %s", again)
		}
	})
}
