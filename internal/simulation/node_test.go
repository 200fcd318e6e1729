package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/bankfiles"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/vault"
)

const century = 100 * 365 * 24 * time.Hour

// node is one process of the service. Its visible actions go through a gate, where it waits
// while the node is paused, and fails once the node is dead.
type node struct {
	w    *world
	name string
	skew time.Duration
	app  *app.App
	ids  uint64 // ids that the node has made so far

	mu     sync.Mutex             // guards ids, paused and said
	paused time.Time              // until then it is paused
	said   map[string]pay.Outcome // the providers' last answers about charges, by reference
	dead   chan struct{}

	stop     context.CancelFunc
	loops    sync.WaitGroup
	requests sync.WaitGroup
}

var errDead = errors.New("the process is gone")

// start opens a node, with its loops. There are no faults until it is open.
func (w *world) start(name string, skew time.Duration) (*node, error) {
	n, err := w.open(name, skew)
	if err == nil {
		n.run()
	}
	return n, err
}

// open opens a node without its loops.
func (w *world) open(name string, skew time.Duration) (*node, error) {
	n := &node{w: w, name: name, skew: skew, said: map[string]pay.Outcome{}, dead: make(chan struct{})}
	secrets, err := vault.New(bytes.Repeat([]byte{7}, vault.KeySize))
	if err != nil {
		return nil, err
	}
	var open atomic.Bool
	config := app.Config{
		Config: base.Config{
			Log: slog.New(w.log(name)), Vault: secrets, Now: n.now, NewID: n.newID, CheckoutURL: "https://pay.example", Look: look,
			Together: func(ctx context.Context) { // all hear of it at once
				if open.Load() && n.stand() == nil {
					w.turns.turn(name + " has heard " + laneOf(ctx))
				}
			},
		},
		InboxURL: "https://pay.example/inbox",
		FX:       rates.FX{Every: time.Hour, Limits: rates.DefaultFX().Limits}, WalletCoolDown: time.Second,
		Sender: sender.New(sender.Config{Now: n.now, Transport: receivers{n}}),
		Jitter: func() float64 { return 0.5 }, Shared: w.shared, WideFrom: 1 + int(w.seed%2), // in every second world, events are wide
		Commits: func(ctx context.Context, change *pay.Change, commit func() error) error {
			if !open.Load() {
				return commit()
			}
			// Changes are written in the order in which they arrive, and the node learns the
			// outcome of all changes of a batch at once.
			n.decides(change)
			rows := " " + laneOf(ctx) + rowsOf(change)
			w.hesitates(n, change)
			if n.stand() == nil {
				w.turns.turn(name + " queues" + rows)
				w.paysOff(laneOf(ctx), change)
				w.paysBecause(laneOf(ctx), change)
				w.strikes(n, change, "before")
			}
			err := commit()
			if n.stand() == nil {
				w.turns.turn(name + " has written" + rows)
				w.strikes(n, change, "after")
			}
			return err
		},
		Adapters: []provider.Adapter{w.adapter(n), w.payoutAdapter(n), bankfiles.Adapter()},
		Through: func(ctx context.Context, t store.Trip, run func(context.Context) error) error {
			if !open.Load() {
				return run(ctx)
			}
			return n.through(ctx, t, run)
		},
	}
	config.FX.Limits.StaleAfter, config.FX.Limits.MaxAge = century, century
	if n.app, err = app.Open(context.Background(), "", config); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	n.stop = func() {}
	if err := n.app.Serve(lane(context.Background(), "joins")); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	open.Store(true)
	return n, nil
}

