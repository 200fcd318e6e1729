package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// A file that cannot be read to its end is cut off: nobody takes a part for all, and no page about the error stands in it.
func TestBrokenFileIsNotWhole(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		op := harness.OperatorUser(t, s.NewShop(t))
		var many pay.Change
		for i := range 600 {
			many.Merchants = append(many.Merchants, merchants.Merchant{ID: fmt.Sprintf("mer_0%03d", i), Version: 1, Name: "Many", Tier: merchants.Standard, CreatedAt: s.Clock.Now()})
		}
		harness.Must(t, s.App.Store.Commit(ctx, many))
		read := func() (string, error) {
			t.Helper()
			req, err := http.NewRequest(http.MethodGet, s.URL+consolePath+"merchants.csv", nil)
			harness.Must(t, err)
			req.AddCookie(&http.Cookie{Name: "cascada", Value: op.Cookie})
			res, err := http.DefaultTransport.RoundTrip(req)
			harness.Must(t, err)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			return string(body), err
		}
		if body, err := read(); err != nil || strings.Count(body, "\n") != 602 {
			t.Errorf("the whole file has %d lines (%v)", strings.Count(body, "\n"), err)
		}
		exec, closeDB := s.Exec(t)
		defer closeDB()
		exec("UPDATE merchants SET version = 'x' WHERE id = 'mer_0000'") // nobody can read it; newer ones come first
		body, err := read()
		if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(body, "<html") {
			t.Errorf("the broken file ends with %v and %q", err, body[max(0, len(body)-100):])
		}
		s.Log.Extract(t, "broke off")
		exec("UPDATE merchants SET version = 1 WHERE id = 'mer_0000'")
	})
}

// A search that the database does not answer is an error. It does not say that there is nothing of that name.
func TestSearchTellsOfWhatCannotBeRead(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		op := harness.OperatorUser(t, o)
		s.PayOutBy(t, "manual", accounts.NewAccount{ID: "desk", Rails: []string{"spei.MXN"}})
		exec, closeDB := s.Exec(t)
		defer closeDB()
		for _, of := range []struct{ table, id, page string }{
			{"shops", o.Shop.ID, "search?q=" + o.Shop.ID}, {"provider_accounts", "desk", "search?q=desk"}, {"merchants", o.Merchant.ID, "merchants?q=" + o.Merchant.ID},
		} {
			if a := op.Ask(t, http.MethodGet, consolePath+of.page, nil); a.Status != http.StatusSeeOther {
				t.Errorf("%s answers %d, want what it found: %s", of.page, a.Status, a.Text())
			}
			exec("UPDATE "+of.table+" SET version = 'x' WHERE id = ?", of.id) // nobody can read it
			if a := op.Ask(t, http.MethodGet, consolePath+of.page, nil); a.Status != http.StatusInternalServerError {
				t.Errorf("%s of a row that cannot be read answers %d, want an error: %s", of.page, a.Status, a.Text())
			}
			exec("UPDATE "+of.table+" SET version = 1 WHERE id = ?", of.id)
		}
		s.Log.Forget()
	})
}
