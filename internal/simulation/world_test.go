package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// world is one run, from its seed to its findings.
type world struct {
	seed   uint64
	cards  int // in a world of cards on pages: how many shoppers
	turns  *conductor
	shared *store.Shared
	eye    *store.Store // sees every change, and reads for the checks
	faults *faults
	span   time.Duration // in which shops and shoppers are busy
	longer time.Duration // in which faults continue
	quiet  time.Duration // in which there are no faults, before the end begins
	healed atomic.Bool   // from then on there are no faults

	// The owner of the turn may touch what follows.
	nodes    []*node
	started  int   // nodes so far
	office   *node // the operator's own process; nil if the operator acts only after all has healed
	balanced struct {
		at time.Time
		to *node
	}
	upstreams   map[string]*upstream
	banks       map[string]*bank
	counter     *counter // of the bank that gets files
	shops       []*merchant
	inboxes     map[string]*inbox
	rails       []string
	small       []smallRail
	sandboxes   []*trials
	asked       []*request
	withdrawals int
	counts      map[string]int
	ended       sync.Mutex            // guards stats
	stats       map[string]int        // of nodes that have ended
	statuses    map[string]pay.Status // of payments, as they were last written
	versions    map[string]int64
	sessions    map[string]merchants.Scope // checkouts that were written, with their shop
	passed      map[string]bool            // charges that count as missing
	over        bool                       // no node starts any more
	gates       gates
	walletAt    map[string]string    // second wallets, by their destination
	automatic   map[string]int64     // merchants with automatic payouts, with their minimum
	payoffs     map[string]bool      // withdrawals that settlements made by themselves, or that a merchant's leaving did
	madeAt      map[string]time.Time // of payments and checkouts of this world: when they were first written
	closings    map[string][]closing // of merchants
	ruled       bool                 // routing rules with conditions are at work
	agreed      []agreed             // versions of the merchants' price plans, if they have any

	logged   []string
	aside    sync.WaitGroup // work in the background: calls in progress, shoppers, notifications
	findings []finding
}

// finding is an invariant that does not hold.
type finding struct {
	rule  string
	about string // a payment or a withdrawal, for its story; may be ""
	text  string
}

func (f finding) String() string { return f.rule + ": " + f.text }

func (w *world) find(rule, about, format string, args ...any) {
	w.findings = append(w.findings, finding{rule, about, fmt.Sprintf(format, args...)})
}

func (w *world) count(what string) { w.counts[what]++ }

func (w *world) healing() bool { return w.healed.Load() }

// anyone returns a node that accepts requests, chosen as a balancer would.
func (w *world) anyone() *node {
	var up []*node
	for _, n := range w.nodes {
		if !n.isDead() {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.turns.chance.IntN(len(up))]
}

// logs keeps the errors that nodes log.
type logs struct {
	slog.Handler
	w    *world
	name string
}

func (w *world) log(name string) slog.Handler { return logs{slog.DiscardHandler, w, name} }

func (l logs) Enabled(_ context.Context, level slog.Level) bool {
	return l.w.turns.tape != nil && level >= slog.LevelWarn
}

func (l logs) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s %s: %s", time.Now().UTC().Format("01-02 15:04:05.000000"), l.name, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	l.w.turns.mu.Lock()
	defer l.w.turns.mu.Unlock()
	l.w.logged = append(l.w.logged, line.String())
	return nil
}

// newWorld makes a world from the prepared one.
func newWorld(seed uint64, from *prepared) (*world, error) {
	w := &world{
		seed: seed, turns: newConductor(seed), upstreams: map[string]*upstream{}, inboxes: map[string]*inbox{},
		counts: map[string]int{}, stats: map[string]int{}, gates: gates{gone: map[string]time.Time{}}, walletAt: map[string]string{},
		payoffs: map[string]bool{}, madeAt: map[string]time.Time{}, closings: map[string][]closing{},
	}
	c := w.turns
	w.span = c.between(10*time.Minute, 2*time.Hour)
	if c.one(3) { // longer than the time that shoppers have
		w.longer = c.between(23*time.Hour, 30*time.Hour)
	}
	if c.one(10) { // longer than the time that reserves are held
		w.quiet = 92 * 24 * time.Hour
	}
	w.faults = &faults{w: w}
	for _, name := range accountIDs {
		w.upstreams[name] = w.newUpstream(name)
	}
	w.upstreams[tried] = w.sound(tried)
	w.banks = map[string]*bank{}
	for _, name := range payers {
		w.banks[name] = w.newBank(name)
	}
	from.furnish(w)
	time.Sleep(time.Until(from.at))
	var err error
	if w.shared, err = store.OpenShared(context.Background(), from.content, time.Now); err != nil {
		return nil, err
	}
	return w, w.look(from.sealKey)
}

// accounts are the provider accounts, in the order in which payments go to them.
var accountIDs = []string{"first", "second", "third"}