// run starts the node's loops.
func (n *node) run() {
	w, log := n.w, slog.New(n.w.log(n.name))
	running, stop := context.WithCancel(context.Background())
	n.stop = stop
	for _, loop := range n.app.Loops() {
		do := loop.Do
		loop.Do = func(ctx context.Context) (int, error) {
			if n.stand() != nil {
				return 0, errDead
			}
			w.turns.turn(n.name + " looks for " + loop.Name) // timers that end at the same moment end in no fixed order
			if loop.Alarm != nil {
				loop.Alarm.Forget() // what a batch of changes set while this loop woke up
			}
			return do(w.turns.keeping(ctx))
		}
		if next := loop.Next; next != nil {
			loop.Next = func(ctx context.Context) (time.Time, error) {
				w.turns.turn(n.name + " asks what is due for " + loop.Name) // who asks at the same moment shares an answer, or waits for the next
				return next(ctx)
			}
		}
		n.loops.Go(func() {
			loop.Run(lane(running, loop.Name), log)
		})
	}
}

// heard records a provider's answer about a charge.
func (n *node) heard(r provider.Request, o pay.Outcome) pay.Outcome {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said[r.Reference] = o
	return o
}

// decides checks a change that the node has just decided.
func (n *node) decides(change *pay.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range change.Payments {
		current, ok := p.Attempts.Current()
		if !ok || p.Stored != pay.Pending || p.Status != pay.Expired && !p.End.Canceled() && !overdue(p) {
			continue
		}
		if said := n.said[p.Reference(current.Order)]; said.Kind == pay.Approved && said.Local == p.Price.Local {
			n.w.find(paidIsPaid, p.ID, "%s ends %s as %s, although its provider has just said that it is paid", n.name, p.ID, p.Status)
		}
	}
}

// missed makes the other nodes notice a dead or paused node, as fast as in production.
// Their own loop looks for dead nodes only every other day (look).
func (w *world) missed() {
	w.aside.Go(func() {
		time.Sleep(6 * time.Second)
		w.turns.turn("nodes are missed")
		for _, n := range slices.Clone(w.nodes) {
			w.turns.turn(n.name + " looks for nodes that are gone")
			if n.isPaused() || n.isDead() {
				continue
			}
			_ = n.app.Cascade.ReleaseOrphans(lane(context.Background(), "takeover")) // it is repeated
		}
	})
}

// look is how often a node looks for other nodes' writes. Nodes with one database are
// notified of them.
const look = 48 * time.Hour

func (n *node) now() time.Time { return time.Now().UTC().Add(n.skew) }

// newID makes an id from the node's own count.
func (n *node) newID(prefix string, now time.Time) string {
	n.mu.Lock()
	n.ids++
	count := n.ids
	n.mu.Unlock()
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := []byte(id.From("", now))
	for i, x := 10, mix(mix(hash64(n.name), n.w.seed), count); i < len(b); i, x = i+1, x>>4 {
		b[i] = alphabet[x&15]
	}
	return prefix + string(b)
}

type laneKey struct{}

// lane names the caller, for the turns.
func lane(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, laneKey{}, name)
}

func laneOf(ctx context.Context) string {
	name, _ := ctx.Value(laneKey{}).(string)
	return name
}

// stand waits while the node is paused. It fails once the node is dead.
func (n *node) stand() error {
	for {
		n.mu.Lock()
		rest := time.Until(n.paused)
		n.mu.Unlock()
		if n.isDead() {
			return errDead
		}
		if rest <= 0 {
			return nil
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-n.dead:
			timer.Stop()
		}
	}
}

// goesOn is stand for a caller that then acts at once, and gives it a turn: when a node
// resumes, all its goroutines do so at the same moment, in no fixed order.
func (n *node) goesOn(key string) error {
	paused := n.isPaused()
	err := n.stand()
	if err == nil && paused {
		n.w.turns.turn("goes on: " + key)
	}
	return err
}

func (n *node) isDead() bool {
	select {
	case <-n.dead:
		return true
	default:
		return false
	}
}

// pause pauses the node like SIGSTOP: what it has sent arrives, and it hears nothing until
// it continues.
func (n *node) pause(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = time.Now().Add(d)
	if d > 0 {
		n.w.missed()
	}
}

func (n *node) isPaused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.paused)
}

// crash ends the node like SIGKILL: from now on nothing from it reaches the world. The
// caller has the turn.
func (n *node) crash() {
	close(n.dead)
	n.w.missed()
	n.w.aside.Go(n.wind)
}

