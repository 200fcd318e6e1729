package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/sandbox"
)

// speak changes the language of a user's pages.
func speak(t *testing.T, u harness.Staff, language merchants.Language) {
	t.Helper()
	harness.Must(t, u.App.People.Introduce(ctx, u.User.ID, "Ana", language))
}

// Nobody refunds another amount than the one that was typed: what can be read in two ways, and an empty field, are
// refused.
func TestTypedAmountIsNotGuessed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	id := o.Create(t, `{"amount":4000,"paymentMethodId":"sbx_card"}`)
	at := "/payments/" + id + "/refund"
	left := func() string { return o.Get(t, "/payments/"+id).Text(t, "refundableAmountLocal") }
	for _, c := range []struct {
		language merchants.Language
		amount   string
	}{
		{"en", ""}, {"en", " "}, {"en", "'"}, {"en", "\u00a0"}, {"en", "1.5."}, {"en", "1..5"}, {"en", "1,5.00"}, {"en", "1.2.3"}, {"en", "1.000"}, {"en", "1,00,0"}, {"en", "1e2"}, {"en", "-1"}, {"en", "+1"},
		{"en", "1 2"}, {"en", ".5."}, {"es", "1,000"}, {"pt", "1,5,"}, {"pt", "1.00.0"}, {"es", "1.50,0.0"},
	} {
		speak(t, u, c.language)
		k := keyOf(t, u.Page(t, at))
		if a := u.Ask(t, http.MethodPost, at, url.Values{"amount": {c.amount}, "reason": {"duplicate"}, "key": {k}}); a.Status < 400 || !strings.Contains(a.Body, `id="f-amount-error"`) || left() != "4000" {
			t.Errorf("%s %q gets %d, and leaves %s", c.language, c.amount, a.Status, left())
		}
	}
	for _, c := range []struct {
		language     merchants.Language
		amount, left string
	}{
		{"en", "1,000", "3000"}, {"en", "0.5", "2999.5"}, {"es", "0,5", "2999"}, {"pt", "1.000", "1999"}, {"en", "1,000.00", "999"}, {"es", "100.00", "899"}, {"pt", "99,9", "799.1"}, {"pt", "799,10", "0"},
	} {
		speak(t, u, c.language)
		u.Do(t, at, "amount", c.amount, "reason", "duplicate", "key", keyOf(t, u.Page(t, at)))
		if left() != c.left {
			t.Errorf("%s %q leaves %s, want %s", c.language, c.amount, left(), c.left)
		}
	}
}

// The reason of a refund is no longer than the API allows (REF-2).
func TestReasonOfARefundIsBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	at := "/payments/" + o.Create(t, order(1, "")) + "/refund"
	form := url.Values{"amount": {"1"}, "reason": {strings.Repeat("é", 501)}, "key": {keyOf(t, u.Page(t, at))}}
	if a := u.Ask(t, http.MethodPost, at, form); a.Status != http.StatusBadRequest {
		t.Errorf("a reason of 501 characters gets %d", a.Status)
	}
	form.Set("reason", "other")
	form.Set("note", strings.Repeat("é", 501))
	if a := u.Ask(t, http.MethodPost, at, form); a.Status != http.StatusBadRequest {
		t.Errorf("a note of 501 characters gets %d", a.Status)
	}
}

// A withdrawal reads amounts as the language writes them, as a refund does.
func TestWithdrawalIsTypedInTheLanguage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Finance)
	o.Fund(t, false, 5000_00)
	wallet := o.Wallet(t)
	for _, c := range []struct {
		language     merchants.Language
		amount, want string
	}{
		{"pt", "1.000", "1.000,00"}, {"pt", "1.000,50", "1.000,50"}, {"es", "250,75", "250,75"}, {"en", "1,000", "1,000.00"}, {"en", "250.75", "250.75"},
		{"en", "1.000", ""}, {"es", "1,000", ""}, {"en", "1e2", ""}, {"en", "2..5", ""},
	} {
		speak(t, u, c.language)
		a := u.Ask(t, http.MethodGet, "/withdrawals/new?wallet="+wallet+"&amount="+url.QueryEscape(c.amount), nil)
		if good := a.Status == http.StatusOK; good != (c.want != "") || !strings.Contains(a.Text(), c.want) {
			t.Errorf("%s %q gets %d, want %q: %s", c.language, c.amount, a.Status, c.want, a.Text())
		}
	}
}

