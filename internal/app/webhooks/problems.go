package webhooks

import (
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// problems collects everything that is wrong with a subscription.
type problems struct {
	issues  []problem.Issue
	missing []string
}

func (b *problems) events(events []string) {
	if len(events) == 0 {
		b.issues = append(b.issues, problem.Issue{Path: "events", Reason: noEvents})
		b.missing = []string{"events"}
	}
	for i, e := range events {
		if !webhooks.ValidEvent(e) {
			b.issues = append(b.issues, problem.Issue{Path: fmt.Sprintf("events[%d]", i), Reason: notEventNorAll.With(NotEvent(e))})
		}
	}
}

// description checks how long an endpoint's description is.
func (b *problems) description(text string) {
	err := problem.Fit(problem.Text{Param: "description", Text: text, Most: webhooks.MaxDescription})
	if shown, long := errors.AsType[*problem.Error](err); long {
		b.issues = append(b.issues, shown.Details.Issues...)
	}
}
