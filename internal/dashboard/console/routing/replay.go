package routing

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// replay starts to run past payments through the file.
func (p *pages) replay(ctx context.Context, v *frame.Visit, e editView) error {
	rules, err := p.file(ctx, e.File)
	if err != nil {
		return err
	}
	o, err := e.period(p.Uses.Now())
	if err != nil {
		return err
	}
	return p.Uses.Rehearsals.Start(v.Actor(), routing.Rehearsal{Asked: o, File: e.File, Over: e.Version}, rules)
}

// replayView is the page of the replay on this node: the one that runs, or else the last one.
type replayView struct {
	Mark     string // changes with anything on the page
	Running  bool
	Stopping bool
	Began    time.Time
	At       routing.RerouteProgress
	Percent  int
	Last     bool // one has ended
	Ended    time.Time
	Stopped  bool
	Failed   string
	Live     merchants.Environment
	Days     int
	File     string
	Version  int64
	Stale    bool // the rules in force are no longer those that it compares with
	Result   *result
}

func (p *pages) replayView(ctx context.Context) (replayView, error) {
	s := p.Uses.Rehearsals.State()
	view := replayView{Mark: fmt.Sprint(s.Changes), Running: s.Running, Stopping: s.Stopping}
	asked := s.Progress
	switch {
	case s.Running:
		view.Began, view.At, view.Percent = s.Began, s.Progress.At, s.Progress.At.Permille/10
	case s.Last != nil:
		asked = s.Last.Result.Rehearsal
		view.Last, view.Began, view.Ended, view.Stopped = true, s.Last.Began, s.Last.At, s.Last.Stopped
		if s.Last.Err != nil {
			view.Failed = desk.Sentence(message.Sentence(s.Last.Err))
		}
		if s.Last.Err == nil && !s.Last.Stopped {
			view.Result = newResult(asked.Asked, s.Last.Result.Rerouted)
		}
	default:
		return view, nil
	}
	view.File, view.Version, view.Live = asked.File, asked.Over, merchants.EnvironmentOf(asked.Asked.Live)
	view.Days = int(asked.Asked.Until.Sub(asked.Asked.Since).Hours() / 24)
	present, err := p.Uses.Rules.Current(ctx)
	view.Stale = present.Version != view.Version
	return view, err
}

func (p *pages) replayed(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, err := p.replayView(r.Context())
	if err != nil {
		return err
	}
	return p.Room.Show(w, r, v, "replay", view)
}

// live sends how far the replay is.
func (p *pages) live(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.Stream(w, r, v, func(ctx context.Context) (string, func() (string, error), error) {
		view, err := p.replayView(ctx)
		return view.Mark, func() (string, error) { return p.Room.Block(r, v, "replay", "state", view) }, err
	})
}

func (p *pages) stop(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	if !p.Uses.Rehearsals.Stop() {
		return problem.New(problem.ConflictState, noReplayRuns)
	}
	return p.Done(w, r, "routing/replay", "replay_stopping")
}
