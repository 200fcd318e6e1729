package payouts

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

const (
	// maxAnswer bounds a bank's answer with its form, in bytes.
	maxAnswer = payouts.MostAnswer + 1<<20
	// answerWithin is how long it may take to arrive.
	answerWithin = 2 * time.Minute
)

type batchesView struct {
	desk.Form
	Accounts []string // whose payouts leave in files
	Rows     []row
	Most     int
	Answer   *payouts.ImportedAnswers
}

// row is a batch with the names of its operators.
type row struct {
	pay.Batch
	By, Approver string
}

func (p *pages) named(ctx context.Context, known map[string]string, b pay.Batch) (one row, err error) {
	one.Batch = b
	if one.By, err = p.Who(ctx, known, b.MadeBy); err == nil {
		one.Approver, err = p.Who(ctx, known, b.ApprovedBy)
	}
	return one, err
}

func (p *pages) batches(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showBatches(w, r, v, http.StatusOK, batchesView{})
}

func (p *pages) showBatches(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view batchesView) error {
	view.Accounts, view.Most = p.Uses.Batches.Accounts(), desk.Most
	list, err := p.Uses.Batches.List(r.Context(), "", desk.Most)
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, b := range list {
		one, err := p.named(r.Context(), known, b)
		if err != nil {
			return err
		}
		view.Rows = append(view.Rows, one)
	}
	return p.Room.ShowStatus(w, r, v, status, "batches", view)
}

func (p *pages) batchesRefused(w http.ResponseWriter, r *http.Request, v *frame.Visit, typed desk.Form, err error) error {
	view := batchesView{Form: typed}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return p.showBatches(w, r, v, status, view)
}

// make gathers the payouts that wait at an account into batches.
func (p *pages) make(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "account")
	made, err := p.Uses.Batches.Make(r.Context(), v.Actor(), typed.Value("account"))
	switch {
	case err != nil:
		return p.batchesRefused(w, r, v, typed, err)
	case len(made) == 0:
		return p.Done(w, r, "payouts/batches", "no_payout_waits", "account", typed.Value("account"))
	case len(made) == 1:
		return p.Done(w, r, "payouts/batches/"+made[0].ID, "batch_made")
	}
	return p.Done(w, r, "payouts/batches", "batches_made", "n", len(made))
}

type batchView struct {
	desk.Form
	row
	Lines []pay.Withdrawal
	Own   bool // the visitor made it, and cannot approve it
}

func (p *pages) batch(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showBatch(w, r, v, http.StatusOK, desk.Form{})
}

func (p *pages) showBatch(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	if !base.Storable(r.PathValue("id")) {
		return problem.New(problem.NotFound, noBatch)
	}
	b, lines, err := p.Uses.Batches.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	view := batchView{Form: typed, Lines: lines, Own: b.MadeBy == v.User.ID}
	if view.row, err = p.named(r.Context(), map[string]string{}, b); err != nil {
		return err
	}
	return p.Room.ShowStatus(w, r, v, status, "batch", view)
}

// moved leads on to a batch after something was done with it, or shows why not.
func (p *pages) moved(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error, done string) error {
	if err == nil {
		return p.Done(w, r, "payouts/batches/"+r.PathValue("id"), done)
	}
	var typed desk.Form
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return p.showBatch(w, r, v, status, typed)
}

// approve allows the export of a batch's file. The operator must not be the one who made the batch.
func (p *pages) approve(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, page("/batches/"+r.PathValue("id"))) { // it moves money out (DASH-6)
		return nil
	}
	_, err := p.Uses.Batches.Approve(r.Context(), v.Actor(), r.PathValue("id"))
	return p.moved(w, r, v, err, "batch_approved")
}

func (p *pages) dissolve(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	_, err := p.Uses.Batches.Dissolve(r.Context(), v.Actor(), r.PathValue("id"))
	return p.moved(w, r, v, err, "batch_dissolved")
}

// export gives the file to the operator. From then on the bank may have it.
func (p *pages) export(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, page("/batches/"+r.PathValue("id"))) {
		return nil
	}
	file, b, err := p.Uses.Batches.Export(r.Context(), v.Actor(), r.PathValue("id"))
	if err != nil {
		return p.moved(w, r, v, err, "")
	}
	frame.Foreign(w, b.ID+"."+extension(b.Layout), "application/octet-stream", file, false)
	return nil
}

// extension is how banks expect the name of a file to end.
func extension(layout string) string {
	switch {
	case layout == "csv":
		return "csv"
	case strings.HasPrefix(layout, "pain."):
		return "xml"
	}
	return "txt"
}

// answers reads the bank's answer: payouts that arrived, were refused or came back.
func (p *pages) answers(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, page("/batches")) { // what is not paid can be withdrawn again
		return nil
	}
	typed := desk.Typed(r, "answered")
	in, _, err := r.FormFile("answer")
	if err != nil {
		return p.batchesRefused(w, r, v, typed, problem.Field(problem.InvalidRequest, "answer", chooseAnswer))
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	done, err := p.Uses.Batches.ImportAnswers(r.Context(), v.Actor(), typed.Value("answered"), content)
	if err != nil {
		return p.batchesRefused(w, r, v, typed, desk.Shown(err, "answer"))
	}
	return p.showBatches(w, r, v, http.StatusOK, batchesView{Form: typed, Answer: &done})
}