// The pages take no text that the API would refuse, and no address of a list makes them fail.
func TestPagesBoundWhatIsTyped(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Owner)
		long := strings.Repeat("a", 60) + "@" + strings.Repeat("b.", 100) + "example"
		form := url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "method": {"sbx_card"}, "outcome": {"paid"}, "email": {long}, "key": {keyOf(t, u.Page(t, "/payments/test"))}}
		if a := u.Ask(t, http.MethodPost, "/payments/test", form); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-email-error"`) {
			t.Errorf("a test payment takes an e-mail address of %d characters: %d", len(long), a.Status)
		}
		form = url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "description": {strings.Repeat("x", 501)}, "key": {keyOf(t, u.Page(t, "/payments/link"))}}
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `id="f-description-error"`) {
			t.Errorf("a payment link takes a description of 501 characters: %d", a.Status)
		}
		big := url.Values{"amount": {"1"}, "key": {"k"}, "note": {strings.Repeat("x", 1<<20)}}
		if a := u.Ask(t, http.MethodPost, "/payments/"+o.Create(t, harness.Card)+"/refund", big); a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), "too large") {
			t.Errorf("a form of 1 MB gets %d: %s", a.Status, a.Text())
		}
		for _, path := range []string{
			"/payments?amount=5&currency=XYZ", "/payments?amount=5&currency=usd", "/payments/export?amount=5&currency=XYZ", "/payments?amount=USD&currency=EUR", "/payments?q=\u202e5", "/payments?q=XYZ%205",
			"/balance?type=fee&cursor=9223372036854775807.x", "/balance?from=9999-12-31&to=9999-12-31", "/payments?from=9999-12-31&to=9999-12-31", "/analytics?from=9999-12-31&to=9999-12-31", "/analytics?from=0001-01-01&to=9999-12-31",
			"/analytics?to=0001-01-01", "/refunds?payment=%00", "/refunds?cursor=%ff", "/withdrawals?wallet=%00", "/settlements?status=%ff", "/settlements?cursor=%00", "/wallets?status=x&cursor=%00", "/disputes?tab=%00", "/disputes/%00", "/payments/%ff", "/payments?%00=%00", "/search?q=%f0%9f%98%80",
		} {
			if a := u.Ask(t, http.MethodGet, path, nil); a.Status >= 500 {
				t.Errorf("%s gets %d: %s", path, a.Status, a.Text())
			}
		}
	})
}

// All lists read the days of their filters in the same way: the last day belongs to them.
func TestListsReadDaysAlike(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		u := s.NewShop(t).Staff(t, people.Owner)
		for _, list := range []string{
			"/payments", "/payments/export", "/balance?type=fee", "/balance.csv?type=fee", "/settlements", "/settlements.csv", "/withdrawals", "/withdrawals.csv", "/requests", "/requests.csv",
			"/events", "/events.csv", "/audit", "/audit.csv", "/analytics", "/analytics/days.csv",
		} {
			for query, want := range map[string]string{
				"from=yesterday": "This is not a day", "to=2026-11-31": "This is not a day", "from=2026-11-21&to=2026-11-20": "The first day must not be after the last one",
				"from=2026-11-21&to=2026-11-21": "",
			} {
				path := list + map[bool]string{true: "&", false: "?"}[strings.Contains(list, "?")] + query
				a := u.Ask(t, http.MethodGet, path, nil)
				if list == "/payments" && strings.Contains(a.Text(), "This cannot be done") {
					t.Errorf("%s loses the list: %s", path, a.Text())
				}
				if (a.Status == http.StatusOK) != (want == "") || !strings.Contains(a.Text(), want) {
					t.Errorf("%s gets %d: %s", path, a.Status, a.Text())
				}
			}
		}
	})
}

// A refund that the bank has not confirmed, or has refused, is not shown as money that the customer got.
func TestPaymentTellsOfARefundWhatIsKnown(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		const well = sandbox.NoFault
		for fault, want := range map[sandbox.Fault]string{sandbox.RefundTimeout: "has not confirmed", sandbox.RefundDecline: "was not made"} {
			for _, amount := range []string{`{}`, `{"amount":5}`} {
				id := o.Create(t, harness.Card)
				s.Upstream(t, fault, well, well)
				o.Refund(t, id, amount).Want(t, http.StatusOK)
				s.Upstream(t, well, well, well)
				page := u.Ask(t, http.MethodGet, "/payments/"+id, nil).Text()
				if !strings.Contains(page, want) || strings.Contains(page, "The customer got") {
					t.Errorf("%s %s: the page does not say %q: %s", fault, amount, want, page)
				}
				if fault == sandbox.RefundDecline && (strings.Contains(page, "Partly refunded") || !strings.Contains(page, "Refund failed")) {
					t.Errorf("nothing was refunded, and the page does not say so: %s", page)
				}
			}
		}
	})
}

