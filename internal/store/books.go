package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var transfersTable = describe(table[ledger.Transfer]{
	name: "transfers",
	of:   func(c *pay.Change) []ledger.Transfer { return c.Transfers },
	id:   func(t *ledger.Transfer) string { return t.ID },
	fields: func(f *fields, t *ledger.Transfer) {
		f.text("id!", &t.ID)
		f.text("merchant!", &t.Merchant)
		f.flag("live!", &t.Live)
		word(f, "kind!", &t.Kind)
		f.text("payment!", &t.Payment)
		f.text("claim!", &t.Claim)
		f.number("amount_local!", &t.Local.Minor) // a memo: "" is its currency where there is none
		word(f, "currency_local!", &t.Local.Currency)
		f.time("at!", &t.At)
		f.converted("postings!", func() string { return postings(t) }, func(text string) (err error) {
			t.Postings, err = parsePostings(text)
			return err
		})
	},
})

// A row of balances has a column per account, and how many movements they are. balanceColumns are those that
// are read, of balances AS b.
var (
	balanceSpec = func() string {
		spec := "merchant TEXT, live BOOLEAN, "
		for _, account := range ledger.Accounts() {
			spec += string(account) + " BIGINT, "
		}
		return spec + "movements BIGINT"
	}()
	balanceRows    = engine.ParseColumns(balanceSpec)
	balanceColumns = func() string {
		list := "b.merchant, b.live"
		for _, account := range ledger.Accounts() {
			list += ", b." + string(account)
		}
		return list
	}()
)

// upsertBalances adds the deltas to the balances.
var upsertBalances = engine.Statement(func() string {
	var names, sets []string
	for _, c := range balanceRows {
		names = append(names, c.Name)
		if c.Kind == "BIGINT" {
			sets = append(sets, c.Name+" = balances."+c.Name+" + excluded."+c.Name)
		}
	}
	columns := strings.Join(names, ", ")
	return "INSERT INTO balances (" + columns + ") SELECT " + columns + " FROM {rows: " + balanceSpec + "} AS r WHERE {unless lost}" +
		" ON CONFLICT (merchant, live) DO UPDATE SET " + strings.Join(sets, ", ")
}())

func scanBalances(r engine.Row) (purse, ledger.Balances, error) {
	var t purse
	accounts := ledger.Accounts()
	amounts := make([]int64, len(accounts))
	into := []any{&t.merchant, &t.live}
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

var selectBalances = engine.Statement(`SELECT ` + balanceColumns + ` FROM balances AS b WHERE b.merchant = $1 AND b.live = $2`)

// Balances reads the merchant's balances; all zero before the first transfer.
func (s *Books) Balances(ctx context.Context, scope tenant.Scope) (ledger.Balances, error) {
	b, err := one(ctx, s, selectBalances, func(r engine.Row) (ledger.Balances, error) {
		_, b, err := scanBalances(r)
		return b, err
	}, scope.Merchant, scope.Live)
	if errors.Is(err, ErrNotFound) {
		return ledger.Balances{}, nil
	}
	return b, err
}

// postings is a transfer's lines as they are stored: a JSON object.
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

// Floats reads all floats, in the order of account and currency.
func (s *Books) Floats(ctx context.Context) ([]pay.Float, error) {
	return many(ctx, s, selectFloats, func(r engine.Row) (pay.Float, error) {
		of, balances, err := scanBalances(r)
		f, _ := pay.NewFloat(of.merchant, of.live, balances)
		return f, err
	})
}

// HasTransfer reports whether a transfer was booked.
func (s *Books) HasTransfer(ctx context.Context, id string) (bool, error) {
	found, err := many(ctx, s, selectTransfer, scanID, id)
	return len(found) > 0, err
}

// The owners of floats stand together: 0 follows the slash.
var (
	selectFloats = engine.Statement(`SELECT ` + balanceColumns + ` FROM balances AS b WHERE b.merchant >= 'float/' AND b.merchant < 'float0' ORDER BY b.merchant, b.live`)

	selectTransfer = engine.Statement(`SELECT id FROM transfers WHERE id = $1`)
)
