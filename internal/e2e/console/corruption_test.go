package console

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/vault"
)

// corruptions is how many of the corruptions one run makes: one of so many.
var corruptions = flag.Int("corruptions", 16, "make one of so many corruptions; 1 for all of them")

// lived is a service in which some of everything has happened, in the sandbox and in production. It is stopped.
func lived(t *testing.T) (database string, key *vault.Vault) {
	t.Helper()
	b := harness.NewPayer()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.Adapters, c.WalletCoolDown = append(c.Adapters, providertest.Plain(), b.Adapter()), time.Millisecond
		c.FX = daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
	})
	s.PayOutBy(t, "bank", accounts.NewAccount{ID: "bank-1"})
	s.Rate(t, "BRL 5.4", "MXN 18.35")
	u := providertest.NewUpstream(t, "key-1")
	s.OpenAccount(t, "plain-1", u)
	o := s.NewShop(t)
	o.Staff(t, people.Developer)
	user := harness.OperatorUser(t, o)
	user.Page(t, consolePath+"seals")

	inbox := harness.Inbox(t, o, `"*"`)
	paid := o.Create(t, harness.Card, "Idempotency-Key: lived-1")
	for _, ending := range []string{"paid", "failed", "expired"} {
		id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
		o.Simulate(t, id, ending).Want(t, http.StatusOK)
	}
	o.Create(t, `{"amount":12,"paymentMethodId":"sbx_cash"}`)
	o.PixOrder(t)
	_, disputed := o.Dispute(t, true)
	o.Post(t, "/claims/"+disputed+"/evidence", harness.EvidenceFile("application/pdf", "slip.pdf", []byte("%PDF-1.4 a slip"))).Want(t, http.StatusCreated)
	lost, _ := o.Dispute(t, true)
	harness.RuleClaim(t, o, lost, "lost")
	o.Refund(t, paid, `{"amount":5,"reason":"requested"}`)
	late := o.Create(t, `{"amount":31,"paymentMethodId":"sbx_cash"}`)
	s.AtBank(t, late, "late")
	refused := o.Create(t, `{"amount":32,"paymentMethodId":"sbx_cash"}`)
	s.AtBank(t, refused, "late")
	inquiry := o.Get(t, "/claims?transactionId="+refused).Text(t, "data.0.id")
	_, err := harness.DecideClaim(s.App, inquiry, pay.Reject, "the shop ships it")
	harness.Must(t, err)
	session := o.Session(t, `{"amount":25.50,"country":"br",`+harness.Ana+`}`)
	o.Shopper(session).Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated)
	o.Session(t, `{"amount":11,`+harness.Ana+`}`)
	link := o.Post(t, "/payment-links", `{"amount":12}`).Want(t, http.StatusCreated).Text(t, "id")
	_, _, to := s.Browse(t, http.MethodPost, "/l/"+link, "name=Ana&email=ana@b.example")
	token, _, _ := strings.Cut(strings.TrimPrefix(to.Get("Location"), "/checkout/"), "?")
	o.Shopper(token).Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated)
	o.Fund(t, false, 50_000)
	o.Wallet(t)
	o.Withdraw(t, "37")
	harness.MoveTestClock(t, o, "72h")
	o.Settle(t, "a settlement is closed and has a receipt", func() bool {
		r := o.Get(t, "/settlements?status=closed")
		url, ok := r.At(t, "data.0.pdfUrl")
		return r.Text(t, "pagination.total") != "0" && ok && url != nil
	})
	harness.Eventually(t, "the endpoint got its deliveries", func() bool {
		return o.Get(t, "/webhooks/"+inbox.ID+"/deliveries?status=delivered").Text(t, "pagination.total") != "0"
	})
	span := fmt.Sprintf(`{"from":%q,"to":%q}`, s.Clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339), s.Clock.Now().UTC().Format(time.RFC3339))
	o.Post(t, "/webhooks/"+inbox.ID+"/replay", span).Want(t, http.StatusOK)

	live := o.Production()
	v := live.Post(t, "/kyc/init", `{"level":"basic","subjectType":"company"}`).Want(t, http.StatusCreated).Text(t, "verificationId")
	harness.Must(t, s.App.Verifications.Decide(ctx, s.App.Verifications.Self(), v, merchants.KYCVerified, "", ""))
	live.Fund(t, true, 1_000_00)
	live.Wallet(t)
	s.Clock.Advance(time.Second)
	order := live.Create(t, strings.Replace(o.PixOrder(t), `"amount":10,`, `"amount":100,`, 1))
	s.TellUpstream(t, u, order, 1, "paid", "plain-1-hush").Want(t, http.StatusOK)
	_, err = s.App.Payouts.LimitPayouts(ctx, audit.Actor{Kind: audit.ByOperator, ID: "carla"}, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Hourly = 50_000 })
	harness.Must(t, err)
	done := live.Withdraw(t, "40")
	s.Clock.Advance(pay.WithdrawalHold(true))
	live.PayOut(t, done, "completed")
	live.Withdraw(t, "37")
	_, _, err = s.App.Payouts.ResolveWithdrawal(ctx, s.App.Self(), base.Resolution{ID: done, Word: pay.WordReturned, Amount: "20", Note: "the statement of today", Force: true})
	harness.Must(t, err)
	for _, amount := range []int64{12_50, -3_00} {
		made, err := s.App.Adjustments.Make(ctx, s.App.Self(), settlements.NewAdjustment{
			Merchant: o.Merchant.ID, Live: true, Amount: money.New(amount, money.USD), Reason: pay.ForFees, Note: "as agreed", Reference: fmt.Sprint("ticket ", amount), About: order})
		harness.Must(t, err)
		if amount < 0 {
			_, err = s.App.Adjustments.Reverse(ctx, s.App.Self(), made.ID, "it was another merchant's", false)
			harness.Must(t, err)
		}
	}
	require(t, s, operators.Limits)
	if _, err = s.App.Payouts.LimitPayouts(ctx, audit.Actor{Kind: audit.ByOperator, ID: "carla"}, o.Merchant.ID, true, func(l *pay.PayoutLimits) { l.Daily = 60_000 }); err == nil {
		t.Fatal("one person changes limits that need two")
	}
	harness.Eventually(t, "what was committed is sealed, and added up", func() bool {
		query, closeDB := s.Open(t)
		defer closeDB()
		return query("SELECT count(*) FROM unsealed")[0] == "0" && query("SELECT count(*) FROM facts")[0] == "0"
	})
	s.End(t)
	return s.Database, s.Vault
}

