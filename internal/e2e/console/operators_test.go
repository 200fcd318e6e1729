package console

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Operators who remove each other at the same time, two or in a circle of three, are not all removed: whoever was removed
// removes nobody any more. Else nobody could open the console again.
func TestOperatorsDoNotRemoveEachOtherAll(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for round := range 12 {
			list := make([]harness.Staff, 2+round%2)
			for i := range list {
				list[i] = harness.OperatorUser(t, o)
			}
			var clicks sync.WaitGroup
			answers := make([]harness.Answer, len(list))
			for i, op := range list {
				next := list[(i+1)%len(list)]
				clicks.Go(func() {
					answers[i] = op.Ask(t, http.MethodPost, consolePath+"operators/remove", url.Values{"user": {next.User.ID}})
				})
			}
			clicks.Wait()
			left, removed := 0, 0
			for i, op := range list {
				u, err := s.App.Store.Users.Get(ctx, op.User.ID)
				harness.Must(t, err)
				if u.Active() {
					left++
				}
				switch a := answers[i]; {
				case a.Status == http.StatusSeeOther && a.Header.Get("Location") == consolePath+"operators":
					removed++
				case a.Status != http.StatusSeeOther && a.Status != http.StatusUnauthorized:
					t.Errorf("a click of one who was removed gets %d: %s", a.Status, a.Text())
				}
			}
			if left == 0 || left+removed != len(list) {
				t.Errorf("of %d operators %d are left, and %d were told that they removed another", len(list), left, removed)
			}
		}
	})
}
