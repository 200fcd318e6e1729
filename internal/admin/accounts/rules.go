package accounts

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
	"github.com/danielgtaylor/huma/v2"
)

type rulesOut struct{ Body shape.RoutingRules }

type rulesHistoryIn struct{ call.PageQuery }

type rulesHistoryOut struct {
	Body struct {
		Data       []shape.RoutingRules `json:"data"`
		Pagination call.Cursor          `json:"pagination"`
	}
}

type applyRulesIn struct{ Body RulesBody }

// RulesBody is routing rules.
type RulesBody struct {
	_       struct{} `additionalProperties:"false"`
	Version int64    `json:"version" example:"3" doc:"The version of the rules as you read them; if they have changed since, the request is a conflict"`
	File    string   `json:"file" text:"lines" minLength:"1" maxLength:"131072" example:"order: success_rate\n" doc:"YAML or JSON"`
}

type resetRulesIn struct {
	Version int64 `query:"version" default:"-1" doc:"As in a change; left out: whatever is in force"`
}

type replayRoutingIn struct{ Body ReplayRoutingBody }

// ReplayRoutingBody asks what other rules would have done.
type ReplayRoutingBody struct {
	_           struct{}              `additionalProperties:"false"`
	File        string                `json:"file" text:"lines" minLength:"1" maxLength:"131072" example:"order: least_cost\n" doc:"YAML or JSON rules"`
	Environment merchants.Environment `json:"environment,omitempty" enum:"sandbox,production" doc:"production if it is left out"`
	From        time.Time             `json:"from" doc:"Payments made from then on"`
	To          *time.Time            `json:"to,omitempty" doc:"Payments made before; now if it is left out"`
	Rail        string                `json:"rail,omitempty" maxLength:"100" example:"pix.BRA" doc:"Only payments by this rail"`
	Examples    int                   `json:"examples,omitempty" minimum:"0" maximum:"50" doc:"How many of the payments that begin at another account are shown"`
}

type replayedRoutingOut struct{ Body shape.ReplayedRouting }

func (a *api) ruleRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Routing"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("getRoutingRules", http.MethodGet, "/routing-rules", "Read the routing rules in force", "As a file that can be applied."), nil, a.rules)
	call.Handle(a.API, operators.View, op("listRoutingRules", http.MethodGet, "/routing-rules/versions", "List the versions of the routing rules", "Newest first, at most 500."), nil, a.rulesHistory)
	call.Handle(a.API, operators.Routing, op("applyRoutingRules", http.MethodPut, "/routing-rules", "Apply routing rules", "In place of those in force. Every node uses them within seconds."), conflict, a.applyRules)
	call.Handle(a.API, operators.Routing, op("resetRoutingRules", http.MethodDelete, "/routing-rules", "Remove the routing rules", "The servers use their --routing again."), conflict, a.resetRules)
	call.Handle(a.API, operators.View, call.Heavy(op("replayRouting", http.MethodPost, "/routing-replays", "Run past payments through other routing rules", "Nothing is changed.")), nil, a.replayRouting)
}

func shownRules(v approuting.RulesVersion, err error) (*rulesOut, error) {
	if err != nil {
		return nil, err
	}
	shown, err := shape.NewRoutingRules(v)
	return &rulesOut{shown}, err
}

func (a *api) rules(ctx context.Context, _ audit.Actor, _ *struct{}) (*rulesOut, error) {
	return shownRules(a.Uses.Rules.Current(ctx))
}

// mostVersions bounds the list of versions of the rules.
const mostVersions = 500

func (a *api) rulesHistory(ctx context.Context, _ audit.Actor, in *rulesHistoryIn) (*rulesHistoryOut, error) {
	list, err := a.Uses.Rules.History(ctx, mostVersions)
	if err != nil {
		return nil, err
	}
	id := func(v approuting.RulesVersion) string { return fmt.Sprintf("%019d", v.Version) }
	list = call.CutNewest(in.PageQuery, list, id)
	out := &rulesHistoryOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, func(v approuting.RulesVersion) shape.RoutingRules {
		shown, wrong := shape.NewRoutingRules(v)
		if wrong != nil {
			err = wrong
		}
		return shown
	})
	return out, err
}

// readRules reads a file of rules without accounts.
//
// Errors: invalid_request.
func readRules(text string) (rulefile.File, error) {
	file, err := rulefile.Read([]byte(text))
	if err != nil {
		return file, call.About("file", err)
	}
	if file.Accounts != nil {
		return file, message.FieldRefusal(problem.InvalidRequest, "file", "the section accounts is only for cascada route replay: leave it out, and change accounts themselves")
	}
	return file, nil
}

func (a *api) applyRules(ctx context.Context, by audit.Actor, in *applyRulesIn) (*rulesOut, error) {
	file, err := readRules(in.Body.File)
	if err != nil {
		return nil, err
	}
	v, _, err := a.Uses.Rules.ApplyOver(ctx, by, in.Body.Version, file.Rules)
	return shownRules(v, call.About("file", err))
}

func (a *api) resetRules(ctx context.Context, by audit.Actor, in *resetRulesIn) (*rulesOut, error) {
	v, _, err := a.Uses.Rules.ResetOver(ctx, by, in.Version)
	return shownRules(v, err)
}

func (a *api) replayRouting(ctx context.Context, _ audit.Actor, in *replayRoutingIn) (*replayedRoutingOut, error) {
	b := in.Body
	file, err := readRules(b.File)
	if err != nil {
		return nil, err
	}
	o := approuting.PastRoutes{Live: b.Environment != merchants.Sandbox, Rail: b.Rail, Examples: b.Examples, Since: b.From, Until: a.Uses.Now(), Rules: &file.Rules}
	if b.To != nil {
		o.Until = *b.To
	}
	if !o.Since.Before(o.Until) {
		return nil, message.FieldRefusal(problem.InvalidRequest, "from", "from must be before to")
	}
	done, err := a.Uses.Rules.Replay(ctx, o)
	if err != nil {
		return nil, call.About("file", err)
	}
	return &replayedRoutingOut{shape.NewReplayedRouting(done)}, nil
}