// live runs the world: things happen and fail, then all heals, and days pass.
func (w *world) live() error {
	go w.turns.run()
	defer w.turns.stop()
	c := w.turns
	c.turn("begins")
	if w.cards > 0 {
		w.opensPages()
	}
	count := 1 + c.chance.IntN(3)
	for range count {
		if err := w.add(); err != nil {
			return err
		}
	}
	if w.cards > 0 {
		if err := w.routesCards(); err != nil {
			return err
		}
	}
	if err := w.terms(); err != nil {
		return err
	}
	w.faults = w.choose()
	for _, name := range slices.Sorted(maps.Keys(w.inboxes)) {
		box := w.inboxes[name]
		if c.one(2) {
			box.faulty, box.slow = 2+c.chance.IntN(20), 2+c.chance.IntN(20)
		}
	}
	if w.cards > 0 {
		if err := w.sellByCard(); err != nil {
			return err
		}
	} else if err := w.sell(); err != nil {
		return err
	}
	for kind := range 5 {
		if c.one(2) {
			w.aside.Go(func() { w.trouble(kind, rand.New(rand.NewPCG(w.seed, uint64(1000+kind)))) })
		}
	}
	time.Sleep(w.span + w.longer)
	if err := w.heal(); err != nil {
		return err
	}
	if w.rest(w.quiet) && w.rest(3*day) {
		w.rule(pay.Approve, pay.Reject)
		w.rest(2 * day)
		w.rule(pay.Reject) // what no provider refunds stays with the merchant
		w.easy()
		w.rest(6 * day)
		w.takeBack()
		w.rest(time.Hour)
		w.check()
	}
	c.turn("ends")
	w.over = true
	for _, n := range w.nodes {
		if !n.isDead() {
			n.crash()
		}
	}
	if w.office != nil {
		w.office.crash()
	}
	w.aside.Wait()
	maps.Copy(w.counts, w.stats)
	return nil
}

// terms sets what the operator decides before anything happens: in some worlds routing rules, in others a price plan.
func (w *world) terms() error {
	switch {
	case w.cards > 0:
	case w.seed%4 == 1:
		return w.rules()
	case w.seed%4 == 2:
		return w.prices()
	}
	return nil
}

// sell lets shops sell, and everybody act who is around them.
func (w *world) sell() error {
	c := w.turns
	clients := 2 + c.chance.IntN(4)
	for i := range clients {
		shop := w.shops[c.chance.IntN(len(w.shops))]
		w.aside.Go(func() { w.shopping(i, shop) })
	}
	w.aside.Go(func() { w.files(rand.New(rand.NewPCG(w.seed, 91))) })
	w.aside.Go(func() { w.neighbors(rand.New(rand.NewPCG(w.seed, 92))) })
	if w.quiet > 0 {
		w.aside.Go(func() { w.afterwards(rand.New(rand.NewPCG(w.seed, 99))) })
		w.aside.Go(func() { w.atRelease(rand.New(rand.NewPCG(w.seed, 98))) })
	}
	if c.one(2) {
		if err := w.staff(rand.New(rand.NewPCG(w.seed, 97))); err != nil {
			return err
		}
		w.desk()
	}
	if c.one(5) {
		w.develop(w.shops[w.seed%uint64(len(w.shops))], rand.New(rand.NewPCG(w.seed, 90)))
	}
	if c.one(2) {
		w.aside.Go(w.settles)
	}
	if w.seed%4 == 3 {
		w.aside.Go(func() { w.leavers(rand.New(rand.NewPCG(w.seed, 88))) })
	}
	return nil
}

const (
	day = 24 * time.Hour
	// busy is more work than a service does in a day without requests.
	busy = 80_000
)

// rest lets time pass without faults. It returns false, and reports why, if the service
// does not become idle: such a world would take very long to end.
func (w *world) rest(d time.Duration) bool {
	for ; d > 0; d -= day {
		before := w.turns.turns.Load()
		time.Sleep(min(d, day))
		w.turns.turn("another day")
		if w.turns.turns.Load()-before > busy {
			about := ""
			for _, id := range slices.Sorted(maps.Keys(w.statuses)) {
				if w.statuses[id] == pay.Processing {
					about = id
				}
			}
			w.find(comesToRest, about, "%d turns in a day in which nothing happens", w.turns.turns.Load()-before)
			w.tell(context.Background(), w.eye)
			return false
		}
	}
	return true
}

// add starts another node. The caller has the turn.
func (w *world) add() error {
	w.started++
	skew := time.Duration(0)
	if w.turns.one(2) {
		skew = w.turns.between(-3*time.Minute, 3*time.Minute)
	}
	n, err := w.start(fmt.Sprintf("n%d", w.started), skew)
	if err == nil {
		w.nodes = append(w.nodes, n)
	}
	return err
}

