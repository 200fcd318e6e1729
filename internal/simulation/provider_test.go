package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
)

// upstream is a provider with its own books. The owner of the turn may touch it.
type upstream struct {
	w       *world
	name    string // of the account
	charges map[string]*charge
	refunds map[string]*refund

	// Its faults in this world: each happens once in so many calls.
	slow, mute, broken, gone, declines, wrong int
	// One in so many paid charges is paid once more, or twice (again); one in so many new charges
	// is not found by queries for a while (lags).
	again, lags int
	// fickle refuses a call and does not record it: the same call may be accepted the next
	// time.
	fickle int
	// A silent provider sends no notifications. The others send theirs at most tardy late, and
	// repeat one in so many (twice).
	silent  bool
	tardy   time.Duration
	asks    time.Duration // how long it must not be queried about an open charge
	twice   int
	cancels bool
	// A stubborn provider always refuses the call that ends a charge.
	stubborn bool
	// Until down, a gateway answers all calls, and none arrives.
	down time.Time

	issuer   issuer
	disputes map[string]*dispute
	pager    *pager // for cards; nil if it charges them at once
}

// charge is a row of the provider's books.
type charge struct {
	ref, payment string
	asked, paid  money.Amount
	more         []money.Amount // what was paid after that
	status       string         // open, paid, declined, soft, canceled
	at           time.Time
	panel        []*panelRefund // what the provider gave back by itself
	hidden       time.Time      // until then queries do not find it
	lied         bool           // the provider has said something else about it than it is
	page         *page
}

// money is the provider's id of what was paid, counted from 0.
func (c *charge) money(n int) string { return fmt.Sprintf("%s/m%d", c.ref, n) }

// moneys is all that was paid, by its id.
func (c *charge) moneys() map[string]money.Amount {
	list := map[string]money.Amount{}
	if c.status == "paid" {
		list[c.money(0)] = c.paid
		for i, local := range c.more {
			list[c.money(i+1)] = local
		}
	}
	return list
}

type refund struct {
	ref, charge string
	money       string // the money that goes back
	amount      money.Amount
	status      string // open, done, failed
}

func (w *world) newUpstream(name string) *upstream {
	c := w.turns
	u := &upstream{w: w, name: name, charges: map[string]*charge{}, refunds: map[string]*refund{}, disputes: map[string]*dispute{}, tardy: time.Second, issuer: w.newIssuer()}
	for _, each := range []*int{&u.slow, &u.mute, &u.broken, &u.gone, &u.fickle} {
		if c.one(3) {
			*each = 3 + c.chance.IntN(20)
		}
	}
	u.declines = 3 + c.chance.IntN(20)
	if c.one(3) {
		u.wrong = 4 + c.chance.IntN(20)
	}
	u.silent = c.one(4)
	if c.one(3) && !u.silent { // nobody would ever hear of it otherwise
		u.again, u.lags = 4+c.chance.IntN(20), 3+c.chance.IntN(20)
	}
	if c.one(2) {
		u.tardy = c.between(time.Second, time.Hour)
	}
	if c.one(2) {
		u.twice = 3
	}
	u.cancels = c.one(2)
	u.stubborn = c.one(4)
	u.asks = c.between(time.Hour, 8*time.Hour)
	return u
}

// sound is a provider without faults.
func (w *world) sound(name string) *upstream {
	return &upstream{w: w, name: name, charges: map[string]*charge{}, refunds: map[string]*refund{}, disputes: map[string]*dispute{}, tardy: time.Second, asks: time.Hour}
}

func (u *upstream) heal() {
	u.slow, u.mute, u.broken, u.gone, u.fickle, u.silent, u.tardy, u.twice, u.down = 0, 0, 0, 0, 0, false, time.Second, 0, time.Time{}
	u.again, u.lags = 0, 0
	if u.pager != nil {
		u.pager.lies = 0
	}
}