// revive starts another node some time after one crashed.
func (w *world) revive() {
	wait := w.turns.between(time.Second, time.Minute)
	w.aside.Go(func() {
		time.Sleep(wait)
		w.turns.turn("a node starts again")
		if w.over {
			return
		}
		if err := w.add(); err != nil {
			w.find(nodesStart, "", "%v", err)
		}
	})
}

// wind ends the goroutines of the node.
func (n *node) wind() {
	n.stop()
	n.requests.Wait()
	n.loops.Wait()
	n.app.Close()
	// It needs no turn: nobody sees what a dead node still does, and it ends at any time.
	stats := n.app.Stats()
	n.w.ended.Lock()
	defer n.w.ended.Unlock()
	n.w.stats["commits"] += int(stats.Commits)
	n.w.stats["changes"] += int(stats.Changes)
	n.w.stats["batches halved"] += int(stats.Halved)
	n.w.stats["commits whose outcome was looked up"] += int(stats.Unknown)
}

// through is a node's way to the database and back.
func (n *node) through(ctx context.Context, t store.Trip, run func(context.Context) error) error {
	key := n.name + " " + string(t.Kind) + " " + laneOf(ctx) + " " + brief(t)
	if err := n.stand(); err != nil {
		return err
	}
	if !n.w.turns.kept(ctx, key) {
		n.w.turns.turn(key)
	}
	if n.isDead() { // while it waited
		return errDead
	}
	err := n.w.faults.trip(ctx, n, t, key, run)
	if dead := n.goesOn(key); dead != nil {
		return dead
	}
	return err
}

// brief tells trips apart.
func brief(t store.Trip) string {
	h := uint64(offset64)
	for _, text := range t.Texts {
		h = mix(h, textHash(text))
	}
	for _, arg := range t.Args {
		switch v := arg.(type) {
		case []byte:
			h = mix(h, hash64(v))
		case string:
			h = mix(h, hash64(v))
		case int64:
			h = mix(h, uint64(v))
		case int:
			h = mix(h, uint64(v))
		default:
			h = mix(h, hash64(fmt.Sprint(v)))
		}
	}
	return strconv.FormatUint(h&0xffffffff|1<<32, 16)[1:]
}

// texts keeps the hashes of statements, which are few and long.
var texts sync.Map

func textHash(text string) uint64 {
	if known, ok := texts.Load(text); ok {
		return known.(uint64)
	}
	h := hash64(text)
	texts.Store(text, h)
	return h
}

// rowsOf names the rows of a change, so that two different decisions about one row have
// different keys.
func rowsOf(c *pay.Change) string {
	var b strings.Builder
	for i := range c.Payments {
		fmt.Fprintf(&b, " %s/%d %s", c.Payments[i].ID, c.Payments[i].Version, c.Payments[i].Status)
	}
	for i := range c.Claims {
		fmt.Fprintf(&b, " %s/%d %s", c.Claims[i].ID, c.Claims[i].Version, c.Claims[i].Status)
	}
	for i := range c.Notices {
		b.WriteString(" " + c.Notices[i].ID)
	}
	for i := range c.Withdrawals {
		fmt.Fprintf(&b, " %s/%d %s", c.Withdrawals[i].ID, c.Withdrawals[i].Version, c.Withdrawals[i].Status)
	}
	for i := range c.Deliveries {
		fmt.Fprintf(&b, " %s/%d", c.Deliveries[i].ID, c.Deliveries[i].Version)
	}
	for i := range c.Subscriptions {
		fmt.Fprintf(&b, " %s/%d", c.Subscriptions[i].ID, c.Subscriptions[i].Version)
	}
	for i := range c.Settlements {
		fmt.Fprintf(&b, " %s/%d", c.Settlements[i].ID, c.Settlements[i].Version)
	}
	for i := range c.Reserves {
		fmt.Fprintf(&b, " %s/%d", c.Reserves[i].ID, c.Reserves[i].Version)
	}
	return b.String()
}
