package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
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
		f.amount("amount_local!", "currency_local!", &t.Local)
		f.time("at!", &t.At)
		f.converted("postings!", func() string { return postings(t) }, func(text string) (err error) {
			t.Postings, err = parsePostings(text)
			return err
		})
	},
})

const balanceColumns = `b.merchant, b.live, b.pending, b.available, b.frozen, b.reserve, b.suspense, b.receivable,
  b.platform_fees, b.provider_fees, b.flat_fees, b.network_fees, b.chargeback_fees, b.refunds, b.chargebacks,
  b.in_transit, b.paid_out, b.withdrawal_fees, b.float, b.float_committed, b.float_paid, b.float_funding`

// balanceRows is the row of deltas: a column per account, in ledger.Accounts'
// order, and how many movements they are.
var balanceRows = engine.ParseColumns(balanceSpec)

const balanceSpec = `merchant TEXT, live BOOLEAN, pending BIGINT, available BIGINT, frozen BIGINT, reserve BIGINT, suspense BIGINT,
  receivable BIGINT, platform_fees BIGINT, provider_fees BIGINT, flat_fees BIGINT, network_fees BIGINT, chargeback_fees BIGINT,
  refunds BIGINT, chargebacks BIGINT, in_transit BIGINT, paid_out BIGINT, withdrawal_fees BIGINT,
  float BIGINT, float_committed BIGINT, float_paid BIGINT, float_funding BIGINT, movements BIGINT`

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

func scanBalances(r engine.Row) (tenant, ledger.Balances, error) {
	var t tenant
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
func (s *Store) Balances(ctx context.Context, scope pay.Scope) (ledger.Balances, error) {
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