// outcome is the state of a charge in the core's terms.
func (u *upstream) outcome(c *charge) pay.Outcome {
	o := pay.Outcome{ProviderRef: u.name + ":" + c.ref}
	switch c.status {
	case "open":
		o.Kind, o.Data = pay.Awaiting, pay.PaymentData{Reference: c.ref}
		o.FormURL = "https://" + u.name + ".example/" + c.ref
		if c.page == nil {
			o.CheckAt = time.Now().Add(u.asks)
		}
	case "paid":
		o.Kind, o.Local, o.MoneyRef = pay.Approved, c.paid, c.money(0)
		for i, local := range c.more {
			o.Also = append(o.Also, pay.Money{Ref: c.money(i + 1), ProviderRef: o.ProviderRef, Local: local})
		}
		o = u.reversed(c, o)
	case "declined", "soft":
		o.Kind, o.Soft, o.Decline = pay.Declined, c.status == "soft", "refused"
	case "refused":
		o = provider.Refusal(c.page.tries[len(c.page.tries)-1].Reason, o.ProviderRef)
	case "canceled":
		o.Kind = pay.Lapsed
	}
	if c.page != nil {
		o.Tries = slices.Clone(c.page.tries)
	}
	return o
}

func (r *refund) outcome() pay.Outcome {
	o := pay.Outcome{ProviderRef: "refund:" + r.ref}
	switch r.status {
	case "open":
		o.Kind = pay.Awaiting
	case "done":
		o.Kind, o.Local = pay.Approved, r.amount
	case "failed":
		o.Kind, o.Decline = pay.Declined, "refund_failed"
	}
	return o
}

// take handles a charge that arrives.
func (u *upstream) take(r provider.Request) pay.Outcome {
	if known, again := u.charges[r.Reference]; again {
		return u.outcome(known)
	}
	if u.w.turns.one(u.fickle) {
		u.w.count("calls refused and forgotten")
		return pay.Outcome{Kind: pay.Declined, Soft: true, Decline: "busy"}
	}
	id, _, _ := pay.ParseReference(r.Reference)
	made := &charge{ref: r.Reference, payment: id, asked: r.Local, status: "open", at: time.Now()}
	u.charges[r.Reference] = made
	c := u.w.turns
	if c.one(u.lags) {
		made.hidden = time.Now().Add(c.between(time.Second, 10*time.Minute))
	}
	switch {
	case c.one(u.declines):
		made.status = "declined"
		if c.one(2) {
			made.status = "soft"
		}
	case r.Sync && u.pager != nil:
		u.shows(made, r)
	case r.Sync:
		u.pay(made)
	}
	u.w.count("charges")
	u.w.arrived(u, made)
	return u.outcome(made)
}

// pay is the shopper's payment.
func (u *upstream) pay(made *charge) {
	made.status, made.paid = "paid", made.asked
	if u.w.turns.one(u.wrong) {
		if other := 1 + made.paid.Minor/10; u.w.turns.one(2) {
			made.paid.Minor -= other
		} else {
			made.paid.Minor += other
		}
		u.w.count("wrong amounts")
	}
	u.panels(made)
	u.tell(made.ref, made.ref+"/paid")
	for n := 1; n <= 2 && u.w.turns.one(u.again); n++ {
		wait := u.w.turns.about(time.Second, 3*time.Hour)
		u.w.aside.Go(func() {
			time.Sleep(wait)
			u.w.turns.turn("the shopper pays " + made.ref + " again")
			made.more = append(made.more, made.asked)
			u.w.count("second moneys")
			at := len(made.more)
			u.send(news{ID: made.ref + "/paid/" + fmt.Sprint(at), Ref: made.ref, Money: at})
		})
	}
}

// news is a notification's body.
type news struct {
	ID, Ref  string
	Money    int    // number of the money; 0: the charge's state
	Dispute  string // for a dispute: its id, and its state then
	Instance int
	Status   string
	Try      bool // it is about a page that was not paid then
	Lie      bool // it says that an open page has ended
}

// tell notifies of a charge or a refund, if the provider does that.
func (u *upstream) tell(ref, id string) {
	if !u.silent {
		u.send(news{ID: id, Ref: ref})
	}
}

