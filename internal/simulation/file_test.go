package simulation

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// filed is the payout account whose payouts leave in files.
const filed = "files"

// cashier approves the files that the operator makes.
var cashier = audit.Actor{Kind: audit.ByOperator, ID: "bea"}

// counter is the bank that gets the files, with its books. The owner of the turn may touch it.
type counter struct {
	files   map[string]bool // by the id of their batch: it refuses one that it has
	lines   map[string]*fileLine
	answers [][]byte // files that the operator fetched and may read again
	told    int      // pieces of news that the operator has read for certain
	strict  bool     // some lines are rejected or come back
}

// fileLine is a line that the bank got.
type fileLine struct {
	ref    string
	amount money.Amount
	status string // open, paid, rejected, returned
	back   int64  // of the amount, while it is paid
	news   []string
}

// files lets two operators pay out by files for as long as the world lasts: one makes them, the other approves, and the bank's answers
// are read whole, in part, twice, or much later.
func (w *world) files(chance *rand.Rand) {
	w.counter = &counter{files: map[string]bool{}, lines: map[string]*fileLine{}, strict: true}
	for round := 0; ; round++ {
		wait := time.Duration(chance.Int64N(int64(24 * time.Hour)))
		if !w.healing() {
			wait = time.Duration(chance.Int64N(int64(w.span+w.longer) / 4))
		}
		time.Sleep(wait)
		tag := fmt.Sprint("files ", round)
		w.turns.turn(tag)
		if w.over {
			return
		}
		w.counter.work(w, chance)
		w.fileBatches(tag, chance)
		w.readAnswers(tag, chance)
	}
}

// fileBatches makes batches, and takes those that exist a step further. Any answer may be lost: the next round goes on.
func (w *world) fileBatches(tag string, chance *rand.Rand) {
	if chance.IntN(3) > 0 {
		w.fileStep(tag+" makes", func(ctx context.Context, n *node) error {
			_, err := n.app.Batches.Make(ctx, operator, filed)
			return err
		})
	}
	list, err := w.eye.Batches().List(context.Background(), filed, "", 1000)
	if err != nil {
		w.find(operatorWorks, "", "%v", err)
	}
	slices.SortFunc(list, func(a, b pay.Batch) int { return a.Number - b.Number })
	for _, b := range list {
		key := fmt.Sprint(tag, " batch ", b.Number)
		switch {
		case b.MayDissolve() && chance.IntN(10) == 0:
			w.fileStep(key+" dissolve", func(ctx context.Context, n *node) (err error) {
				_, err = n.app.Batches.Dissolve(ctx, operator, b.ID)
				return err
			})
		case b.Status == pay.BatchMade:
			w.fileStep(key+" approve", func(ctx context.Context, n *node) (err error) {
				_, err = n.app.Batches.Approve(ctx, cashier, b.ID)
				return err
			})
			if chance.IntN(2) == 0 {
				w.upload(key, b)
			}
		case b.Status == pay.BatchApproved, b.Status == pay.BatchExported && (!w.counter.files[b.ID] || chance.IntN(20) == 0):
			w.upload(key, b)
		}
	}
}

// fileStep is a request of the operators.
func (w *world) fileStep(key string, do func(context.Context, *node) error) (heard bool, err error) {
	err, heard = w.ask(key, patience, do)
	w.saidOfFile(heard, err)
	return heard, err
}

// upload exports a file and brings it to the bank. If it must not leave, the batch is taken apart.
func (w *world) upload(key string, b pay.Batch) {
	var file []byte
	heard, err := w.fileStep(key+" export", func(ctx context.Context, n *node) (err error) {
		file, _, err = n.app.Batches.Export(ctx, operator, b.ID)
		return err
	})
	if heard && err == nil {
		w.counter.take(w, b.ID, file)
	}
	if refused, is := errors.AsType[*problem.Error](err); is && refused.Code == problem.ConflictState && b.MayDissolve() {
		w.fileStep(key+" give up", func(ctx context.Context, n *node) error {
			_, err := n.app.Batches.Dissolve(ctx, operator, b.ID)
			return err
		})
	}
}

// saidOfFile counts an answer to the operators. That something has changed meanwhile is a true answer.
func (w *world) saidOfFile(heard bool, err error) {
	refused, is := errors.AsType[*problem.Error](err)
	switch {
	case !heard, unclear(err):
	case err == nil:
		w.count("steps of files for banks")
	case !is || refused.Code != problem.ConflictState:
		w.find(operatorWorks, "", "%v", err)
	}
}

// take reads a file as the bank does.
func (c *counter) take(w *world, id string, file []byte) {
	if c.files[id] {
		return // it has it already
	}
	c.files[id] = true
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		w.find(payoutsAgree, "", "the bank cannot read the file of %s: %v", id, err)
		return
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for _, row := range rows[1:] {
		ref := row[column("reference")]
		amount, err := money.Parse(row[column("amount")], money.Currency(row[column("currency")]))
		if known := c.lines[ref]; known != nil || err != nil {
			w.find(payoutsAgree, "", "line %s of %s was in another file, or has no amount (%v)", ref, id, err)
			continue
		}
		w.gates.sentTo(w, "", ref)
		c.lines[ref] = &fileLine{ref: ref, amount: amount, status: "open"}
		w.count("lines of files for banks")
	}
}

