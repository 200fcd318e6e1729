package store

import (
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
)

// The tables that Commit writes. What a column holds is said in schema.sql.
var (
	onceTable = newTable("once", "id TEXT!, hash TEXT!, object TEXT!, at BIGINT!",
		func(o pay.Once) string { return o.Key }, nil,
		func(o pay.Once) []any { return []any{o.Key, o.Hash, o.Object, micros(o.At)} }).onceOnly()

	receiptsTable = newTable("receipts", "id TEXT!, account TEXT!, payment TEXT!, verdict TEXT!, body TEXT!, at BIGINT!",
		func(r pay.Receipt) string { return r.ID }, nil,
		func(r pay.Receipt) []any {
			return []any{r.ID, r.Account, r.Payment, string(r.Verdict), string(r.Body), micros(r.At)}
		}).onceOnly()

	transfersTable = newTable("transfers", "id TEXT!, merchant TEXT!, live BOOLEAN!, kind TEXT!, payment TEXT!, claim TEXT!, "+
		"amount_local BIGINT!, currency_local TEXT!, at BIGINT!, postings TEXT!",
		func(t ledger.Transfer) string { return t.ID }, nil,
		func(t ledger.Transfer) []any {
			return []any{t.ID, t.Merchant, t.Live, string(t.Kind), t.Payment, t.Claim,
				t.Local.Minor, string(t.Local.Currency), micros(t.At), postings(t)}
		})

	eventsTable = newTable("events", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, type TEXT!, object TEXT!, "+
		"sequence BIGINT!, at BIGINT!, payload TEXT!",
		func(e pay.Event) string { return e.ID }, nil,
		func(e pay.Event) []any {
			return []any{e.ID, e.Merchant, e.Shop, e.Live, string(e.Type), e.Object, e.Sequence, micros(e.At), string(e.Payload)}
		})

	shopsTable = newTable("shops", "id TEXT!, version BIGINT, merchant TEXT!, name TEXT, slug TEXT, created_at BIGINT!",
		func(s pay.Shop) string { return s.ID }, func(s pay.Shop) int64 { return s.Version },
		func(s pay.Shop) []any { return []any{s.ID, s.Version, s.Merchant, s.Name, s.Slug, micros(s.CreatedAt)} })

	merchantsTable = newTable("merchants", "id TEXT!, version BIGINT, name TEXT, email TEXT, industry TEXT, tier TEXT, "+
		"trust_score BIGINT, created_at BIGINT!",
		func(m pay.Merchant) string { return m.ID }, func(m pay.Merchant) int64 { return m.Version },
		func(m pay.Merchant) []any {
			return []any{m.ID, m.Version, m.Name, m.Email, m.Industry, string(m.Tier), int64(m.TrustScore), micros(m.CreatedAt)}
		})

	keysTable = newTable("keys", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, kind TEXT!, hash TEXT!, "+
		"preview TEXT!, created_at BIGINT!, revoked_at BIGINT",
		func(k pay.Key) string { return k.ID }, func(k pay.Key) int64 { return k.Version },
		func(k pay.Key) []any {
			return []any{k.ID, k.Merchant, k.Shop, k.Live, k.Version, string(k.Kind), k.Hash, k.Preview, micros(k.CreatedAt), micros(k.RevokedAt)}
		})

	loginsTable = newTable("logins", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, key_id TEXT!, "+
		"expires_at BIGINT, revoked_at BIGINT, created_at BIGINT!",
		func(l pay.Login) string { return l.ID }, func(l pay.Login) int64 { return l.Version },
		func(l pay.Login) []any {
			return []any{l.ID, l.Merchant, l.Shop, l.Live, l.Version, l.Key, micros(l.ExpiresAt), micros(l.RevokedAt), micros(l.CreatedAt)}
		})

	paymentsTable = newTable("payments", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, status TEXT, "+
		"amount BIGINT!, amount_local BIGINT!, currency_local TEXT!, rate TEXT!, rail TEXT!, method TEXT!, country TEXT!, "+
		"order_id TEXT!, refunded BIGINT, sequence BIGINT, due_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT",
		func(p pay.Payment) string { return p.ID }, func(p pay.Payment) int64 { return p.Version }, paymentRow)

	claimsTable = newTable("claims", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, kind TEXT!, status TEXT, "+
		"payment TEXT!, amount_local BIGINT!, currency_local TEXT!, amount BIGINT!, frozen BIGINT, "+
		"created_at BIGINT!, updated_at BIGINT, doc TEXT",
		func(c pay.Claim) string { return c.ID }, func(c pay.Claim) int64 { return c.Version }, claimRow)

	subscriptionsTable = newTable("subscriptions", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, "+
		"status TEXT, events TEXT, created_at BIGINT!, updated_at BIGINT, doc TEXT",
		func(s pay.Subscription) string { return s.ID }, func(s pay.Subscription) int64 { return s.Version }, subscriptionRow)

	deliveriesTable = newTable("deliveries", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, event TEXT!, "+
		"type TEXT!, subscription TEXT!, status TEXT, attempts BIGINT, budget BIGINT, due_at BIGINT, created_at BIGINT!, doc TEXT",
		func(d pay.Delivery) string { return d.ID }, func(d pay.Delivery) int64 { return d.Version }, deliveryRow)
)

// queries lists every statement of the package, for the engine's own form of
// it and for the test that prepares them all.
func queries() []string {
	list := []string{
		onceTable.insert, receiptsTable.insert, transfersTable.insert, eventsTable.insert,
		shopsTable.insert, merchantsTable.insert, merchantsTable.update, keysTable.insert, keysTable.update,
		loginsTable.insert, loginsTable.update, paymentsTable.insert, paymentsTable.update,
		claimsTable.insert, claimsTable.update, subscriptionsTable.insert, subscriptionsTable.update,
		deliveriesTable.update, fanOutDeliveries, upsertBalances, upsertCounters, selectBalancesForUpdate,
		selectBalances, selectPayment, selectAnyPayment, leasePayments, countPayments, countByOrder,
		selectOnce, selectMerchant, selectShop, selectShops, selectKeyByHash, selectKey, selectLogin, countMerchants,
		selectSecrets, insertSecret, selectRailIDs, insertRailID,
		selectSubscription, selectSubscriptions, countSubscriptions, selectDelivery, leaseDeliveries, oldestDue,
	}
	list = append(list, listQueries()...)
	return append(list, checkQueries()...)
}

// list is a set of words as one text column: ",a,b,".
func list(words []string) string { return "," + strings.Join(words, ",") + "," }

func unlist(text string) []string { return strings.Split(strings.Trim(text, ","), ",") }

// encode is a document as it is stored.
func encode(doc any) string {
	text, err := json.Marshal(doc)
	if err != nil {
		panic("store: a document that is no JSON: " + err.Error()) // our own types
	}
	return string(text)
}
