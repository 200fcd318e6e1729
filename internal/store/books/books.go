package books

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/cascadapay/cascada/internal/ledger"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// TransfersTable is the table transfers.
var TransfersTable = table.Describe(table.Table[ledger.Transfer]{
	Name: "transfers",
	Lock: 480,
	Of:   func(c *pay.Change) []ledger.Transfer { return c.Transfers },
	ID:   func(t *ledger.Transfer) string { return t.ID },
	Fields: func(f *table.Fields, t *ledger.Transfer) {
		f.Text("id!", &t.ID)
		f.Text("merchant!", &t.Merchant)
		f.Flag("live!", &t.Live)
		table.Word(f, "kind!", &t.Kind)
		f.Text("payment!", &t.Payment)
		f.Text("claim!", &t.Claim)
		f.Number("amount_local!", &t.Local.Minor) // a memo; the currency is "" without one
		table.Word(f, "currency_local!", &t.Local.Currency)
		f.Text("memo!", &t.Memo)
		f.Time("at!", &t.At)
		f.Time("settles_at!", &t.Settles)
		f.Converted("postings!", func() string { return postings(t) }, func(text string) (err error) {
			t.Postings, err = parsePostings(text)
			return err
		})
	},
})

// A row of balances has a column per account, and the number of movements. BalanceColumns are the columns
// to read, of balances AS b.
var (
	BalanceSpec = func() string {
		spec := "merchant TEXT, live BOOLEAN, "
		for _, account := range ledger.Accounts() {
			spec += string(account) + " BIGINT, "
		}
		return spec + "movements BIGINT"
	}()
	BalanceColumns = func() string {
		list := "b.merchant, b.live"
		for _, account := range ledger.Accounts() {
			list += ", b." + string(account)
		}
		return list
	}()
)

// ScanBalances reads a row of BalanceColumns, in USD cents.
func ScanBalances(r engine.Row) (Purse, ledger.Balances, error) {
	var t Purse
	accounts := ledger.Accounts()
	amounts := make([]int64, len(accounts))
	into := []any{&t.Merchant, &t.Live}
	for i := range amounts {
		into = append(into, &amounts[i])
	}
	if err := r.Scan(into...); err != nil {
		return t, nil, err
	}
	b := make(ledger.Balances, len(accounts))
	for i, a := range accounts {
		b[a] = amounts[i]
	}
	return t, b, nil
}

var selectBalances = engine.Statement(`SELECT ` + BalanceColumns + ` FROM balances AS b WHERE b.merchant = $1 AND b.live = $2`)

// Balances reads the merchant's balances, in USD cents; all zero before the first transfer.
func (bo Books) Balances(ctx context.Context, scope merchants.Scope) (ledger.Balances, error) {
	b, err := base.One(ctx, bo.b, selectBalances, func(r engine.Row) (ledger.Balances, error) {
		_, b, err := ScanBalances(r)
		return b, err
	}, scope.Merchant, scope.Live)
	if errors.Is(err, base.ErrNotFound) {
		return ledger.Balances{}, nil
	}
	return b, err
}

// postings is a transfer's lines as stored: a JSON object.
func postings(t *ledger.Transfer) string {
	b := make([]byte, 0, 32*len(t.Postings))
	for i, p := range t.Postings {
		b = append(b, ",{"[engine.Bit(i == 0)])
		b = engine.AppendJSONText(b, string(p.Account))
		b = append(b, ':')
		b = strconv.AppendInt(b, p.Amount, 10)
	}
	return string(append(b, '}'))
}

// Floats reads all floats, by account and currency.
func (bo Books) Floats(ctx context.Context) ([]pay.Float, error) {
	return base.Many(ctx, bo.b, selectFloats, func(r engine.Row) (pay.Float, error) {
		of, balances, err := ScanBalances(r)
		f, _ := pay.NewFloat(of.Merchant, of.Live, balances)
		return f, err
	})
}

// A merchant's transfers from a time on, with the balances: both are of one moment.
var selectSince = engine.Statement(`
SELECT t.id, t.kind, t.payment, t.claim, t.at, t.amount_local, t.currency_local, t.postings, ` + BalanceColumns + `
FROM transfers AS t JOIN balances AS b ON b.merchant = $1 AND b.live = $2
WHERE t.merchant = $1 AND t.live = $2 AND t.at >= $3 ORDER BY t.at, t.id`)

// Since passes each of the merchant's transfers from a time on to each, oldest first, and returns the balances of the moment at
// which they were read, in USD cents.
func (bo Books) Since(ctx context.Context, scope merchants.Scope, from time.Time, each func(ledger.Transfer)) (now ledger.Balances, err error) {
	err = bo.b.Query(ctx, selectSince, []any{scope.Merchant, scope.Live, table.Micros(from)}, func(r engine.Row) error {
		t := ledger.Transfer{Merchant: scope.Merchant, Live: scope.Live}
		var at int64
		var text string
		var err error
		_, now, err = ScanBalances(rowFunc(func(dest ...any) error {
			return r.Scan(append([]any{&t.ID, &t.Kind, &t.Payment, &t.Claim, &at, &t.Local.Minor, &t.Local.Currency, &text}, dest...)...)
		}))
		if err != nil {
			return err
		}
		t.At = table.FromMicros(at)
		if t.Postings, err = parsePostings(text); err == nil {
			each(t)
		}
		return err
	})
	if err != nil || now != nil {
		return now, err
	}
	return bo.Balances(ctx, scope) // nothing moved since
}