// work is what the bank does with its lines until its next answer.
func (c *counter) work(w *world, chance *rand.Rand) {
	for _, ref := range slices.Sorted(maps.Keys(c.lines)) {
		line := c.lines[ref]
		say := func(status string, amount string) {
			line.news = append(line.news, strings.Join([]string{ref, status, amount, string(line.amount.Currency), "B" + ref, "2000-01-05", ""}, ","))
		}
		switch {
		case line.status == "open" && c.strict && chance.IntN(5) == 0:
			line.status = "rejected"
			say("rejected", "")
		case line.status == "open" && chance.IntN(3) > 0:
			line.status = "paid"
			say([]string{"paid", "liquidado", "pagado"}[chance.IntN(3)], line.amount.Decimal())
		case line.status == "open":
			say("pending", "")
		case line.status == "paid" && line.back == 0 && c.strict && chance.IntN(12) == 0 && line.amount.Minor > 100:
			line.back = 20 + chance.Int64N(line.amount.Minor/2) // a part; one of less than a cent would be nothing
			say("returned", money.New(line.back, line.amount.Currency).Decimal())
			w.count("parts of lines that came back")
		case line.status == "paid" && line.back == 0 && c.strict && chance.IntN(12) == 0:
			line.status = "returned"
			say("devuelto", line.amount.Decimal())
			w.count("lines that came back")
		}
	}
}

// answer is the bank's table of all that it did, in its order, or the last part of that.
func (c *counter) answer(whole bool, chance *rand.Rand) []byte {
	var rows []string
	for _, ref := range slices.Sorted(maps.Keys(c.lines)) {
		rows = append(rows, c.lines[ref].news...)
	}
	if len(rows) > 1 && !whole {
		rows = rows[chance.IntN(len(rows)):]
	}
	rows = append(rows, "ZZ9,paid,1.00,MXN,X,2000-01-05,") // somebody else's
	return []byte("reference,status,amount,currency,bank_reference,date,code\n" + strings.Join(rows, "\n") + "\n")
}

// readAnswers imports the bank's present answer, and sometimes an older one, each once or twice.
func (w *world) readAnswers(tag string, chance *rand.Rand) {
	c, news := w.counter, 0
	for _, line := range c.lines {
		news += len(line.news)
	}
	if news == 0 || news == c.told && chance.IntN(6) > 0 { // the bank has nothing new
		return
	}
	w.telephone(tag, chance)
	whole := chance.IntN(2) == 0
	c.answers = append(c.answers, c.answer(whole, chance))
	list := [][]byte{c.answers[len(c.answers)-1]}
	if chance.IntN(3) == 0 {
		list = append(list, list[0], c.answers[chance.IntN(len(c.answers))])
	}
	for i, file := range list {
		err, heard := w.ask(fmt.Sprint(tag, " reads ", i), patience, func(ctx context.Context, n *node) error {
			_, err := n.app.Batches.ImportAnswers(ctx, operator, filed, file)
			return err
		})
		if w.saidOfFile(heard, err); heard && err == nil {
			w.count("answers of banks")
			if i == 0 && whole {
				c.told = news
			}
		}
	}
}

// telephone lets the bank tell the operator of one payment before its answer is read.
func (w *world) telephone(tag string, chance *rand.Rand) {
	refs := slices.Sorted(maps.Keys(w.counter.lines))
	ref := refs[chance.IntN(len(refs))]
	out, err := w.eye.Withdrawals().At(context.Background(), filed, ref)
	if chance.IntN(3) > 0 || err != nil || w.counter.lines[ref].status != "paid" || w.counter.lines[ref].back > 0 {
		return
	}
	err, heard := w.ask(tag+" hears of "+ref, patience, func(ctx context.Context, n *node) error {
		_, _, err := n.app.Payouts.ResolveWithdrawal(ctx, operator, base.Resolution{ID: out.ID, Word: pay.WordPaid, Note: "they called"})
		return err
	})
	w.saidOfFile(heard, err)
}

// checkFiles compares the withdrawals that left in files with the bank's books.
func (w *world) checkFiles(all *books) {
	c, of := w.counter, map[string]pay.Withdrawal{}
	for _, out := range all.withdrawn {
		if out.Payout.Provider != filed {
			continue
		}
		line := c.lines[out.Payout.ProviderRef]
		if line == nil {
			if out.Status == pay.WithdrawalDone {
				w.find(payoutsAgree, out.ID, "withdrawal %s is paid, and no file with it reached the bank", out.ID)
			}
			continue
		}
		of[line.ref] = out
		switch paid := line.status == "paid"; {
		case (out.Status == pay.WithdrawalDone) != paid:
			w.find(payoutsAgree, out.ID, "withdrawal %s is %s, and line %s of the bank is %s", out.ID, out.Status, line.ref, line.status)
		case out.Local != line.amount:
			w.find(payoutsAgree, out.ID, "withdrawal %s pays %s, and line %s of the bank %s", out.ID, out.Local, line.ref, line.amount)
		case paid && out.ReturnedLocal != line.back:
			w.find(payoutsAgree, out.ID, "%d of withdrawal %s came back, the bank sent %d", out.ReturnedLocal, out.ID, line.back)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(c.lines)) {
		if _, known := of[ref]; !known && c.lines[ref].status == "paid" {
			w.find(payoutsAgree, "", "the bank paid line %s, and no withdrawal is in it", ref)
		}
	}
}