// trouble is what sometimes happens to processes and machines.
func (w *world) trouble(kind int, chance *rand.Rand) {
	for {
		time.Sleep(time.Duration(chance.Int64N(int64(w.span+w.longer) / 3)))
		w.turns.turn(fmt.Sprint("trouble ", kind))
		if w.healing() {
			return
		}
		c := w.turns
		n := w.nodes[c.chance.IntN(len(w.nodes))]
		switch {
		case kind == 0 && !n.isDead():
			w.count("nodes paused")
			n.pause(c.between(100*time.Millisecond, 3*time.Minute))
		case kind == 1 && !n.isDead():
			w.count("nodes killed")
			n.crash()
			w.revive()
		case kind == 2:
			w.count("outages of the database")
			w.faults.away = time.Now().Add(c.between(time.Second, 2*time.Minute))
		case kind == 4:
			w.count("outages of providers")
			w.upstreams[accountIDs[c.chance.IntN(len(accountIDs))]].down = time.Now().Add(c.between(10*time.Minute, 5*time.Hour))
		case kind == 3:
			u := w.upstreams[accountIDs[c.chance.IntN(len(accountIDs))]]
			var paid []string
			for ref, made := range u.charges {
				if made.status == "paid" && !strings.HasPrefix(made.ref, "old") {
					paid = append(paid, ref)
				}
			}
			slices.Sort(paid)
			for range min(len(paid), 1+c.chance.IntN(4)) {
				u.dispute(u.charges[paid[c.chance.IntN(len(paid))]])
			}
		}
	}
}

// heal ends all faults.
func (w *world) heal() error {
	w.turns.turn("heals")
	w.healed.Store(true)
	w.faults.heal()
	for _, name := range accountIDs {
		w.upstreams[name].heal()
	}
	for _, name := range payers {
		w.banks[name].heal()
	}
	for _, box := range w.inboxes {
		box.heal()
	}
	alive := 0
	for _, n := range w.nodes {
		n.pause(0)
		if !n.isDead() {
			alive++
		}
	}
	if alive == 0 {
		if err := w.add(); err != nil {
			return err
		}
	}
	w.enough()
	return nil
}

// enough tops up the payout accounts. The second account's float begins while payouts are
// in progress.
func (w *world) enough() {
	for _, f := range []struct {
		account  string
		currency money.Currency
	}{{payers[0], money.USD}, {payers[1], money.BRL}, {payers[1], money.USD}} {
		err := errDead
		for range 100 { // earlier requests to the database are still in progress
			at := slices.IndexFunc(w.nodes, func(n *node) bool { return !n.isDead() })
			err = w.nodes[at].app.Floats.Enter(lane(context.Background(), "enough"), operator, f.account, money.New(1_000_000_00, f.currency), "enough", "", false)
			if shown, ok := errors.AsType[*problem.Error](err); err == nil || ok && shown.Code == problem.ConflictState {
				err = nil
				break
			}
			time.Sleep(10 * time.Second)
			w.turns.turn("tops up again")
		}
		if err != nil {
			w.find(operatorWorks, "", "%v", err)
		}
	}
}

// parts lets the operator give an inquiry's money back by hand, or keep a part of it, now and then.
func (w *world) parts(r claims.Resolution, c pay.Claim) claims.Resolution {
	p, err := w.eye.Payments().Any(context.Background(), c.Payment)
	switch {
	case err != nil:
	case w.turns.luck("completes "+c.ID, 2) && p.Status.Open() && c.Local.Minor > p.Price.Local.Minor:
		r.Keep, r.Complete = p.Price.Local.Decimal(), true
		w.count("payments completed by a part")
	case w.turns.luck("keeps a part of "+c.ID, 4) && c.Local.Minor > 1:
		r.Keep = money.New(1+c.Local.Minor/3, c.Local.Currency).Decimal()
		w.count("parts kept")
	}
	if w.turns.luck("sends by hand "+c.ID, 3) {
		r.ByHand = "TED " + c.ID
		w.count("given back by hand")
	}
	return r
}

// rule lets the operator decide about money that fits no payment.
func (w *world) rule(words ...pay.ClaimVerb) {
	ctx := context.Background()
	w.turns.turn("the operator looks")
	n := w.anyone()
	list, err := n.app.Claims.AnyList(lane(ctx, "operator"), "", pay.Inquiry, 1000)
	if err != nil {
		w.find(operatorWorks, "", "%v", err)
	}
	for i, claim := range list {
		if claim.Status.Terminal() || claim.Calling() {
			continue
		}
		word := words[i%len(words)]
		r := claims.Resolution{ID: claim.ID, Word: word, Note: "looked into"}
		if word == pay.Approve {
			r = w.parts(r, claim)
		}
		if _, err := n.app.Claims.Resolve(lane(ctx, "operator"), n.app.Self(), r); err != nil {
			w.find(operatorWorks, claim.Payment, "%s %s: %v", word, claim.ID, err)
		}
	}
}
