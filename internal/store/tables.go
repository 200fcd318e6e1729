package store

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
)

// The tables that Commit writes. What a column holds is said in migrations/.
var (
	onceTable = newTable("once", "id TEXT!, hash TEXT!, object TEXT!, at BIGINT!",
		func(o *pay.Once) string { return o.Key }, nil,
		func(r *rows, o *pay.Once) { r.text(o.Key, o.Hash, o.Object).number(micros(o.At)) }).onceOnly()

	receiptsTable = newTable("receipts", "id TEXT!, account TEXT!, payment TEXT!, verdict TEXT!, body TEXT!, at BIGINT!",
		func(n *pay.Receipt) string { return n.ID }, nil,
		func(r *rows, n *pay.Receipt) {
			r.text(n.ID, n.Account, n.Payment, string(n.Verdict), r.seal(receiptBody.about(n.ID), n.Body)).number(micros(n.At))
		}).onceOnly()

	transfersTable = newTable("transfers", "id TEXT!, merchant TEXT!, live BOOLEAN!, kind TEXT!, payment TEXT!, claim TEXT!, "+
		"amount_local BIGINT!, currency_local TEXT!, at BIGINT!, postings TEXT!",
		func(t *ledger.Transfer) string { return t.ID }, nil,
		func(r *rows, t *ledger.Transfer) {
			r.text(t.ID, t.Merchant).flag(t.Live).text(string(t.Kind), t.Payment, t.Claim).number(t.Local.Minor).
				text(string(t.Local.Currency)).number(micros(t.At)).text(postings(t))
		})

	eventsTable = newTable("events", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, type TEXT!, object TEXT!, "+
		"sequence BIGINT!, at BIGINT!, payload TEXT!",
		func(e *pay.Event) string { return e.ID }, nil,
		func(r *rows, e *pay.Event) {
			r.text(e.ID, e.Merchant, e.Shop).flag(e.Live).text(string(e.Type), e.Object).number(e.Sequence, micros(e.At)).
				text(payload(r.personal, e))
		}).where(`NOT ` + optional("r") + ` OR (
  SELECT 1 FROM subscriptions AS s WHERE s.shop = r.shop AND s.live = r.live AND s.merchant = r.merchant AND s.status = 'enabled' AND ` + wanted("r") + ` LIMIT 1) = 1`)

	shopsTable = newTable("shops", "id TEXT!, version BIGINT, merchant TEXT!, name TEXT, slug TEXT, created_at BIGINT!, brand TEXT",
		func(s *pay.Shop) string { return s.ID }, func(s *pay.Shop) int64 { return s.Version },
		func(r *rows, s *pay.Shop) {
			r.text(s.ID).number(s.Version).text(s.Merchant, s.Name, s.Slug).number(micros(s.CreatedAt)).text(encode(s.Brand))
		})

	merchantsTable = newTable("merchants", "id TEXT!, version BIGINT, name TEXT, email TEXT, industry TEXT, tier TEXT, "+
		"trust_score BIGINT, language TEXT, refund_fees TEXT, strict BOOLEAN, created_at BIGINT!",
		func(m *pay.Merchant) string { return m.ID }, func(m *pay.Merchant) int64 { return m.Version },
		func(r *rows, m *pay.Merchant) {
			r.text(m.ID).number(m.Version).text(m.Name, m.Email, m.Industry, string(m.Tier)).
				number(int64(m.TrustScore)).text(string(m.Language), string(m.RefundFees)).flag(m.Strict).number(micros(m.CreatedAt))
		})

	keysTable = newTable("keys", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, kind TEXT!, hash TEXT!, "+
		"preview TEXT!, created_at BIGINT!, revoked_at BIGINT, ends_at BIGINT, rights TEXT, successor TEXT",
		func(k *pay.Key) string { return k.ID }, func(k *pay.Key) int64 { return k.Version },
		func(r *rows, k *pay.Key) {
			r.text(k.ID, k.Merchant, k.Shop).flag(k.Live).number(k.Version).text(string(k.Kind), k.Hash, k.Preview).
				number(micros(k.CreatedAt), micros(k.RevokedAt), micros(k.EndsAt)).text(pay.WriteRights(k.Rights), k.Successor)
		})

	loginsTable = newTable("logins", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, key_id TEXT!, "+
		"expires_at BIGINT, revoked_at BIGINT, created_at BIGINT!",
		func(l *pay.Login) string { return l.ID }, func(l *pay.Login) int64 { return l.Version },
		func(r *rows, l *pay.Login) {
			r.text(l.ID, l.Merchant, l.Shop).flag(l.Live).number(l.Version).text(l.Key).
				number(micros(l.ExpiresAt), micros(l.RevokedAt), micros(l.CreatedAt))
		})

	clocksTable = newTable("clocks", "id TEXT!, version BIGINT, advance BIGINT",
		func(c *pay.Clock) string { return c.Merchant }, func(c *pay.Clock) int64 { return c.Version },
		func(r *rows, c *pay.Clock) { r.text(c.Merchant).number(c.Version, c.Advance.Microseconds()) }).uniqueRows()

	logosTable = newTable("logos", "id TEXT!, kind TEXT!, body TEXT!",
		func(l *pay.Logo) string { return l.ID }, nil,
		func(r *rows, l *pay.Logo) { r.text(l.ID, l.Kind, base64.StdEncoding.EncodeToString(l.Body)) }).onceOnly()
	settlementsTable = newTable("settlements", settlementSpec,
		func(s *pay.Settlement) string { return s.ID }, func(s *pay.Settlement) int64 { return s.Version }, settlementRow)
	linesTable = newTable("settlement_lines", lineSpec, func(l *pay.SettlementLine) string { return l.Transfer }, nil, lineRow)

	reservesTable = newTable("reserves", reserveSpec,
		func(v *pay.Reserve) string { return v.ID }, func(v *pay.Reserve) int64 { return v.Version }, reserveRow)

	documentsTable = newTable("documents", "id TEXT!, merchant TEXT!, live BOOLEAN!, body TEXT!",
		func(d *pay.Document) string { return d.ID }, nil, documentRow)

	paymentsTable   = newTable("payments", paymentSpec, paymentID, paymentVersion, paymentRow)
	processingTable = newTable("processing", paymentSpec, paymentID, paymentVersion, paymentRow)

	claimsTable = newTable("claims", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, kind TEXT!, status TEXT, "+
		"payment TEXT!, amount_local BIGINT!, currency_local TEXT!, amount BIGINT!, frozen BIGINT, due_at BIGINT, "+
		"created_at BIGINT!, updated_at BIGINT, doc TEXT, dispute TEXT",
		func(c *pay.Claim) string { return c.ID }, func(c *pay.Claim) int64 { return c.Version }, claimRow)

	subscriptionsTable = newTable("subscriptions", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, "+
		"status TEXT, events TEXT, events_version TEXT, paused BOOLEAN, created_at BIGINT!, updated_at BIGINT, doc TEXT",
		func(s *pay.Subscription) string { return s.ID }, func(s *pay.Subscription) int64 { return s.Version }, subscriptionRow)

	deliveriesTable = newTable("deliveries", "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, event TEXT!, "+
		"type TEXT!, subscription TEXT!, status TEXT, attempts BIGINT, budget BIGINT, due_at BIGINT, parked BOOLEAN, created_at BIGINT!, doc TEXT",
		func(d *pay.Delivery) string { return d.ID }, func(d *pay.Delivery) int64 { return d.Version }, deliveryRow)
)

