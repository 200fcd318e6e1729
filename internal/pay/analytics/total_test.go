package analytics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

var created = time.Date(2026, 3, 4, 23, 30, 0, 0, time.UTC)

// ended is a payment of 30.00 USD that two accounts were tried for.
func ended(status pay.Status) *pay.Payment {
	p := &pay.Payment{
		Scope: merchants.Scope{Merchant: "mer_a", Shop: "shp_a", Live: true}, Status: status, Stored: pay.Pending,
		Price: pay.Price{Amount: money.New(3000, money.USD)}, Way: pay.Way{RailID: "MX_OXXO", Method: "oxxo", Country: "MEX"},
		Terms:    pay.PaymentTerms{Fees: merchants.Fees{Platform: 60, Flat: 30}},
		Attempts: pay.Attempts{{Order: 1, Provider: "acc_1", Status: pay.Unavailable}, {Order: 2, Provider: "acc_2", Status: pay.Awaiting}},
		Times:    pay.Times{Created: created},
	}
	switch status {
	case pay.Completed:
		p.Attempts[1].Status, p.End.Captured = pay.Approved, 2
		p.Times.Completed, p.Page.Opened = created.Add(2*time.Hour), created.Add(-time.Hour)
	case pay.Failed:
		p.Attempts[1].Status, p.End.Failure = pay.Declined, &pay.Failure{Code: "card_declined", Decline: "do_not_honor"}
		p.Attempts[1].Decline = "do_not_honor"
	case pay.Expired:
		p.End.Failure = &pay.Failure{Code: "expired"}
	}
	return p
}

// A payment has a fact when it ends, and at no other time.
func TestPaymentHasOneFact(t *testing.T) {
	open := []pay.Status{"", pay.Processing, pay.Pending}
	for _, stored := range append(open, pay.Completed, pay.Failed, pay.Expired, pay.Refunded, pay.Chargeback) {
		for _, status := range pay.Statuses() {
			p := ended(status)
			p.Stored = stored
			_, got := OfPayment(p)
			want := !status.Open() && (stored == "" || stored.Open())
			if got != want {
				t.Errorf("from %q to %s: a fact is %v, want %v", stored, status, got, want)
			}
		}
	}
}

