package routing

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/background"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Rehearsals replays past payments in the background, for an operator who wants to see what other rules would have
// done before they are applied.
type Rehearsals struct {
	rules *Rules
	job   *background.Job[Rehearsal, Rehearsed]
}

// Rehearsal is a replay that runs: what was asked for, and its progress.
type Rehearsal struct {
	Asked PastRoutes
	File  string // the rules as they were written
	Over  int64  // the version of the rules that they would replace
	At    RerouteProgress
}

// Rehearsed is a replay that has ended, with what was asked for.
type Rehearsed struct {
	Rehearsal
	Rerouted
}

// RehearsalState is what is replayed on this node, and what was replayed last.
type RehearsalState = background.State[Rehearsal, Rehearsed]

// NewRehearsals returns the replays of a node.
func NewRehearsals(rules *Rules) *Rehearsals {
	return &Rehearsals{rules, background.New[Rehearsal, Rehearsed](rules.Now)}
}

// Start replays past payments.
//
// Errors: conflict_state if a replay runs on this node.
func (re *Rehearsals) Start(by audit.Actor, n Rehearsal, rules routing.Rules) error {
	n.Asked.Rules = &rules
	return re.job.Start(by, n, func(ctx context.Context, tell func(Rehearsal)) (Rehearsed, error) {
		asked := n.Asked
		asked.Progress = func(at RerouteProgress) {
			now := n
			now.At = at
			tell(now)
		}
		done, err := re.rules.Replay(ctx, asked)
		return Rehearsed{n, done}, err
	}, nil)
}

// Stop tells the replay on this node to stop. It reports whether one runs.
func (re *Rehearsals) Stop() bool { return re.job.Stop() }

// State is what is replayed on this node.
func (re *Rehearsals) State() RehearsalState { return re.job.State() }

// Close stops the replay and waits for its end.
func (re *Rehearsals) Close() { re.job.Close() }
