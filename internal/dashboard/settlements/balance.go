package settlements

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// bucket is a part of the balance.
type bucket struct {
	Name   string // key of its texts: bucket_<Name>, and <Name>_about
	Amount money.Amount
	Tone   string
}

// movementRow is a line of the balance.
type movementRow struct {
	pay.Movement
	Changed money.Amount
	After   money.Amount // of the bucket; without a currency if it is not known
}

type balanceView struct {
	Buckets  []bucket
	Days     int    // from a payment to available
	Share    string // of the reserve
	Owed     bool   // available is below zero
	Late     money.Amount
	Shops    bool // the merchant has other shops
	Releases []pay.Reserve
	Rows     []movementRow
	Running  bool // the rows know the running balance
	Pager    frame.Pager
}

// Left is what a day of the reserve releases.
func (balanceView) Left(day pay.Reserve) money.Amount { return usd(day.Remaining()) }

func (p *pages) balance(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	ctx := r.Context()
	have, err := p.Uses.Settlements.Balances(ctx, v.Scope)
	if err != nil {
		return err
	}
	terms, err := p.Uses.Plans.Terms(r.Context(), v.Scope, v.Merchant)
	if err != nil {
		return err
	}
	view := balanceView{
		Days: int(terms.Delay / (24 * time.Hour)), Share: frame.Share(v.Language(), terms.ReserveBps), Owed: have[ledger.Available] < 0,
		Late: usd(have[ledger.Suspense]), Shops: len(v.Shops) > 1,
	}
	for _, account := range []ledger.Account{ledger.Available, ledger.Pending, ledger.Reserve, ledger.Frozen} {
		view.Buckets = append(view.Buckets, bucket{Name: string(account), Amount: usd(have[account])})
	}
	days, _, err := p.Uses.Settlements.ReserveCalendar(ctx, v.Scope)
	if err != nil {
		return err
	}
	view.Releases = days[:min(pay.ReleasesShown, len(days))]
	if view.Rows, view.Pager, view.Running, err = p.movements(r, v); err != nil {
		return err
	}
	return p.Show(w, r, v, "balance", view)
}

// movementFilter reads the filters of movements.
//
// Errors: invalid_request.
func movementFilter(r *http.Request) (f lists.MovementFilter, filtered bool, err error) {
	f.Type = pay.MovementType(r.FormValue("type"))
	if f.Span, err = frame.Days(r); err != nil {
		return f, false, err
	}
	if known := len(pay.KindsOf(f.Type)) > 0; !known {
		return f, false, problem.Field(problem.InvalidRequest, "type", unknownMovement)
	}
	return f, f.Type != "" || f.Span != (lists.Span{}), nil
}

// movements reads a page. Without a filter it has the running balance, which only the whole list tells.
func (p *pages) movements(r *http.Request, v *frame.Visit) ([]movementRow, frame.Pager, bool, error) {
	f, filtered, err := movementFilter(r)
	if err != nil {
		return nil, frame.Pager{}, false, err
	}
	if !filtered {
		list, total, err := p.Uses.Settlements.Movements(r.Context(), v.Scope, frame.PageOf(r))
		list, pager := frame.Paged(r, list, total, func(one pay.Movement) string { return one.ID })
		return rowsOf(list, true), pager, true, err
	}
	f.Limit = frame.Rows
	if text := r.FormValue("cursor"); text != "" {
		at, transfer, _ := strings.Cut(text, ".")
		micros, err := strconv.ParseInt(at, 10, 64)
		if err != nil || transfer == "" {
			return nil, frame.Pager{}, false, problem.Field(problem.InvalidRequest, "cursor", noListPage)
		}
		f.After = lists.MovementPlace{At: time.UnixMicro(micros).UTC(), Transfer: transfer}
	}
	found, err := p.Uses.Settlements.FindMovements(r.Context(), v.Scope, f)
	var pager frame.Pager
	if found.Next.Transfer != "" {
		pager.Next = strconv.FormatInt(found.Next.At.UnixMicro(), 10) + "." + found.Next.Transfer
	}
	return rowsOf(found.Movements, false), pager, false, err
}

func rowsOf(list []pay.Movement, running bool) []movementRow {
	shown := make([]movementRow, len(list))
	for i, m := range list {
		shown[i] = movementRow{Movement: m, Changed: usd(m.Amount)}
		if running {
			shown[i].After = usd(m.BalanceAfter)
		}
	}
	return shown
}

func (p *pages) balanceFile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	f, _, err := movementFilter(r)
	if err != nil {
		return err
	}
	say := p.texts(v)
	file, err := p.NewCSV(w, r, v, "balance", say("movement"), say("date"), say("what"), say("part"), say("change_usd"), say("after_usd"), say("payment"), say("claim"), say("settlement"), say("withdrawal"))
	if err != nil {
		return err
	}
	err = p.Uses.Settlements.EachMovement(r.Context(), v.Scope, f, func(one pay.Movement, running bool) error {
		var after any
		if running {
			after = usd(one.BalanceAfter)
		}
		return file.Row(one.ID, one.At, say("moved_"+string(one.Type)), say("bucket_"+string(one.Bucket)), usd(one.Amount), after, one.Payment, one.Claim, one.Settlement, one.Withdrawal)
	})
	if err != nil {
		return err
	}
	return file.End()
}

// reserveView is the calendar of the reserve.
type reserveView struct {
	Days  []pay.Reserve
	Held  money.Amount
	Share string
	Sum   money.Amount
}

// Left is what a day releases.
func (reserveView) Left(day pay.Reserve) money.Amount { return usd(day.Remaining()) }

// In is the number of days, begun ones included, until a day releases its reserve.
func (reserveView) In(day pay.Reserve, now time.Time) int {
	return max(0, int((day.ReleaseAt.Sub(now)+24*time.Hour-1)/(24*time.Hour)))
}

func (p *pages) reserve(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	days, held, err := p.Uses.Settlements.ReserveCalendar(r.Context(), v.Scope)
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, day := range days {
		sum += day.Remaining()
	}
	terms, err := p.Uses.Plans.Terms(r.Context(), v.Scope, v.Merchant)
	if err != nil {
		return err
	}
	return p.Show(w, r, v, "reserve", reserveView{days, usd(held), frame.Share(v.Language(), terms.ReserveBps), usd(sum)})
}
