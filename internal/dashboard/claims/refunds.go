package claims

import (
	"net/http"
	"slices"
	"strings"

	use "github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// refundRow is a refund in a list.
type refundRow struct {
	pay.Claim
	State state
	By    use.Opener
}

// Short is the reason as far as a list has room for it.
func (r refundRow) Short() string {
	if long := []rune(r.Reason); len(long) > 60 {
		return string(long[:59]) + "…"
	}
	return r.Reason
}

type refundsView struct {
	Rows    []refundRow
	Pager   frame.Pager
	Payment string
}

// refundFilter reads the filters of a list. An unknown status selects nothing.
func refundFilter(r *http.Request) lists.ClaimFilter {
	return lists.ClaimFilter{Page: frame.PageOf(r), Status: pay.ClaimStatus(r.FormValue("status")), Payment: strings.TrimSpace(r.FormValue("payment"))}
}

func (p *pages) refunds(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f := refundFilter(r)
	list, total, err := p.Uses.ClaimLists.Refunds(r.Context(), v.Scope, f)
	if err != nil {
		return err
	}
	view := refundsView{Payment: f.Payment}
	list, view.Pager.Next = frame.Cut(list, claimID)
	view.Pager.Total = int(total)
	if f.After == "" && len(list) > 0 {
		view.Pager.From, view.Pager.To = 1, len(list)
	}
	if view.Rows, err = p.rowsOf(r, v, list); err != nil {
		return err
	}
	return p.room.Show(w, r, v, "refunds", view)
}

// rowsOf adds to refunds who opened them.
func (p *pages) rowsOf(r *http.Request, v *frame.Visit, list []pay.Claim) ([]refundRow, error) {
	openers, err := p.Uses.ClaimLists.Openers(r.Context(), v.Scope, list)
	if err != nil {
		return nil, err
	}
	shown := make([]refundRow, len(list))
	for i, claim := range list {
		shown[i] = refundRow{claim, stateOf(claim), openers[claim.ID]}
	}
	return shown, nil
}

func (p *pages) refundsFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f := refundFilter(r)
	f.After, f.Limit = "", frame.FileRows
	say := func(key string) string { return p.room.Text(v, key) }
	file, err := p.NewCSV(w, r, v, "refunds", say("refund"), say("created"), say("state"), say("payment"), say("order"), say("amount"), say("currency_code"), say("amount_usd"), say("reason"), say("by"), say("ended"))
	if err != nil {
		return err
	}
	for {
		list, _, err := p.Uses.ClaimLists.Refunds(r.Context(), v.Scope, f)
		if err != nil {
			return err
		}
		shown, err := p.rowsOf(r, v, list)
		if err != nil {
			return err
		}
		for _, row := range shown {
			err := file.Row(row.ID, row.CreatedAt, say(row.State.Text), row.Payment, row.OrderID, row.Local, string(row.Local.Currency), row.Dollars(), row.Reason, by(say, row.By), row.Resolved)
			if err != nil {
				return err
			}
		}
		if len(list) < frame.FileRows {
			return file.End()
		}
		f.After = list[len(list)-1].ID
	}
}

// by is who opened a refund, as text.
func by(say func(string) string, o use.Opener) string {
	switch o.Kind {
	case "":
		return ""
	case audit.ByUser, audit.ByKey:
		if o.Name != "" {
			return o.Name
		}
	}
	return say("by_" + string(o.Kind))
}

// refundView is the page of a refund.
type refundView struct {
	refundRow
	Moments []moment
}

func (p *pages) refund(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	claim, err := p.Uses.Claims.Get(r.Context(), v.Scope, r.PathValue("id"))
	if err != nil {
		return err
	}
	if claim.Kind != pay.UserDispute {
		return p.lead(w, r, v, "/disputes/"+claim.ID)
	}
	moved, err := p.Uses.ClaimLists.Movements(r.Context(), claim)
	if err != nil {
		return err
	}
	shown, err := p.rowsOf(r, v, []pay.Claim{claim})
	if err != nil {
		return err
	}
	return p.room.Show(w, r, v, "refund", refundView{shown[0], history(claim, moved)})
}

// unknownStage refuses the address of a list that does not exist.
func unknownStage(stage pay.DisputeStage) error {
	if slices.Contains([]pay.DisputeStage{pay.StageEvidence, pay.StageReview, pay.StageEnded}, stage) {
		return nil
	}
	return problem.New(problem.NotFound, noList)
}
