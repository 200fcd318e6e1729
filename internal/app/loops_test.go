package app

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

// Work of each kind is done by a loop that wakes when it comes due: a kind without one would wait for ever.
func TestEachKindOfDueWorkHasALoop(t *testing.T) {
	a, _, _ := shopOf(t)
	loops := map[string]work.Loop{}
	for _, l := range a.Loops() {
		loops[l.Name] = l
		if l.Next != nil && l.Alarm == nil {
			t.Errorf("nothing wakes the loop %q: no kind of due work has its name", l.Name)
		}
	}
	for _, kind := range append(store.WorkKinds(), store.ParkedWork) {
		name := base.LoopOf(kind)
		l, is := loops[name]
		if noMailer := name == base.MailsLoop; !is || a.Alarms[name] == nil || l.Alarm != a.Alarms[name] && !noMailer {
			t.Errorf("no loop wakes for %q", kind)
		}
	}
}
