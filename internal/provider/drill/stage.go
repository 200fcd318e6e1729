package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// stage is where the fakes play.
type stage struct {
	charges       Charges
	payouts       *Payouts
	fake          providertest.Fake
	payer         payouttest.Fake
	url, payerURL string
	tb            testing.TB

	acts sync.Mutex // one at a time: the fakes' clock is set for each

	mu    sync.Mutex // guards what follows
	wrong []string   // what the gate or a fake complained about
}

// reporter is the test that a gate fails. It only says so.
type reporter struct {
	testing.TB // for what a gate does not use
	name       string
	stage      *stage
}

func (reporter) Helper()        {}
func (r reporter) Name() string { return r.name }

func (r reporter) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, "REFUSED:", text)
	r.stage.mu.Lock()
	defer r.stage.mu.Unlock()
	r.stage.wrong = append(r.stage.wrong, text)
}

// act does something with the fakes at the present time.
func (s *stage) act(do func()) {
	s.acts.Lock()
	defer s.acts.Unlock()
	providertest.Noon = time.Now().UTC().Truncate(time.Second)
	if c, own := s.fake.(Clock); own {
		c.At(providertest.Noon)
	}
	do()
}

// upstream is a fake behind its gate.
func (s *stage) upstream(fake http.Handler) http.Handler {
	gated, _ := published.Before(s.tb, fake)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.act(func() { gated.ServeHTTP(w, r) })
	})
}

// Answered is what the service answered to a notification.
type Answered struct {
	Status int
	Answer string
	Sent   string // the notification's body
}

// About is what a fake says of itself.
type About struct {
	Adapter     string
	Credentials map[string]string
	Rails       map[string]Buying
	Without     map[Step]string
	Test        string
	Payouts     *Paying
}

// Buying is a sample of a charge.
type Buying struct {
	Name                      string // of the rail in the catalog
	Country, Currency, Amount string
	Buyer                     pay.Buyer
}

// Paying is a sample of a payout.
type Paying struct {
	Adapter, URL string
	Credentials  map[string]string
	Destination  string
	Network      string
	Currency     string
	Holder       pay.Beneficiary
	Without      map[Step]string
}