// corruption changes one value of one row.
type corruption struct {
	table, column string
	field         string // of a JSON document, "" for the whole column
	way           string
	row           int64 // rowid
	was, becomes  any
}

func (c corruption) String() string {
	name := c.table + "." + c.column
	if c.field != "" {
		name += "." + c.field
	}
	return fmt.Sprintf("%s, %s: %.60v becomes %.60v", name, c.way, c.was, c.becomes)
}

// mustBeFound reports whether the check has to find it, by what has been said of the column.
func (c corruption) mustBeFound(t *testing.T) bool {
	a, ok := check.AnswerOf(c.table, c.column)
	if !ok {
		t.Errorf("nobody has said what finds a changed value in %s.%s", c.table, c.column)
	}
	switch a.How {
	case check.Free:
		return c.way == plainText
	case check.ByBound:
		return c.way == farAway
	}
	return true
}

const (
	farAway   = "in the year 2100" // a time
	plainText = "plain text"       // over one that is encrypted for its row
)

var thatYear = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// corruptionsOf lists the corruptions of each column of each table, from the schema, and of each field of each document, from the
// rows. It names the tables that have no rows.
func corruptionsOf(t *testing.T, db *sql.DB) (list []corruption, empty []string) {
	t.Helper()
	for _, table := range column[string](t, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) {
		rows := column[int64](t, db, "SELECT rowid FROM "+table+" ORDER BY rowid")
		if len(rows) == 0 {
			empty = append(empty, table)
			continue
		}
		for _, name := range column[string](t, db, "SELECT name FROM pragma_table_info('"+table+"') ORDER BY cid") {
			list = append(list, ofColumn(t, db, table, name)...)
		}
	}
	return list, empty
}

// ofColumn lists the corruptions of one column: of the row with the largest value, and for each field of a document of the first
// row that has it.
func ofColumn(t *testing.T, db *sql.DB, table, name string) (list []corruption) {
	t.Helper()
	found, err := db.QueryContext(ctx, fmt.Sprintf("SELECT rowid, %[1]s FROM %[2]s ORDER BY %[1]s DESC", name, table))
	harness.Must(t, err)
	defer found.Close()
	var of []corruption
	for found.Next() {
		c := corruption{table: table, column: name}
		harness.Must(t, found.Scan(&c.row, &c.was))
		of = append(of, c)
	}
	harness.Must(t, found.Err())
	first := of[0]
	add := func(c corruption, way string, value any) {
		c.way, c.becomes = way, value
		if !reflect.DeepEqual(c.becomes, c.was) {
			list = append(list, c)
		}
	}
	for _, c := range of[1:] {
		if !reflect.DeepEqual(c.was, first.was) {
			add(first, "the value of another row", c.was)
			break
		}
	}
	switch was := first.was.(type) {
	case int64:
		if was != 0 && was != 1 {
			add(first, "doubled", 2*was)
		}
		add(first, "one more", was+1)
		add(first, "nothing", int64(0))
		if strings.HasSuffix(name, "_at") || was > thatYear/4 {
			add(first, farAway, thatYear)
		}
	case string:
		if table+"."+name == "receipts.body" {
			add(first, plainText, `{"amount":"5400.00"}`)
		}
		add(first, "nothing", "")
		add(first, "one letter more", was+"x")
	case []byte:
		add(first, "nothing", []byte{})
		add(first, "one byte more", append(slices.Clone(was), 0))
		add(first, "one byte other", append(slices.Clone(was[:len(was)-1]), was[len(was)-1]^1))
	}
	seen := map[string]bool{}
	for _, c := range of {
		text, _ := c.was.(string)
		var doc map[string]any
		if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &doc) != nil {
			continue
		}
		for _, path := range paths(doc, nil) {
			if c.field = strings.Join(path, "."); seen[c.field] || len(seen) > 120 {
				continue
			}
			seen[c.field] = true
			add(c, "gone", changed(t, text, path, nil))
			add(c, "other", changed(t, text, path, other))
		}
	}
	return list
}

