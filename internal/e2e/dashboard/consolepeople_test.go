package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// An operator ends another's sign-ins, unlocks and removes them. Nobody does it to themselves here, or to users who are
// no operators.
func TestOperatorRemovesAnother(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		owner, op, other := o.Staff(t, people.Owner), harness.OperatorUser(t, o), harness.OperatorUser(t, o)
		path := consolePath + "operators"
		page := op.Page(t, path)
		if strings.Count(page, `name="user" value="`+other.User.ID+`"`) != 3 || strings.Contains(page, `name="user" value="`+op.User.ID+`"`) {
			t.Error("the page does not offer the three acts on the other operator alone")
		}
		for _, act := range []string{"remove", "sign-out", "unlock"} {
			if a := op.Ask(t, http.MethodPost, path+"/"+act, url.Values{"user": {op.User.ID}}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "This is you") {
				t.Errorf("%s of oneself gets %d: %s", act, a.Status, a.Text())
			}
			for _, id := range []string{owner.User.ID, "usr_x", ""} {
				if a := op.Ask(t, http.MethodPost, path+"/"+act, url.Values{"user": {id}}); a.Status != http.StatusNotFound {
					t.Errorf("%s of %q, who is no operator, gets %d", act, id, a.Status)
				}
			}
		}
		withApp(t, other)
		op.Do(t, path+"/unlock", "user", other.User.ID)
		if u, err := s.App.Store.Users.Get(ctx, other.User.ID); err != nil || u.HasFactor() {
			t.Errorf("after unlock the user has a second factor (%v)", err)
		}
		op.Do(t, path+"/sign-out", "user", other.User.ID)
		if a := other.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "sign-in") {
			t.Errorf("the operator who was signed out gets %d", a.Status)
		}
		other.Cookie, _ = signIn(t, other, harness.StaffPassword)
		other.Page(t, path)
		op.Do(t, path+"/remove", "user", other.User.ID)
		if a := other.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusSeeOther {
			t.Errorf("the removed operator gets %d", a.Status)
		}
		for _, act := range []audit.Act{audit.UserRemoved, audit.UserFactorRemoved} {
			did(t, op, act, other.User.ID)
		}
		if page := op.Page(t, path); strings.Contains(page, other.User.Email) {
			t.Error("the page still lists the removed operator")
		}
		owner.Page(t, owner.Home())
	})
}
