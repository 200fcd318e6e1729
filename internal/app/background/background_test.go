package background_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/background"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

var ana = audit.Actor{Kind: audit.ByUser, ID: "usr_ana"}

func newJob() *background.Job[int, string] {
	return background.New[int, string](func() time.Time { return time.Unix(1, 0) })
}

func code(err error) problem.Code {
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown.Code
	}
	return ""
}

// Work tells how far it is, a second one is refused meanwhile, and the result stays.
func TestOneRunsAtATime(t *testing.T) {
	j := newJob()
	told, goOn, over := make(chan struct{}), make(chan struct{}), make(chan background.Ended[string], 1)
	do := func(_ context.Context, tell func(int)) (string, error) {
		tell(7)
		close(told)
		<-goOn
		return "done", nil
	}
	if err := j.Start(ana, 1, do, func(e background.Ended[string]) { over <- e }); err != nil {
		t.Fatal(err)
	}
	<-told
	if s := j.State(); !s.Running || s.Progress != 7 || s.By != ana || !s.Began.Equal(time.Unix(1, 0)) {
		t.Errorf("while it runs the state is %+v", s)
	}
	if err := j.Start(ana, 1, do, nil); code(err) != problem.ConflictState {
		t.Errorf("a second start gets %v", err)
	}
	close(goOn)
	if e := <-over; e.Result != "done" || e.Err != nil || e.Stopped || e.By != ana {
		t.Errorf("it ended as %+v", e)
	}
	j.Close()
	if s := j.State(); s.Running || s.Last == nil || s.Last.Result != "done" {
		t.Errorf("after it the state is %+v", s)
	}
	if err := j.Start(ana, 1, do, nil); code(err) != problem.ServiceUnavailable {
		t.Errorf("a start after Close gets %v", err)
	}
}

// Work that is stopped keeps what it has found, and is no failure. Work that fails is one.
func TestStoppedIsNotFailed(t *testing.T) {
	j := newJob()
	over := make(chan background.Ended[string], 1)
	after := func(e background.Ended[string]) { over <- e }
	wait := func(ctx context.Context, _ func(int)) (string, error) {
		<-ctx.Done()
		return "half", ctx.Err()
	}
	if j.Stop() {
		t.Error("nothing runs, but it was stopped")
	}
	if err := j.Start(ana, 0, wait, after); err != nil {
		t.Fatal(err)
	}
	if !j.Stop() {
		t.Error("it runs, but it was not stopped")
	}
	if e := <-over; !e.Stopped || e.Err != nil || e.Result != "half" {
		t.Errorf("stopped, it ended as %+v", e)
	}
	j.Close()
	j = newJob()
	broken := errors.New("no disk")
	if err := j.Start(ana, 0, func(context.Context, func(int)) (string, error) { return "", broken }, after); err != nil {
		t.Fatal(err)
	}
	if e := <-over; e.Stopped || !errors.Is(e.Err, broken) {
		t.Errorf("failed, it ended as %+v", e)
	}
	j.Close()
}

// Work that panics has failed, and the next work can start.
func TestPanicOfTheWorkIsItsError(t *testing.T) {
	j := newJob()
	over := make(chan background.Ended[string], 1)
	after := func(e background.Ended[string]) { over <- e }
	if err := j.Start(ana, 1, func(context.Context, func(int)) (string, error) { panic("no rows") }, after); err != nil {
		t.Fatal(err)
	}
	if e := <-over; e.Err == nil || !strings.Contains(e.Err.Error(), "no rows") || e.Stopped {
		t.Errorf("it ended as %+v", e)
	}
	j.Close()
	if s := j.State(); s.Running || s.Last == nil || s.Last.Err == nil {
		t.Errorf("after it the state is %+v", s)
	}
}