// control answers a request of the person who drills: POST /_drill/{what}?reference=…&to=…. What the provider sends about it is
// delivered to the address to, and the answer has what the service said.
func (s *stage) control(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if why := recover(); why != nil { // a fake does not know the reference, or its state does not allow it
			http.Error(w, fmt.Sprint(why), http.StatusBadRequest)
		}
	}()
	what, q := r.PathValue("what"), r.URL.Query()
	if what == "stranger" {
		if err := s.stranger(r.Context(), q.Get("reference")); err != nil {
			panic(err)
		}
		what = "tell"
	}
	var answer any
	var news []provider.Notification
	from := any(s.fake)
	s.act(func() {
		if answer = s.shows(what); answer != nil {
			return
		}
		var done bool
		if news, done = s.charge(what, q); !done {
			from, news = s.payout(what, q.Get("reference"))
		}
	})
	if answer == nil {
		answer = s.deliver(r.Context(), from, q.Get("to"), news)
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// shows is what a request only looks at, nil if it does something.
func (s *stage) shows(what string) any {
	switch what {
	case "about":
		return s.about()
	case "books":
		return s.fake.Books()
	case "payouts":
		return s.payer.Books()
	case "complaints":
		return s.complaints()
	}
	return nil
}

// charge does something with a charge, and returns what the provider sends; false if the request is about something else.
func (s *stage) charge(what string, q url.Values) (news []provider.Notification, done bool) {
	reference, ending := q.Get("reference"), providertest.Ending(q.Get("ending"))
	switch what {
	case "move":
		s.fake.Move(reference, ending)
	case "tell":
		news = append(news, s.fake.Notification(reference))
	case "try": // a card on the page, refused with a code of the provider's
		n, open := s.fake.(providertest.CardFake).Try(reference, q.Get("code"))
		if !open {
			panic("the page of " + reference + " takes no card")
		}
		news = append(news, n)
	case "refunded": // the newest refund has ended
		n := len(s.entry(reference).Refunds) - 1
		s.fake.MoveRefund(reference, n, ending)
		news = append(news, s.fake.RefundNotification(reference, n))
	case "panel":
		local, err := money.Parse(q.Get("amount"), s.entry(reference).Local.Currency)
		if err != nil {
			panic(err)
		}
		news = s.fake.(Paneler).PanelRefund(reference, local)
	case "rule":
		news = s.fake.(Issuer).End(reference, q.Get("won") == "true")
	default:
		return nil, false
	}
	return news, true
}

// payout does something with a payout, and returns what the provider sends, and the fake whose table has it.
func (s *stage) payout(what, reference string) (from any, news []provider.Notification) {
	switch what {
	case "pay":
		s.payer.Complete(reference)
	case "paidout":
		news = append(news, s.payer.Notify(reference))
	case "return":
		s.payer.Return(reference, payouttest.InvalidAccount)
		news = append(news, s.payer.Notify(reference))
	case "strangers":
		others := s.payer.Other()
		for _, name := range slices.Sorted(maps.Keys(others)) {
			news = append(news, others[name])
		}
		return nil, news // they are about other things than the table
	default:
		panic("there is no " + what)
	}
	return s.payer, news
}

func (s *stage) entry(reference string) providertest.Entry {
	for _, e := range s.fake.Books() {
		if e.Reference == reference {
			return e
		}
	}
	panic("the fake has no charge " + reference)
}

func (s *stage) about() About {
	a := About{Adapter: s.charges.Adapter.Name, Credentials: s.charges.Credentials, Rails: map[string]Buying{}, Without: s.charges.Without, Test: s.charges.Test}
	for _, rail := range s.charges.Rails {
		r := s.charges.Sample(rail)
		a.Rails[rail] = Buying{Name: nameOf(rail), Country: rail[len(rail)-3:], Currency: string(r.Local.Currency), Amount: r.Local.Decimal(), Buyer: r.Buyer}
	}
	if p := s.payouts; p != nil {
		a.Payouts = &Paying{
			Adapter: p.Adapter.Name, URL: s.payerURL, Credentials: p.Credentials, Destination: p.Sample.Destination, Network: p.Sample.Network,
			Currency: p.Sample.Currency, Holder: p.Sample.Beneficiary, Without: p.Without,
		}
	}
	return a
}

// nameOf is the name of a rail in the catalog.
func nameOf(rail string) string {
	rails := catalog.Rails()
	return rails[slices.IndexFunc(rails, func(r accounts.Rail) bool { return r.Key == rail })].Name
}

func (s *stage) complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append([]string{}, s.wrong...)
	if s.payer != nil {
		list = append(list, s.payer.Complaints()...)
	}
	return list
}

// stranger is a payment that another installation of the service made and got at the same account.
func (s *stage) stranger(ctx context.Context, reference string) error {
	p, err := s.charges.Adapter.Open(provider.Account{
		ID: "other", Live: s.charges.Test == "", BaseURL: s.url, Credentials: s.charges.Credentials, NotificationURL: "https://other.cascada.test/notifications",
		Client: provider.NewClient(), Now: time.Now,
	})
	if err != nil {
		return err
	}
	rail := s.charges.Rails[0]
	r := providertest.Under(s.charges.Sample(rail), rail, reference)
	now := time.Now().UTC()
	r.Created, r.Sent, r.Now, r.Expires = now, now, now, now.Add(time.Hour)
	if o := p.Charge(ctx, r); o.Kind != pay.Awaiting {
		return fmt.Errorf("the stranger's charge is %s: %s %s", o.Kind, o.Decline, o.Message)
	}
	s.act(func() { s.fake.Move(reference, providertest.Paid) })
	return nil
}

// deliver sends notifications as the provider does. One that the provider's document does not allow is a complaint.
func (s *stage) deliver(ctx context.Context, from any, to string, news []provider.Notification) []Answered {
	told := []Answered{}
	for _, n := range news {
		if n.Body == nil && len(n.Query) == 0 {
			continue // the provider sends none
		}
		published.Sent(s.tb, from, n.Header, n.Query, n.Body)
		address := to
		if len(n.Query) > 0 {
			address += "?" + n.Query.Encode()
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(n.Body))
		if err != nil {
			panic(err)
		}
		request.Header = n.Header.Clone()
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			told = append(told, Answered{Answer: err.Error(), Sent: string(n.Body)})
			continue
		}
		answer, _ := io.ReadAll(reply.Body) // for people
		_ = reply.Body.Close()
		told = append(told, Answered{Status: reply.StatusCode, Answer: string(answer), Sent: string(n.Body)})
	}
	return told
}