// paths lists the paths of a document's values, also those of inner objects.
func paths(doc map[string]any, before []string) (list [][]string) {
	for name, v := range doc {
		at := append(slices.Clone(before), name)
		switch v := v.(type) {
		case map[string]any:
			list = append(list, paths(v, at)...)
		case []any:
			if len(v) > 0 {
				if inner, ok := v[0].(map[string]any); ok {
					list = append(list, paths(map[string]any{"0": inner}, at)...)
				}
			}
			list = append(list, at)
		default:
			list = append(list, at)
		}
	}
	slices.SortFunc(list, slices.Compare[[]string])
	return list
}

// changed returns a document with another value at a path; without it if value is nil.
func changed(t *testing.T, text string, path []string, value func(any) any) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc any
	harness.Must(t, d.Decode(&doc))
	in := doc
	for _, name := range path[:len(path)-1] {
		if list, ok := in.([]any); ok {
			in = list[0]
			continue
		}
		in = in.(map[string]any)[name]
	}
	object, ok := in.(map[string]any)
	if !ok {
		return text
	}
	last := path[len(path)-1]
	if value == nil {
		delete(object, last)
	} else {
		object[last] = value(object[last])
	}
	out, err := json.Marshal(doc)
	harness.Must(t, err)
	return string(out)
}

// other is another value of the same type.
func other(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number("1" + strings.TrimPrefix(v.String(), "-"))
	case bool:
		return !v
	case string:
		return v + "x"
	}
	return []any{}
}

// column reads a column.
func column[T any](t *testing.T, db *sql.DB, text string) (list []T) {
	t.Helper()
	rows, err := db.QueryContext(ctx, text)
	harness.Must(t, err)
	defer rows.Close()
	for rows.Next() {
		var v T
		harness.Must(t, rows.Scan(&v))
		list = append(list, v)
	}
	harness.Must(t, rows.Err())
	return list
}

// The check finds whatever somebody changes in a database, one value at a time, except in the columns that are named free.
// The corruptions are made of the schema and of the documents' fields, so new ones come by themselves. A run makes some of
// them; -corruptions 1 makes all.
func TestCheckFindsWhatSomebodyChanged(t *testing.T) {
	t.Parallel()
	if dbtest.Only() == "postgres" {
		return // the rules are the same texts on both engines
	}
	database, key := lived(t)
	path := strings.TrimPrefix(database, "sqlite:")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)")
	harness.Must(t, err)
	defer db.Close()
	for _, trigger := range column[string](t, db, `SELECT name FROM sqlite_master WHERE type = 'trigger'`) {
		_, err := db.ExecContext(ctx, "DROP TRIGGER "+trigger)
		harness.Must(t, err)
	}
	r, err := check.OpenReader(ctx, database, nil)
	harness.Must(t, err)
	defer r.Close()
	r.SealWith(key.Key("blocks"))
	clean := func() check.Checked {
		done, err := r.Check(ctx, check.Options{})
		harness.Must(t, err)
		return done
	}
	for _, b := range clean().Broken {
		t.Fatalf("before anything is changed: %s", b)
	}
	list, empty := corruptionsOf(t, db)
	t.Logf("%d corruptions; without rows: %v", len(list), empty)
	if len(list) < 600 || len(empty) > 23 {
		t.Errorf("there are only %d corruptions, and these tables have no rows: %v", len(list), empty)
	}
	made, found, alone, free, harmless, refused := 0, 0, 0, 0, 0, 0
	began := time.Now()
	for i, c := range list {
		if i%*corruptions != 0 {
			continue
		}
		set := fmt.Sprintf("UPDATE %s SET %s = $1 WHERE rowid = $2", c.table, c.column)
		if _, err := db.ExecContext(ctx, set, c.becomes, c.row); err != nil {
			refused++ // a unique index
			continue
		}
		made++
		done, err := r.Check(ctx, check.Options{})
		_, undone := db.ExecContext(ctx, set, c.was, c.row)
		harness.Must(t, undone)
		a, _ := check.AnswerOf(c.table, c.column)
		switch {
		case err != nil || len(done.Broken) > 0:
			found++
			if err != nil || slices.ContainsFunc(done.Broken, func(b check.Broken) bool { return !strings.Contains(b.Note, "somebody") }) {
				alone++
			}
		case c.mustBeFound(t):
			t.Errorf("the check does not find %s", c)
		case a.How == check.Free:
			free++
		default:
			harmless++
		}
	}
	for _, b := range clean().Broken {
		t.Errorf("after everything was put back: %s", b)
	}
	t.Logf("%d corruptions made, %d found (%d of them without the rows' hashes), %d in columns that are free, %d harmless times, %d refused by the database; %s a check",
		made, found, alone, free, harmless, refused, (time.Since(began) / time.Duration(max(made, 1))).Round(time.Millisecond))
}