// A payment that ended without money, and for which money came later, does not say that no money was taken.
func TestPaymentTellsOfLateMoney(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
	s.Notify(t, "sandbox-1", harness.NoticeBody(id, `"status":"declined"`)).Want(t, http.StatusOK)
	s.Notify(t, "sandbox-1", harness.NoticeBody(id, harness.Paid50)).Want(t, http.StatusOK)
	page := u.Ask(t, http.MethodGet, "/payments/"+id, nil)
	if strings.Contains(page.Text(), "no money was taken") || !strings.Contains(page.Text(), "money came for it later") || !strings.Contains(page.Body, "/disputes/CLM-") {
		t.Errorf("the page says %s", page.Text())
	}
}

// Deadlines in the sandbox are told by its test clock, as everything there is.
func TestDeadlinesFollowTheTestClock(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	_, claim := o.Dispute(t, true)
	harness.MoveTestClock(t, o, "120h")
	for path, want := range map[string]string{"/": "answer in 1 day", "/disputes": "in 1 day", "/disputes/" + claim: "1 day", "/payments": "5 days ago"} {
		if text := u.Ask(t, http.MethodGet, path, nil).Text(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", path, want, text)
		}
	}
	day := s.Clock.Now().Add(120 * time.Hour).UTC()
	if text := u.Ask(t, http.MethodGet, "/", nil).Text(); !strings.Contains(text, day.Format("2 Jan 2006")) {
		t.Errorf("the home page counts %s and says %.200s", day, text)
	}
}

// A document of a kind that the checklist no longer has, because the bank gave another reason meanwhile, is not
// dropped. A form that is sent twice sends each piece once.
func TestEvidenceIsNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	_, claim := o.Dispute(t, true)
	for range 2 {
		a := upload(t, u, "/disputes/"+claim+"/answer", "It was them", [3]string{"file_receipt", "r.txt", "a receipt"}, [3]string{"file_other", "o.txt", "more"})
		if a.Status != http.StatusSeeOther {
			t.Fatalf("the answer gets %d: %s", a.Status, a.Text())
		}
	}
	shown := o.Get(t, "/claims/"+claim)
	list, _ := shown.At(t, "evidence")
	if n := len(list.([]any)); n != 3 || shown.Text(t, "evidence.1.kind") != "receipt" {
		t.Errorf("want a text and two files, got %d: %s", n, shown)
	}
}

// Clicks at the same time send each piece of evidence once: the second reads the form while the first one sends.
func TestClicksAtTheSameTimeSendEvidenceOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Support)
		_, claim := o.Dispute(t, true)
		answers := make([]harness.Answer, 6)
		var clicks sync.WaitGroup
		for i := range answers {
			clicks.Go(func() {
				answers[i] = upload(t, u, "/disputes/"+claim+"/answer", "It was them", [3]string{"file_receipt", "r.txt", "a receipt"}, [3]string{"file_other", "o.txt", "more"})
			})
		}
		clicks.Wait()
		for _, a := range answers {
			if a.Status != http.StatusSeeOther {
				t.Errorf("a click gets %d: %s", a.Status, a.Text())
			}
		}
		shown := o.Get(t, "/claims/"+claim)
		list, _ := shown.At(t, "evidence")
		if n := len(list.([]any)); n != 3 {
			t.Errorf("want a text and two files, got %d: %s", n, shown)
		}
	})
}