// A merchant's transfers by kind and time, after one, as transfers_list has them.
var (
	nextTransfers = engine.Statement(`
SELECT ` + TransfersTable.List + ` FROM transfers
WHERE merchant = $1 AND live = $2 AND kind = $3 AND at >= $4 AND (at > $4 OR id > $5) ORDER BY at, id LIMIT $6`)
	nextKind = engine.Statement(`SELECT coalesce(min(kind), '') FROM transfers WHERE merchant = $1 AND live = $2 AND kind > $3`)
)

// Next reads a merchant's transfers by kind and time, after one; the zero value: from the first. A page may have fewer than limit rows and
// more may follow: an empty one is the end.
func (bo Books) Next(ctx context.Context, scope merchants.Scope, after ledger.Transfer, limit int) ([]ledger.Transfer, error) {
	for kind, at, id := string(after.Kind), table.Micros(after.At), after.ID; ; at, id = 0, "" {
		if kind != "" {
			list, err := base.Many(ctx, bo.b, nextTransfers, TransfersTable.Scan(bo.b.Personal), scope.Merchant, scope.Live, kind, at, id, limit)
			if err != nil || len(list) > 0 {
				return list, err
			}
		}
		next, err := base.One(ctx, bo.b, nextKind, base.ScanID, scope.Merchant, scope.Live, kind)
		if err != nil || next == "" {
			return nil, err
		}
		kind = next
	}
}

// HasTransfer reports whether a transfer is booked.
func (bo Books) HasTransfer(ctx context.Context, id string) (bool, error) {
	found, err := base.Many(ctx, bo.b, selectTransfer, base.ScanID, id)
	return len(found) > 0, err
}

// A transfer is named after its payment or claim.
var transfersAbout = engine.Statement(`
SELECT ` + TransfersTable.List + ` FROM transfers
WHERE id > 'tr_' || substr($1, 5) || '-' AND id < 'tr_' || substr($1, 5) || '.' AND merchant = $2 AND live = $3 ORDER BY at, id`)

// About reads the transfers of one payment or claim of the scope's merchant, oldest first.
func (bo Books) About(ctx context.Context, scope merchants.Scope, object string) ([]ledger.Transfer, error) {
	return base.Many(ctx, bo.b, transfersAbout, TransfersTable.Scan(bo.b.Personal), object, scope.Merchant, scope.Live)
}

// Owners of floats form one range of ids: '0' follows '/'.
var (
	selectFloats = engine.Statement(`SELECT ` + BalanceColumns + ` FROM balances AS b WHERE b.merchant >= 'float/' AND b.merchant < 'float0' ORDER BY b.merchant, b.live`)

	selectTransfer = engine.Statement(`SELECT id FROM transfers WHERE id = $1`)
)

// Books are balances and transfers.
type Books struct{ b *base.Base }

// Books returns the database's Books.
func (o OfBooks) Books() Books { return Books(o) }

// Booked lists merchants with books in an environment, by id, after one.
func (bo Books) Booked(ctx context.Context, live bool, after string, limit int) ([]string, error) {
	return base.Many(ctx, bo.b, selectBooked, func(r engine.Row) (id string, err error) { return id, r.Scan(&id) }, live, after, limit)
}

// Booking is a transfer with the payment and claim it belongs to.
type Booking struct {
	ID      string
	Payment string
	Claim   string // "" for a capture
	At      time.Time
}

// Bookings lists a merchant's transfers of a kind in the half-open span [from, to), by time. At from itself
// it starts after a given transfer.
func (bo Books) Bookings(ctx context.Context, merchant string, live bool, kind ledger.Kind, from, to time.Time, after string, limit int) ([]Booking, error) {
	return base.Many(ctx, bo.b, selectBookings, func(r engine.Row) (b Booking, err error) {
		var at int64
		err = r.Scan(&b.ID, &b.Payment, &b.Claim, &at)
		b.At = table.FromMicros(at)
		return b, err
	}, merchant, live, string(kind), table.Micros(from), table.Micros(to), after, limit)
}

var (
	// Merchants with money moved by providers, after one.
	selectBooked = engine.Statement(`SELECT merchant FROM balances WHERE live = $1 AND merchant > $2 ORDER BY merchant LIMIT $3`)

	// Walks the index of a merchant's transfers by kind and time: a period's captures are found by capture
	// time, however old the payment is.
	selectBookings = engine.Statement(`
SELECT t.id, t.payment, t.claim, t.at FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = $3 AND t.at >= $4 AND t.at < $5 AND (t.at > $4 OR t.id > $6)
ORDER BY t.at, t.id LIMIT $7`)
)

// Purse is the owner of a balance.
type Purse struct {
	Merchant string
	Live     bool
}

// Compare orders purses as balances are locked.
func (p Purse) Compare(o Purse) int {
	return cmp.Or(strings.Compare(p.Merchant, o.Merchant), engine.Bit(p.Live)-engine.Bit(o.Live))
}

// parsePostings reads the lines of a transfer, sorted by the chart of accounts.
func parsePostings(text string) ([]ledger.Posting, error) {
	var amounts map[ledger.Account]int64
	if err := json.Unmarshal([]byte(text), &amounts); err != nil {
		return nil, fmt.Errorf("postings: %w", err)
	}
	list := make([]ledger.Posting, 0, len(amounts))
	for _, account := range ledger.Accounts() {
		if amount, ok := amounts[account]; ok {
			list = append(list, ledger.Posting{Account: account, Amount: amount})
		}
	}
	return list, nil
}