// A fact is counted once along each dimension, for its shop and for all of them.
func TestFactIsCountedAlongEachDimension(t *testing.T) {
	for _, test := range []struct {
		status pay.Status
		want   map[Key]Total // shop, environment and day left out
	}{
		{pay.Completed, map[Key]Total{
			{Dimension: ByAll, Outcome: Paid}:                               {1, 3000, 90},
			{Dimension: ByMethod, Value: "oxxo", Outcome: Paid}:             {1, 3000, 90},
			{Dimension: ByCountry, Value: "MEX", Outcome: Paid}:             {1, 3000, 90},
			{Dimension: ByRail, Value: "MX_OXXO", Outcome: Paid}:            {1, 3000, 90},
			{Dimension: ByBand, Value: "25", Outcome: Paid}:                 {1, 3000, 90},
			{Dimension: ByHour, Value: "23", Outcome: Paid}:                 {1, 3000, 90},
			{Dimension: ByTries, Value: "2", Outcome: Paid}:                 {1, 3000, 90},
			{Dimension: ByWait, Value: "oxxo/6h", Outcome: Paid}:            {1, 3000, 90},
			{Dimension: ByAccount, Value: "acc_1", Outcome: Declined}:       {1, 3000, 0},
			{Dimension: ByAccount, Value: "acc_2", Outcome: Paid}:           {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_1/MX_OXXO", Outcome: Declined}: {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_2/MX_OXXO", Outcome: Paid}:     {1, 3000, 0},
			{Dimension: ByStep, Value: "paid"}:                              {1, 3000, 0},
		}},
		{pay.Failed, map[Key]Total{
			{Dimension: ByAll, Outcome: Declined}:                                         {1, 3000, 0},
			{Dimension: ByMethod, Value: "oxxo", Outcome: Declined}:                       {1, 3000, 0},
			{Dimension: ByCountry, Value: "MEX", Outcome: Declined}:                       {1, 3000, 0},
			{Dimension: ByRail, Value: "MX_OXXO", Outcome: Declined}:                      {1, 3000, 0},
			{Dimension: ByBand, Value: "25", Outcome: Declined}:                           {1, 3000, 0},
			{Dimension: ByHour, Value: "23", Outcome: Declined}:                           {1, 3000, 0},
			{Dimension: ByTries, Value: "2", Outcome: Declined}:                           {1, 3000, 0},
			{Dimension: ByAnswer, Value: "do_not_honor", Outcome: Declined}:               {1, 3000, 0},
			{Dimension: ByAccount, Value: "acc_1", Outcome: Declined}:                     {1, 3000, 0},
			{Dimension: ByAccount, Value: "acc_2", Outcome: Declined}:                     {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_1/MX_OXXO", Outcome: Declined}:               {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_2/MX_OXXO", Outcome: Declined}:               {1, 3000, 0},
			{Dimension: ByRefusal, Value: "do_not_honor", Outcome: Declined}:              {1, 3000, 0},
			{Dimension: ByAccountRefusal, Value: "acc_2/do_not_honor", Outcome: Declined}: {1, 3000, 0},
		}},
		{pay.Expired, map[Key]Total{
			{Dimension: ByAll, Outcome: Expired}:                            {1, 3000, 0},
			{Dimension: ByMethod, Value: "oxxo", Outcome: Expired}:          {1, 3000, 0},
			{Dimension: ByCountry, Value: "MEX", Outcome: Expired}:          {1, 3000, 0},
			{Dimension: ByRail, Value: "MX_OXXO", Outcome: Expired}:         {1, 3000, 0},
			{Dimension: ByBand, Value: "25", Outcome: Expired}:              {1, 3000, 0},
			{Dimension: ByHour, Value: "23", Outcome: Expired}:              {1, 3000, 0},
			{Dimension: ByTries, Value: "2", Outcome: Expired}:              {1, 3000, 0},
			{Dimension: ByAnswer, Value: "expired", Outcome: Expired}:       {1, 3000, 0},
			{Dimension: ByAccount, Value: "acc_1", Outcome: Declined}:       {1, 3000, 0},
			{Dimension: ByAccount, Value: "acc_2", Outcome: Expired}:        {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_1/MX_OXXO", Outcome: Declined}: {1, 3000, 0},
			{Dimension: ByRoute, Value: "acc_2/MX_OXXO", Outcome: Expired}:  {1, 3000, 0},
		}},
	} {
		f, _ := OfPayment(ended(test.status))
		got := Totals{}
		got.Add(f.Class, Total{1, f.Amount, f.Fees})
		for _, shop := range []string{"shp_a", Everyone} {
			for k, want := range test.want {
				k.Shop, k.Live, k.Day = shop, true, created.Unix()/86400
				if got[k] != want {
					t.Errorf("%s: %+v is %+v, want %+v", test.status, k, got[k], want)
				}
				delete(got, k)
			}
		}
		for k, v := range got {
			t.Errorf("%s: nobody asked for %+v: %+v", test.status, k, v)
		}
	}
}

// A paid card is counted by its installments (PAY-45).
func TestPaidCardIsCountedByItsInstallments(t *testing.T) {
	for count, want := range map[int]string{0: "1", 12: "12"} {
		p := ended(pay.Completed)
		p.Way.Sync, p.End.Plan.Count = true, count
		f, _ := OfPayment(p)
		got := Totals{}
		got.Add(f.Class, Total{1, f.Amount, f.Fees})
		if n := got[Key{Shop: "shp_a", Live: true, Dimension: ByInstallments, Day: created.Unix() / 86400, Value: want, Outcome: Paid}].N; n != 1 {
			t.Errorf("%d installments: %+v", count, got)
		}
	}
}

// A card's page that was refused is declined for the reason of the last refusal, also if the shop canceled it afterwards. One on which
// nobody tried is neither declined nor expired. Each try is counted where it was made.
func TestFactOfACardsPage(t *testing.T) {
	funds, left := decline.Try{ID: "1", Reason: decline.InsufficientFunds}, decline.Try{ID: "2", Reason: decline.Abandoned}
	page := func(tries ...decline.Try) pay.Attempt {
		return pay.Attempt{Provider: "acc", Status: pay.Awaiting, Tries: tries}
	}
	reason := func(t decline.Try) *pay.Failure { f := pay.Way{Sync: true}.Refused(t); return &f }
	for name, c := range map[string]struct {
		attempts []pay.Attempt
		failure  *pay.Failure
		want     string
	}{
		"refused":               {[]pay.Attempt{page(funds)}, reason(funds), "declined insufficient_funds [{acc declined}] [{acc insufficient_funds}]"},
		"nobody tried":          {[]pay.Attempt{page()}, &pay.Failure{Code: "abandoned"}, "abandoned abandoned [{acc abandoned}] []"},
		"left in the challenge": {[]pay.Attempt{page(left)}, reason(left), "abandoned abandoned [{acc abandoned}] [{acc abandoned}]"},
		"refused, then left":    {[]pay.Attempt{page(funds, left)}, reason(left), "declined insufficient_funds [{acc declined}] [{acc insufficient_funds} {acc abandoned}]"},
		"refused, then canceled": {[]pay.Attempt{page(funds)}, &pay.Failure{Code: "canceled"},
			"declined insufficient_funds [{acc declined}] [{acc insufficient_funds}]"},
		"canceled": {[]pay.Attempt{page()}, &pay.Failure{Code: "canceled"}, "abandoned canceled [{acc abandoned}] []"},
		"retried, and left": {[]pay.Attempt{page(funds), page()}, reason(funds),
			"declined insufficient_funds [{acc declined} {acc abandoned}] [{acc insufficient_funds}]"},
		"paid after a refusal": {[]pay.Attempt{page(funds)}, nil, "paid  [{acc paid}] [{acc insufficient_funds}]"},
		"no page could be made": {[]pay.Attempt{{Provider: "acc", Status: pay.Unavailable}}, &pay.Failure{Code: "cascade_exhausted"},
			"declined cascade_exhausted [{acc declined}] []"},
	} {
		p := pay.Payment{Status: pay.Failed, Way: pay.Way{Sync: true, Method: "card"}, Attempts: c.attempts, End: pay.PaymentEnd{Failure: c.failure},
			Times: pay.Times{Created: created, Expires: created.Add(time.Hour), Completed: created.Add(4 * time.Minute)}}
		for i := range p.Attempts {
			p.Attempts[i].Order = i + 1
		}
		if c.failure == nil {
			p.Status, p.End.Captured = pay.Completed, 1
		}
		f, _ := OfPayment(&p)
		if got := fmt.Sprintln(f.Outcome, f.Answer, f.Tries, f.Refusals); got != c.want+"\n" {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if c.failure == nil && f.Wait != "5m" {
			t.Errorf("a page that was paid after four minutes waited %q", f.Wait)
		}
	}
}

// Amounts and times at a border belong where the reader expects them.
func TestBordersOfBandsAndWaits(t *testing.T) {
	for cents, want := range map[int64]string{1: "0", 999: "0", 1000: "10", 2499: "10", 2500: "25", 9_999: "50", 249_999: "1000", 250_000: "2500", 99_999_999: "2500"} {
		if got := band(cents); got != want {
			t.Errorf("%d cents are in band %s, want %s", cents, got, want)
		}
	}
	for d, want := range map[time.Duration]string{1: "1m", time.Minute: "1m", time.Minute + 1: "5m", 24 * time.Hour: "1d", 72 * time.Hour: "3d", 72*time.Hour + 1: "more"} {
		if got := waitClass(d); got != want {
			t.Errorf("%s is in class %s, want %s", d, got, want)
		}
	}
}

// A checkout is counted once at each step; one in which a shopper tries again was counted before.
func TestCheckoutIsCountedAtEachStep(t *testing.T) {
	rate, err := money.ParseRate("1")
	if err != nil {
		t.Fatal(err)
	}
	s, change, err := pay.Session{Asked: money.New(3000, money.USD), Rate: rate}.Open(created)
	if err != nil {
		t.Fatal(err)
	}
	steps := func(change pay.Change) (steps []Step) {
		for i := range change.Sessions {
			for _, f := range OfSession(&change.Sessions[i]) {
				steps = append(steps, f.Step)
			}
		}
		return steps
	}
	want := func(change pay.Change, want ...Step) {
		t.Helper()
		if got := steps(change); !slices.Equal(got, want) {
			t.Errorf("the change reaches %v, want %v", got, want)
		}
	}
	want(change, Opened)
	_, change = s.Lock(pay.Payment{ID: "TXN-1"}, pay.Change{}, created)
	want(change, Visited, Chosen) // by a shop that shows the methods on its own page
	s, change, _ = s.Visit("192.0.2.1", created)
	want(change, Visited)
	s, change, _ = s.Visit("192.0.2.2", created)
	want(change)
	_, change = s.Lock(pay.Payment{ID: "TXN-1"}, pay.Change{}, created)
	want(change, Chosen)
	want(s.Expire(created))
	again := pay.Session{After: "TXN-1", Asked: money.New(3000, money.USD), Rate: rate}
	_, change, _ = again.Open(created)
	want(change)
}

// All steps of a checkout count on the day on which it was opened, however late it is paid.
func TestCheckoutIsOfTheDayThatOpenedIt(t *testing.T) {
	p := ended(pay.Completed)
	p.Page.Opened = created.Add(-24 * time.Hour)
	of, _ := OfPayment(p)
	step, ok := BoughtEarlier(p)
	got, before := Totals{}, Key{Shop: "shp_a", Live: true, Dimension: ByStep, Day: created.Unix()/86400 - 1, Value: "paid"}
	for _, f := range []Fact{of, step} {
		got.Add(f.Class, Total{1, f.Amount, f.Fees})
	}
	if !ok || got[before] != (Total{1, 3000, 0}) {
		t.Errorf("the day before has %v, want one checkout paid", got[before])
	}
	for k := range got {
		if k.Dimension == ByStep && k.Day != before.Day {
			t.Errorf("the checkout counts on another day too: %v", k)
		}
	}
	p.Status = pay.Failed
	if f, ok := BoughtEarlier(p); ok {
		t.Errorf("a payment that failed has %v", f)
	}
}

// A class is read as it was written, whatever stands in it.
func TestClassIsReadAsWritten(t *testing.T) {
	odd := []string{"", "-", "do_not_honor", "two words", "a,b:c", `"\` + "\n\r\t", "100%", "+", "ção é", "\x00"}
	for _, a := range odd {
		for _, b := range odd {
			want := Class{Shop: a, Live: a == b, Hour: 495630, Outcome: Declined, Method: b, Country: a, Rail: b, Band: a, Wait: b, Answer: a, Tries: []Try{{a, Declined}, {b, Expired}}, Refusals: []Refusal{{b, a}, {a, b}}, Count: len(a)}
			if a == b {
				want.Tries = nil
			}
			text := string(want.AppendText(nil))
			if strings.ContainsAny(text, "\"\\\n\t") {
				t.Errorf("a statement cannot read %q", text)
			}
			got, err := ParseClass(text)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q is read as %+v (%v), want %+v", text, got, err, want)
			}
		}
	}
	for _, bad := range []string{"", "paid 1 x shp_a - - - - - - -", "paid 1 5 shp_a - - - - - -", "paid 1 5 %zz - - - - - - -"} {
		if c, err := ParseClass(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, c)
		}
	}
}