// Who sends a form a second time, as from the browser's history, is told that nothing more was done. With another
// amount in it, the form says so and can be sent again.
func TestSecondSendingIsTold(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	o := s.NewShop(t)
	u := o.Staff(t, people.Support)
	at := "/payments/" + o.Create(t, order(1, "")) + "/refund"
	form := url.Values{"amount": {"5"}, "reason": {"duplicate"}, "key": {keyOf(t, u.Page(t, at))}}
	for _, want := range []string{"is on its way", "Nothing more was refunded"} {
		a := u.Ask(t, http.MethodPost, at, form)
		cookie := ""
		for _, line := range a.Header.Values("Set-Cookie") {
			if strings.HasPrefix(line, "cascada_flash=") {
				cookie, _, _ = strings.Cut(line, ";")
			}
		}
		if page := u.Ask(t, http.MethodGet, a.Header.Get("Location"), nil, "Cookie: "+cookie); !strings.Contains(page.Body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	form.Set("amount", "6")
	a := u.Ask(t, http.MethodPost, at, form)
	if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "sent before") || keyOf(t, a.Body) == form.Get("key") {
		t.Errorf("another amount gets %d: %s", a.Status, a.Text())
	}
	u.Do(t, at, "amount", "6", "key", keyOf(t, a.Body))
}

// Eight clicks at the same time, with the key of one form, do once what the form asks for. The same key in another
// shop is another form's.
func TestClicksAtTheSameTimeDoOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, next := s.NewShop(t), s.NewShop(t)
		u, other := o.Staff(t, people.Owner), next.Staff(t, people.Owner)
		code := withApp(t, u)
		prove(t, &u, u.Home(), code())
		o.Fund(t, false, 500_00)
		wallet := o.Wallet(t)
		id := o.Create(t, harness.Card)
		all := func(path string, form url.Values) (list []harness.Answer) {
			list = make([]harness.Answer, 8)
			var clicks sync.WaitGroup
			for i := range list {
				clicks.Go(func() { list[i] = u.Ask(t, http.MethodPost, path, form) })
			}
			clicks.Wait()
			for _, a := range list {
				if a.Status != list[0].Status || a.Header.Get("Location") != list[0].Header.Get("Location") || a.Status >= 400 {
					t.Errorf("%s gets %d %s: %s", path, a.Status, a.Header.Get("Location"), a.Text())
				}
			}
			return list
		}
		all("/payments/"+id+"/refund", url.Values{"amount": {"5"}, "reason": {"duplicate"}, "key": {"k"}})
		if left := o.Get(t, "/payments/"+id).Text(t, "refundableAmountLocal"); left != "20.5" {
			t.Errorf("the clicks leave %s to refund", left)
		}
		before := harness.Available(t, o)
		all("/withdrawals", url.Values{"wallet": {wallet}, "amount": {"100"}, "key": {"k"}})
		if n := o.Get(t, "/withdrawals").Text(t, "pagination.total"); n != "1" {
			t.Errorf("the clicks make %s withdrawals (of %s)", n, before)
		}
		form := url.Values{"amount": {"12"}, "amount_currency": {"USD"}, "method": {"sbx_card"}, "outcome": {"paid"}, "email": {""}, "key": {"k"}}
		made := all("/payments/test", form)
		links := map[string]bool{}
		for _, a := range all("/payments/link", form) {
			links[between(a.Body, "<code>", "<")] = true
		}
		if len(links) != 1 {
			t.Errorf("the clicks make the links %v", links)
		}
		if there := other.Do(t, "/payments/test", "amount", "13", "amount_currency", "USD", "method", "sbx_card", "outcome", "paid", "key", "k"); there == made[0].Header.Get("Location") {
			t.Error("the key of another shop's form names its payment")
		}
	})
}

// Of clicks at the same time that roll a key one makes a new key, and the others are told that it was rolled. One that
// comes when the key is revoked is told that.
func TestRollsAtTheSameTimeMakeOneKey(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Developer)
		for round := range 6 {
			shown(t, u.Ask(t, http.MethodPost, "/keys", url.Values{"kind": {"restricted"}, "rights": {"read"}}))
			list, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
			harness.Must(t, err)
			before, id := len(list), list[len(list)-1].ID
			var clicks sync.WaitGroup
			answers := make([]harness.Answer, 5)
			for i := range answers {
				clicks.Go(func() { answers[i] = u.Ask(t, http.MethodPost, "/keys/"+id+"/roll", url.Values{"grace": {"24h"}}) })
			}
			if round%2 > 0 {
				u.Do(t, "/keys/"+id+"/revoke")
			}
			clicks.Wait()
			rolled := 0
			for _, a := range answers {
				switch a.Status {
				case http.StatusOK:
					rolled++
				case http.StatusConflict:
				default:
					t.Errorf("a click gets %d: %s", a.Status, a.Text())
				}
			}
			list, _, err = s.App.Keys.List(ctx, o.Merchant.ID)
			harness.Must(t, err)
			if made := len(list) - before; made != rolled || rolled > 1 || rolled == 0 && round%2 == 0 {
				t.Errorf("%d clicks were told of a new key, and there are %d", rolled, made)
			}
		}
	})
}