// send sends a notification until a node accepts it.
func (u *upstream) send(what news) {
	body, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	id := what.ID
	c := u.w.turns
	copies := 1
	if c.one(u.twice) {
		copies = 2
	}
	for copy := range copies {
		wait := c.between(10*time.Millisecond, u.tardy)
		u.w.aside.Go(func() {
			for try := range 200 {
				time.Sleep(wait)
				c.turn(u.name + " notifies " + id)
				err, heard := u.w.ask(fmt.Sprint("notice ", id, " ", copy), 30*time.Second, func(ctx context.Context, n *node) error {
					return n.app.Notices.Notify(ctx, u.name, provider.Notification{Body: body})
				})
				if heard && (err == nil || !unclear(err)) {
					if err == nil {
						u.taken(what)
					}
					return
				}
				wait = min(time.Hour, time.Second<<min(try, 12))
			}
		})
	}
	u.w.count("notifications")
}

// taken checks that the content of a notification is in the books, once a node has accepted it.
func (u *upstream) taken(what news) {
	ctx := context.Background()
	made, isCharge := u.charges[what.Ref]
	given, isRefund := u.refunds[what.Ref]
	switch {
	case u.w.eye == nil, what.Dispute != "", what.Lie, what.Try: // the world is being prepared, or it says nothing of money
	case u.name == tried: // the payment may be gone
	case isCharge && made.status == "paid":
		p, err := u.w.eye.Payments().Any(ctx, made.payment)
		_, order, _ := pay.ParseReference(what.Ref)
		// If its refund has failed since, the books still have it as gone: that news is yet to come.
		attempt := p.Attempts[order-1]
		stopped := what.Money == 0 && len(made.panel) > 0 && (made.whole() || len(p.Strays) > 0 || attempt.Status == pay.Reversed || slices.Contains(attempt.Gone, made.money(0)))
		if err != nil || !keeps(p, order, made.money(what.Money)) && !stopped {
			u.w.find(newsIsKept, made.payment, "%s is paid at %s, a node accepted the notification, and the payment is %s with %+v, %v", what.Ref, u.name, p.Status, p.Attempts, err)
		}
	case isRefund && given.status == "done":
		id, _, _ := pay.ParseRefundReference(what.Ref)
		c, err := u.w.eye.Claims().Any(ctx, id)
		if err != nil || !c.Status.Terminal() {
			u.w.find(newsIsKept, c.Payment, "%s is done at %s, a node accepted the notification, and %s is %s, %v", what.Ref, u.name, id, c.Status, err)
		}
	}
}

// keeps reports whether a payment has an attempt's money, once, or cannot tell which money it has.
func keeps(p pay.Payment, order int, ref string) bool {
	a := p.Attempts[order-1]
	return a.Status == pay.Approved && (a.MoneyRef == ref || a.MoneyRef == "") ||
		slices.ContainsFunc(p.Strays, func(s pay.Stray) bool { return s.Order == order && (s.MoneyRef == ref || s.MoneyRef == "") })
}

// client is a provider's client within a node.
type client struct {
	n *node
	u *upstream
}

// canceler is the client of a provider that ends charges.
type canceler struct{ client }

func (w *world) adapter(n *node) provider.Adapter {
	return provider.Adapter{
		Name: "world", Rails: slices.Concat([]string{"card.BRA"}, smallRails, trialRails),
		Open: func(a provider.Account) (provider.Provider, error) {
			u := w.upstreams[a.ID]
			c := client{n, u}
			switch {
			case u == nil:
			case u.cancels && u.issuer.answers:
				return struct {
					client
					provider.Canceler
					provider.DisputeQuerier
				}{c, canceler{c}, asker{c}}, nil
			case u.cancels:
				return canceler{c}, nil
			case u.issuer.answers:
				return asker{c}, nil
			}
			return c, nil
		},
	}
}

