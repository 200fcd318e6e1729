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

func (p *problems) events(events []string) {
	if len(events) == 0 {
		p.issues = append(p.issues, problem.Issue{Path: "events", Reason: noEvents})
		p.missing = []string{"events"}
	}
	for i, e := range events {
		if !webhooks.ValidEvent(e) {
			p.issues = append(p.issues, problem.Issue{Path: fmt.Sprintf("events[%d]", i), Reason: notEventNorAll.With(NotEvent(e))})
		}
	}
}

// description checks how long an endpoint's description is.
func (p *problems) description(text string) {
	err := problem.Fit(problem.Text{Param: "description", Text: text, Most: webhooks.MaxDescription})
	if shown, long := errors.AsType[*problem.Error](err); long {
		p.issues = append(p.issues, shown.Details.Issues...)
	}
}