const paymentSpec = "id TEXT!, merchant TEXT!, shop TEXT!, live BOOLEAN!, version BIGINT, status TEXT, " +
	"amount BIGINT!, amount_local BIGINT!, currency_local TEXT!, rate TEXT!, rail TEXT!, method TEXT!, country TEXT!, " +
	"order_id TEXT!, refunded BIGINT, sequence BIGINT, due_at BIGINT, unsure_at BIGINT, created_at BIGINT!, updated_at BIGINT, doc TEXT, owner TEXT"

func paymentID(p *pay.Payment) string     { return p.ID }
func paymentVersion(p *pay.Payment) int64 { return p.Version }

// takeProcessing removes payments whose outcome is known now.
const takeProcessing = `
DELETE FROM processing
WHERE {among id id} AND (id, version) IN (SELECT r.id, r.version - 1 FROM {rows: id TEXT, version BIGINT} AS r) AND {unless lost}
RETURNING id`

// queries lists every statement of the package, for the engine's own form of
// it and for the test that prepares them all.
func queries() []string {
	list := []string{
		onceTable.insert, receiptsTable.insert, transfersTable.insert, eventsTable.insert,
		shopsTable.insert, shopsTable.update, merchantsTable.insert, merchantsTable.update, keysTable.insert, keysTable.update,
		loginsTable.insert, loginsTable.update, paymentsTable.insert, paymentsTable.update,
		processingTable.insert, processingTable.update, takeProcessing,
		claimsTable.insert, claimsTable.update, subscriptionsTable.insert, subscriptionsTable.update,
		upsertBalances, selectBalancesForUpdate,
		selectBalances, selectPayment, selectAnyPayment, selectVersions, selectProcessingVersions, selectBetween,
		selectOnce, pageOnce, purgeOnce, selectMerchant, listMerchants, selectShop, selectShops, selectKeyByHash, selectKey, selectKeys, selectKeysShown, selectLogin, selectGoodLogins, selectRevokedLogins, selectRevokedKeys, countMerchants,
		selectTable, countSecrets, selectRailIDs, insertRailIDs,
		storyTransfers, storyClaims, storyEvents, storyDeliveries, storyReceipts, storyMoves, storyWithdrawal,
	}
	list = append(list, clocksTable.insert, clocksTable.update, selectClocks, selectClock, logosTable.insert, selectLogo)
	list = append(list, auditTable.insert, addressesTable.insert, notesTable.insert, selectAudit, selectAddresses)
	list = append(list, noteBatch, claimCommitter, selectWritten, dropCommitter, dropCommitters, holdNode, dropNode, dropNodes, takeNodes, selectLapsed, orphansInCalls, orphansUnanswered)
	list = append(list, lookQueries()...)
	list = append(list, counterQueries()...)
	list = append(list, migrationQueries()...)
	list = append(list, repairQueries()...)
	list = append(list, sealQueries()...)
	list = append(list, claimQueries()...)
	list = append(list, rateQueries()...)
	list = append(list, accountQueries()...)
	list = append(list, receiptQueries()...)
	list = append(list, unsureQueries()...)
	list = append(list, operatorQueries()...)
	list = append(list, secretQueries()...)
	list = append(list, erasureQueries()...)
	list = append(list, mailQueries()...)
	list = append(list, rulesQueries()...)
	list = append(list, recoveryQueries()...)
	list = append(list, settlementQueries()...)
	list = append(list, dutyQueries()...)
	list = append(list, sessionQueries()...)
	list = append(list, subscriptionQueries()...)
	list = append(list, deliveryQueries()...)
	list = append(list, fanOutQueries()...)
	list = append(list, inboxQueries()...)
	list = append(list, eventQueries()...)
	list = append(list, replayQueries()...)
	list = append(list, personalQueries()...)
	list = append(list, payoutQueries()...)
	list = append(list, batchQueries()...)
	list = append(list, controlQueries()...)
	list = append(list, floatQueries()...)
	list = append(list, reconcileQueries()...)
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

// The rows of a change, table by table.
func payments(c *pay.Change) []pay.Payment           { return c.Payments }
func claims(c *pay.Change) []pay.Claim               { return c.Claims }
func files(c *pay.Change) []pay.File                 { return c.Files }
func subscriptions(c *pay.Change) []pay.Subscription { return c.Subscriptions }
func deliveries(c *pay.Change) []pay.Delivery        { return c.Deliveries }
func sessions(c *pay.Change) []pay.Session           { return c.Sessions }
func merchants(c *pay.Change) []pay.Merchant         { return c.Merchants }
func shops(c *pay.Change) []pay.Shop                 { return c.Shops }
func keys(c *pay.Change) []pay.Key                   { return c.Keys }
func logins(c *pay.Change) []pay.Login               { return c.Logins }
func logos(c *pay.Change) []pay.Logo                 { return c.Logos }
func clocks(c *pay.Change) []pay.Clock               { return c.Clocks }
func settlements(c *pay.Change) []pay.Settlement     { return c.Settlements }
func lines(c *pay.Change) []pay.SettlementLine       { return c.Lines }
func reserves(c *pay.Change) []pay.Reserve           { return c.Reserves }
func documents(c *pay.Change) []pay.Document         { return c.Documents }
func receipts(c *pay.Change) []pay.Receipt           { return c.Receipts }
func events(c *pay.Change) []pay.Event               { return c.Events }
func transfers(c *pay.Change) []ledger.Transfer      { return c.Transfers }
func wallets(c *pay.Change) []pay.Wallet             { return c.Wallets }
func withdrawals(c *pay.Change) []pay.Withdrawal     { return c.Withdrawals }
func verifications(c *pay.Change) []pay.Verification { return c.Verifications }