// call is a request to the provider, where at does the work.
func (c client) call(ctx context.Context, what string, at func() pay.Outcome) pay.Outcome {
	key := c.n.name + " calls " + c.u.name + " " + what + " " + laneOf(ctx)
	if c.n.stand() != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: "dead"}
	}
	t := c.u.w.turns
	t.turn(key)
	if ctx.Err() != nil || !provider.MayLeave(ctx) || c.n.isDead() {
		return pay.Outcome{Kind: pay.Unavailable, Decline: "never_left"}
	}
	there, back := t.between(time.Millisecond, 300*time.Millisecond), t.between(time.Millisecond, 300*time.Millisecond)
	lost, mute, refused := t.one(c.u.gone), t.one(c.u.mute), t.one(c.u.broken)
	if t.one(c.u.slow) {
		there, back = t.between(0, 10*time.Second), t.between(0, 15*time.Second)
	}
	answer := make(chan pay.Outcome, 1)
	c.u.w.aside.Go(func() {
		time.Sleep(there)
		t.turn("arrives: " + key)
		o := pay.Outcome{Kind: pay.Unknown, Decline: "bad_gateway"}
		switch {
		case lost:
			c.u.w.count("calls lost")
		case refused || time.Now().Before(c.u.down):
			c.u.w.count("calls answered by a gateway")
			if !time.Now().Before(c.u.down) && t.one(2) {
				_ = at() // the request arrived nevertheless
			}
		default:
			o = at()
		}
		time.Sleep(back)
		if !lost && !mute {
			answer <- o
		}
	})
	o := pay.Outcome{Kind: pay.Unknown, Decline: "timeout"}
	select {
	case o = <-answer:
	case <-ctx.Done():
	case <-c.n.dead:
	}
	if c.n.stand() != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: "dead"}
	}
	t.turn("returns: " + key + " " + string(o.Kind))
	if c.u.w.faults.hears(c.n, key) != nil {
		return pay.Outcome{Kind: pay.Unknown, Decline: "dead"}
	}
	return o
}

// Charge implements provider.Provider, as do all that follow.
func (c client) Charge(ctx context.Context, r provider.Request) pay.Outcome {
	return c.call(ctx, "charge "+r.Reference, func() pay.Outcome { return c.u.take(r) })
}

func (c client) Query(ctx context.Context, r provider.Request) pay.Outcome {
	return c.n.heard(r, c.call(ctx, "query "+r.Reference, func() pay.Outcome {
		known, ok := c.u.charges[r.Reference]
		switch {
		case ok && time.Now().Before(known.hidden):
			known.lied = true
			c.u.w.count("charges denied")
		case ok:
			return c.u.outcome(known)
		}
		return pay.Outcome{Kind: pay.Missing}
	}))
}

func (c canceler) Cancel(ctx context.Context, r provider.Request) pay.Outcome {
	return c.n.heard(r, c.call(ctx, "cancel "+r.Reference, func() pay.Outcome {
		known, ok := c.u.charges[r.Reference]
		if !ok {
			return pay.Outcome{Kind: pay.Unknown}
		}
		if known.status == "open" && !c.u.stubborn {
			if c.u.lies(known) {
				return pay.Outcome{Kind: pay.Lapsed}
			}
			known.status = "canceled"
		}
		return c.u.outcome(known)
	}))
}

func (c client) Refund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	return c.call(ctx, "refund "+r.Reference, func() pay.Outcome { return c.u.give(r) })
}

func (c client) QueryRefund(ctx context.Context, r provider.RefundRequest) pay.Outcome {
	return c.call(ctx, "query refund "+r.Reference, func() pay.Outcome {
		if known, ok := c.u.refunds[r.Reference]; ok {
			return known.outcome()
		}
		return pay.Outcome{Kind: pay.Missing}
	})
}

// Notices reports the present state of charges and refunds, and the state of a dispute when
// the notification was sent.
func (c client) Notices(_ context.Context, n provider.Notification) ([]pay.Notice, error) {
	var told news
	if err := json.Unmarshal(n.Body, &told); err != nil {
		return nil, err
	}
	notice := pay.Notice{Reference: told.Ref}
	known, isCharge := c.u.charges[told.Ref]
	switch {
	case told.Dispute != "":
		notice = c.u.notice(c.u.disputes[told.Dispute], told.Instance, told.Status)
	case isCharge && told.Money > 0:
		notice.Outcome = pay.Outcome{Kind: pay.Approved, ProviderRef: c.u.name + ":" + known.ref, MoneyRef: known.money(told.Money), Local: known.more[told.Money-1]}
	case isCharge && told.Lie:
		notice.Outcome = pay.Outcome{Kind: pay.Lapsed}
	case isCharge:
		notice.Outcome = c.u.outcome(known)
	default:
		given := c.u.refunds[told.Ref]
		notice.Refund, notice.Outcome = given.ref, given.outcome()
	}
	notice.ID, notice.Account, notice.Body = told.ID, c.u.name, n.Body
	return []pay.Notice{notice}, nil
}
