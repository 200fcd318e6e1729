-- The tables of Cascada, one text for both engines: TEXT, BIGINT and BOOLEAN
-- only, text compared byte by byte, no NULL ('' and 0 say "none"), times in
-- microseconds UTC, money in minor units, doc a JSON document of what no query
-- asks for.
--
-- Migrations are forward only. "-- version N" starts one.

-- version 1
CREATE TABLE merchants (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  industry TEXT NOT NULL,
  tier TEXT NOT NULL,
  trust_score BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE shops (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  merchant TEXT NOT NULL,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX shops_slug ON shops (slug);
CREATE INDEX shops_merchant ON shops (merchant);

CREATE TABLE keys (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL, -- '': a legacy key of the whole merchant
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  kind TEXT NOT NULL,
  hash TEXT NOT NULL, -- keyed hash; the key itself is not kept
  preview TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX keys_hash ON keys (hash);

CREATE TABLE logins (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL, -- counts rotations
  key_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

-- The service's own secrets, encrypted under the master key.
CREATE TABLE secrets (
  id TEXT NOT NULL PRIMARY KEY,
  sealed TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- The paymentMethodId of each production rail: given once, never reused.
CREATE TABLE rail_ids (
  rail TEXT NOT NULL PRIMARY KEY,
  id BIGINT NOT NULL UNIQUE
);

CREATE TABLE once (
  id TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL,
  object TEXT NOT NULL,
  at BIGINT NOT NULL
);

CREATE TABLE payments (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  rate TEXT NOT NULL,
  rail TEXT NOT NULL,
  method TEXT NOT NULL,
  country TEXT NOT NULL,
  order_id TEXT NOT NULL,
  refunded BIGINT NOT NULL, -- minor units of currency_local
  sequence BIGINT NOT NULL, -- events so far
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX payments_list ON payments (shop, live, status, id);
CREATE INDEX payments_order ON payments (shop, order_id) WHERE order_id <> '';
CREATE INDEX payments_due ON payments (due_at) WHERE status = 'pending';

-- Payments whose outcome is not known yet: a call is under way, or nobody
-- knows how it ended. They move to payments with the first answer.
CREATE TABLE processing (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  rate TEXT NOT NULL,
  rail TEXT NOT NULL,
  method TEXT NOT NULL,
  country TEXT NOT NULL,
  order_id TEXT NOT NULL,
  refunded BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX processing_due ON processing (due_at);

CREATE TABLE claims (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  payment TEXT NOT NULL,
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  frozen BIGINT NOT NULL, -- USD cents
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX claims_payment ON claims (payment);

-- Notifications of providers: each once, with what was done about it.
CREATE TABLE receipts (
  id TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL,
  payment TEXT NOT NULL,
  verdict TEXT NOT NULL,
  body TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX receipts_mismatched ON receipts (payment) WHERE verdict = 'mismatched';

-- The ledger. postings is {"account": signed USD cents, …} and sums to zero.
CREATE TABLE transfers (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  kind TEXT NOT NULL,
  payment TEXT NOT NULL,
  claim TEXT NOT NULL,
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  at BIGINT NOT NULL,
  postings TEXT NOT NULL
);

-- One row per merchant and environment: a capture updates one row.
CREATE TABLE balances (
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  pending BIGINT NOT NULL,
  available BIGINT NOT NULL,
  frozen BIGINT NOT NULL,
  reserve BIGINT NOT NULL,
  suspense BIGINT NOT NULL,
  receivable BIGINT NOT NULL,
  platform_fees BIGINT NOT NULL,
  provider_fees BIGINT NOT NULL,
  flat_fees BIGINT NOT NULL,
  network_fees BIGINT NOT NULL,
  chargeback_fees BIGINT NOT NULL,
  refunds BIGINT NOT NULL,
  chargebacks BIGINT NOT NULL,
  PRIMARY KEY (merchant, live)
){hot};

-- How many payments there are of each kind, those of processing left out, so
-- that no list total scans.
CREATE TABLE counters (
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  rail TEXT NOT NULL,
  method TEXT NOT NULL,
  country TEXT NOT NULL,
  status TEXT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (shop, live, rail, method, country, status)
){hot};

CREATE TABLE events (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  type TEXT NOT NULL,
  object TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  at BIGINT NOT NULL,
  payload TEXT NOT NULL
);

CREATE TABLE subscriptions (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  events TEXT NOT NULL, -- ",payment.completed,payment.failed," or ",*,"
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX subscriptions_shop ON subscriptions (shop, live);

CREATE TABLE deliveries (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  event TEXT NOT NULL,
  type TEXT NOT NULL,
  subscription TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  budget BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- while somebody sends it, the end of the lease
  created_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX deliveries_list ON deliveries (subscription, created_at);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('pending', 'failed');

-- version 2
-- Test clocks: how far a merchant's sandbox is ahead, in microseconds. All
-- times of its sandbox rows, due_at too, are in that clock.
CREATE TABLE clocks (
  id TEXT NOT NULL PRIMARY KEY, -- the merchant
  version BIGINT NOT NULL,
  advance BIGINT NOT NULL
);
CREATE INDEX payments_clock ON payments (merchant, due_at) WHERE status = 'pending' AND NOT live;

-- version 3
-- How shops look to their shoppers.
ALTER TABLE shops ADD COLUMN brand TEXT NOT NULL DEFAULT '{}';
CREATE TABLE logos (
  id TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the picture
  kind TEXT NOT NULL,
  body TEXT NOT NULL -- base64
);

-- version 4
-- Hosted checkouts whose customer chooses the method. The token is not kept,
-- only its keyed hash; amount is amount_asked at rate.
CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  hash TEXT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  amount_asked BIGINT NOT NULL, -- minor units of currency_asked
  currency_asked TEXT NOT NULL,
  rate TEXT NOT NULL,
  country TEXT NOT NULL, -- '' for any
  order_id TEXT NOT NULL,
  payment TEXT NOT NULL, -- '' until a method is chosen
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE UNIQUE INDEX sessions_payment ON sessions (payment) WHERE payment <> '';

-- version 5
-- Who did what. Entries are never changed.
CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL, -- '': about the whole merchant
  live BOOLEAN NOT NULL,
  actor_kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  ip TEXT NOT NULL,
  request TEXT NOT NULL,
  act TEXT NOT NULL,
  object TEXT NOT NULL,
  at BIGINT NOT NULL,
  doc TEXT NOT NULL
);

-- Seals: blocks of the hashes of rows of transfers and audit, a chain per
-- merchant and environment. A column that is added to a sealed table must be
-- '', 0 or false in the rows that are there, or their hashes change.
CREATE TABLE blocks (
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  n BIGINT NOT NULL, -- from 1
  at BIGINT NOT NULL,
  previous TEXT NOT NULL, -- hash of block n-1
  hash TEXT NOT NULL,
  doc TEXT NOT NULL, -- {"row's id": "row's hash", …}
  PRIMARY KEY (merchant, live, n)
);

-- What commits wrote and no block holds yet: a row a commit.
CREATE TABLE unsealed (
  at BIGINT NOT NULL, -- the database's clock
  id TEXT NOT NULL,
  doc TEXT NOT NULL, -- {"merchant environment": {"row's id": "row's hash", …}, …}
  mac TEXT NOT NULL,
  PRIMARY KEY (at, id)
);

{append only transfers}
{append only audit}
{append only blocks}

-- version 6
-- A circuit that is open keeps the endpoint's deliveries from being sent; those
-- that wait for their endpoint and not for a time are parked.
ALTER TABLE subscriptions ADD COLUMN paused BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX subscriptions_paused ON subscriptions (id) WHERE paused;

ALTER TABLE deliveries ADD COLUMN parked BOOLEAN NOT NULL DEFAULT FALSE;
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('pending', 'failed') AND NOT parked;
CREATE INDEX deliveries_parked ON deliveries (subscription, due_at) WHERE parked;
DROP INDEX deliveries_list;
CREATE INDEX deliveries_list ON deliveries (subscription, status, type, created_at);

-- How many deliveries there are of each kind, so that no list total scans.
-- Pending ones are not counted: they are made in bulk and are few.
CREATE TABLE delivery_counters (
  subscription TEXT NOT NULL,
  status TEXT NOT NULL,
  type TEXT NOT NULL,
  n BIGINT NOT NULL,
  last_at BIGINT NOT NULL, -- the last try
  PRIMARY KEY (subscription, status, type)
){hot};
INSERT INTO delivery_counters (subscription, status, type, n, last_at)
SELECT subscription, status, type, count(*), max(created_at) FROM deliveries WHERE status <> 'pending'
GROUP BY subscription, status, type;

-- What managed inboxes got.
CREATE TABLE inbox (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  subscription TEXT NOT NULL,
  delivery TEXT NOT NULL,
  event TEXT NOT NULL,
  type TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  header TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX inbox_list ON inbox (subscription, id);

-- version 7
-- Claims come due: a refund at its provider that is to be asked about, or a
-- deadline for evidence.
ALTER TABLE claims ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0;
UPDATE claims SET due_at = CAST({json doc dueBy} AS BIGINT) WHERE status = 'needs_evidence';
CREATE INDEX claims_due ON claims (due_at) WHERE due_at > 0;
CREATE INDEX claims_clock ON claims (merchant, due_at) WHERE due_at > 0 AND NOT live;
CREATE INDEX claims_list ON claims (shop, live, id);

-- The files of claims' evidence.
CREATE TABLE files (
  id TEXT NOT NULL PRIMARY KEY, -- of the evidence
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  claim TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  content TEXT NOT NULL -- base64
);
CREATE INDEX files_claim ON files (claim);

-- version 8
-- Exchange rates, a row per currency: units of it that one US dollar buys, as
-- an exact decimal; '' where none was applied yet. held_rate waits for the
-- operator.
CREATE TABLE rates (
  id TEXT NOT NULL PRIMARY KEY, -- the currency
  version BIGINT NOT NULL,
  rate TEXT NOT NULL,
  source TEXT NOT NULL,
  observed_at BIGINT NOT NULL,
  held_rate TEXT NOT NULL,
  held_source TEXT NOT NULL,
  held_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- What each version of a rate was written for.
CREATE TABLE rate_history (
  id TEXT NOT NULL PRIMARY KEY, -- the currency and its version
  currency TEXT NOT NULL,
  version BIGINT NOT NULL,
  rate TEXT NOT NULL,
  source TEXT NOT NULL,
  observed_at BIGINT NOT NULL,
  verdict TEXT NOT NULL,
  actor TEXT NOT NULL, -- the operator's user and host, '' for the service
  at BIGINT NOT NULL
);
CREATE UNIQUE INDEX rate_history_currency ON rate_history (currency, version);

-- Where rates are read from, so that one node does it at a time. The address,
-- which may hold a key, is not kept.
CREATE TABLE rate_feeds (
  id TEXT NOT NULL PRIMARY KEY, -- a hash of the address
  due_at BIGINT NOT NULL
);

{append only rate_history}

-- version 9
ALTER TABLE balances ADD COLUMN in_transit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN paid_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN withdrawal_fees BIGINT NOT NULL DEFAULT 0;

-- Where withdrawals are paid to. A destination belongs to one wallet of a shop
-- that is not disabled, and a shop has one default.
CREATE TABLE wallets (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  fingerprint TEXT NOT NULL, -- keyed hash of network and destination
  is_default BOOLEAN NOT NULL,
  due_at BIGINT NOT NULL, -- when the cool-down ends, or a lease on that; 0 afterwards
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL -- holds the destination, encrypted
);
CREATE UNIQUE INDEX wallets_destination ON wallets (shop, live, fingerprint) WHERE status <> 'disabled';
CREATE UNIQUE INDEX wallets_default ON wallets (shop, live) WHERE is_default;
CREATE INDEX wallets_list ON wallets (shop, live, id);
CREATE INDEX wallets_due ON wallets (due_at) WHERE due_at > 0;
CREATE INDEX wallets_clock ON wallets (merchant, due_at) WHERE due_at > 0 AND NOT live;

CREATE TABLE withdrawals (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  wallet TEXT NOT NULL,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents, the fee included
  fee BIGINT NOT NULL, -- USD cents
  sequence BIGINT NOT NULL, -- events so far
  due_at BIGINT NOT NULL, -- while somebody works on it, the end of the lease
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX withdrawals_list ON withdrawals (shop, live, id);
CREATE INDEX withdrawals_due ON withdrawals (due_at) WHERE due_at > 0;
CREATE INDEX withdrawals_clock ON withdrawals (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- Who a merchant is, as far as it has been verified. One is open at a time.
CREATE TABLE verifications (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  level TEXT NOT NULL,
  status TEXT NOT NULL,
  due_at BIGINT NOT NULL, -- when it expires, or a lease on that; 0 unless it waits for input
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE UNIQUE INDEX verifications_open ON verifications (merchant, live) WHERE status IN ('requires_input', 'processing');
CREATE INDEX verifications_merchant ON verifications (merchant, live);
CREATE INDEX verifications_due ON verifications (due_at) WHERE due_at > 0;

-- version 10
ALTER TABLE merchants ADD COLUMN language TEXT NOT NULL DEFAULT 'en';

-- Batches of what a merchant earned. One is open at a time. Sums are USD cents.
CREATE TABLE settlements (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  number BIGINT NOT NULL,
  status TEXT NOT NULL,
  period_start BIGINT NOT NULL,
  period_end BIGINT NOT NULL,
  last_at BIGINT NOT NULL, -- of the newest line
  lines BIGINT NOT NULL,
  gross BIGINT NOT NULL,
  platform BIGINT NOT NULL,
  provider BIGINT NOT NULL,
  network BIGINT NOT NULL,
  refunds BIGINT NOT NULL,
  chargebacks BIGINT NOT NULL,
  chargeback_fees BIGINT NOT NULL,
  held BIGINT NOT NULL,
  released BIGINT NOT NULL,
  adjustments BIGINT NOT NULL,
  net BIGINT NOT NULL,
  pending BIGINT NOT NULL, -- what the lines add to pending
  moved BIGINT NOT NULL, -- from pending to available
  carry BIGINT NOT NULL, -- of pending, from the batches before
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE UNIQUE INDEX settlements_list ON settlements (merchant, live, number);
CREATE UNIQUE INDEX settlements_open ON settlements (merchant, live) WHERE status = 'open';
CREATE INDEX settlements_due ON settlements (due_at) WHERE due_at > 0;

-- The transfers that settlements have claimed, each once.
CREATE TABLE settlement_lines (
  id TEXT NOT NULL PRIMARY KEY, -- of the transfer
  settlement TEXT NOT NULL,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  number BIGINT NOT NULL, -- from 1; 0: claimed and not listed
  type TEXT NOT NULL,
  payment TEXT NOT NULL,
  claim TEXT NOT NULL,
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  at BIGINT NOT NULL,
  day BIGINT NOT NULL, -- of the reserve it is part of
  gross BIGINT NOT NULL,
  platform BIGINT NOT NULL,
  provider BIGINT NOT NULL,
  network BIGINT NOT NULL,
  refund BIGINT NOT NULL,
  chargeback BIGINT NOT NULL,
  chargeback_fee BIGINT NOT NULL,
  reserve BIGINT NOT NULL,
  adjustment BIGINT NOT NULL,
  net BIGINT NOT NULL,
  pending BIGINT NOT NULL
);
CREATE UNIQUE INDEX settlement_lines_list ON settlement_lines (settlement, number) WHERE number > 0;

-- The rolling reserve of a merchant's payments of one day.
CREATE TABLE reserves (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  day BIGINT NOT NULL,
  release_at BIGINT NOT NULL,
  held BIGINT NOT NULL,
  released BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- 0 while nothing is left
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX reserves_list ON reserves (merchant, live, release_at) WHERE due_at > 0;
CREATE INDEX reserves_due ON reserves (due_at) WHERE due_at > 0;

-- Receipts as they were first made, in base64.
CREATE TABLE documents (
  id TEXT NOT NULL PRIMARY KEY, -- of what it is about
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  body TEXT NOT NULL
);

-- A merchant's transfers in order of time: of each kind for what is not
-- settled, of all kinds for its movements.
CREATE INDEX transfers_list ON transfers (merchant, live, kind, at);

-- How many movements the transfers have (pay.Movements).
ALTER TABLE balances ADD COLUMN movements BIGINT NOT NULL DEFAULT 0;
UPDATE balances SET movements = coalesce((
  SELECT sum(m.n) FROM (
    SELECT t.merchant, t.live, CASE WHEN t.kind = 'capture'
      THEN 1 + max(CASE WHEN j.key LIKE '%fees' THEN 1 ELSE 0 END) + max(CASE WHEN j.key = 'reserve' THEN 2 ELSE 0 END)
      ELSE sum(CASE WHEN j.key IN ('pending', 'available', 'frozen', 'reserve') THEN 1 ELSE 0 END) END AS n
    FROM transfers AS t, {each t.postings} AS j GROUP BY t.id, t.merchant, t.live, t.kind) AS m
  WHERE m.merchant = balances.merchant AND m.live = balances.live), 0);

-- version 11
-- Each payment is counted twice: in the day it was created (days since 1970,
-- UTC), and in day -1, which is all days.
CREATE TABLE tallies (
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  day BIGINT NOT NULL,
  rail TEXT NOT NULL,
  country TEXT NOT NULL,
  status TEXT NOT NULL,
  method TEXT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (shop, live, day, rail, country, status, method)
){hot};
INSERT INTO tallies (shop, live, day, rail, country, status, method, n)
SELECT shop, live, -1, rail, country, status, method, n FROM counters;
INSERT INTO tallies (shop, live, day, rail, country, status, method, n)
SELECT shop, live, created_at / 86400000000, rail, country, status, method, count(*) FROM payments
GROUP BY shop, live, created_at / 86400000000, rail, country, status, method;
DROP TABLE counters;
ALTER TABLE tallies RENAME TO counters;
CREATE INDEX payments_kind ON payments (shop, live, rail, country, status, id);

-- version 12
-- The operator's accounts at providers. One that was removed keeps its row, so
-- that its id is not used again.
CREATE TABLE provider_accounts (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  adapter TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  merchant TEXT NOT NULL, -- '' for all
  status TEXT NOT NULL,
  priority BIGINT NOT NULL,
  credentials TEXT NOT NULL, -- sealed, in base64
  credentials_before TEXT NOT NULL, -- those that were rotated out
  rotated_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);

-- version 13
-- Who may use the admin API. One who was removed keeps the row, without a token.
CREATE TABLE operators (
  id TEXT NOT NULL PRIMARY KEY, -- the name
  version BIGINT NOT NULL,
  hash TEXT NOT NULL, -- keyed hash of the token
  preview TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX operators_hash ON operators (hash) WHERE hash <> '';

-- version 14
-- What came of comparing a provider's report with the books.
CREATE TABLE reconciliations (
  id TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL, -- at the provider
  live BOOLEAN NOT NULL,
  period_from BIGINT NOT NULL,
  period_to BIGINT NOT NULL,
  findings BIGINT NOT NULL,
  actor TEXT NOT NULL, -- the operator's user and host
  at BIGINT NOT NULL,
  doc TEXT NOT NULL -- the counts and sums
);
CREATE INDEX reconciliations_account ON reconciliations (account, id);

-- How far a merchant's books were from a provider's, by comparison. One is open
-- until a later comparison of that account covers its period.
CREATE TABLE drifts (
  id TEXT NOT NULL PRIMARY KEY, -- of the comparison and the merchant
  version BIGINT NOT NULL,
  reconciliation TEXT NOT NULL,
  account TEXT NOT NULL,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  period_from BIGINT NOT NULL,
  period_to BIGINT NOT NULL,
  findings BIGINT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  since BIGINT NOT NULL, -- when it was first found
  closed_by TEXT NOT NULL, -- the comparison that took its place, '' while it is open
  closed_at BIGINT NOT NULL
);
CREATE INDEX drifts_merchant ON drifts (merchant, live) WHERE closed_at = 0;
CREATE INDEX drifts_account ON drifts (account) WHERE closed_at = 0;

{append only reconciliations}

-- version 15
-- The operator's routing rules: a row for each change of them, the newest counts.
CREATE TABLE routing_rules (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  doc TEXT NOT NULL, -- JSON; '' where they were taken back
  at BIGINT NOT NULL
);

{append only routing_rules}

-- version 16
-- Ids sort as bytes, also where the database was made for a language: lists follow
-- them, and a new version of the system's locale breaks no index.
{collate}

-- version 17
-- How much of n is in the row of all days. A young day's payments are counted in
-- their day alone, and added to all days when it has passed.
ALTER TABLE counters ADD COLUMN rolled BIGINT NOT NULL DEFAULT 0;
UPDATE counters SET rolled = n WHERE day >= 0;
CREATE INDEX counters_day ON counters (day);

-- How far a job that goes on from day to day has come.
CREATE TABLE watermarks (
  id TEXT NOT NULL PRIMARY KEY,
  day BIGINT NOT NULL -- since 1970: the ones before it are done
);
INSERT INTO watermarks (id, day)
SELECT 'counters', CASE WHEN count(*) = 0 THEN 0 ELSE {now} / 86400000000 - 1 END FROM counters;

-- version 18
-- What each committer wrote last. Its batches change its row first, so that of a commit
-- whose answer was lost it can be told whether it was done.
CREATE TABLE committers (
  id TEXT NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL, -- raised by whoever wants to know: batches of a lower one are refused
  done BIGINT NOT NULL, -- the number of the last batch that was written
  at BIGINT NOT NULL -- when that was, in the database's clock
){hot};

-- The nodes that call providers, each with a lease in the database's clock.
CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY,
  joined BIGINT NOT NULL,
  until BIGINT NOT NULL,
  gone BIGINT NOT NULL -- when another node found that its lease was over; 0 while it lives
){hot};

-- Which node has a call in hand, '' where none has.
ALTER TABLE payments ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX payments_owner ON payments (owner) WHERE owner <> '';
ALTER TABLE processing ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- version 19
-- What becomes of a payment's fees when it is refunded: 'kept' or 'returned'. Merchants
-- from before it was a term were promised that they are returned.
ALTER TABLE merchants ADD COLUMN refund_fees TEXT NOT NULL DEFAULT 'returned';

-- When the release of a day's reserve began: no refund draws on it from then on.
ALTER TABLE reserves ADD COLUMN closed_at BIGINT NOT NULL DEFAULT 0;
UPDATE reserves SET closed_at = updated_at WHERE released > 0;

-- Notifications that did not fit their payments and wait for the operator. What they
-- say is in receipts; a row goes when it is closed.
CREATE TABLE misfits (
  id TEXT NOT NULL PRIMARY KEY, -- of the receipt
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  payment TEXT NOT NULL,
  amount BIGINT NOT NULL, -- of the payment, USD cents
  at BIGINT NOT NULL
);
CREATE INDEX misfits_merchant ON misfits (merchant, live);
CREATE INDEX misfits_at ON misfits (at, id);
INSERT INTO misfits (id, merchant, live, payment, amount, at)
SELECT r.id, coalesce(p.merchant, q.merchant, ''), coalesce(p.live, q.live, FALSE), r.payment, coalesce(p.amount, q.amount, 0), r.at
FROM receipts AS r LEFT JOIN payments AS p ON p.id = r.payment LEFT JOIN processing AS q ON q.id = r.payment
WHERE r.verdict = 'mismatched' AND NOT EXISTS (SELECT 1 FROM receipts AS c WHERE c.id = '/closed/' || r.id);
DROP INDEX receipts_mismatched;

-- version 20
-- A chargeback's claim is of one dispute of the provider's (pay.Case.Key), once in a
-- payment. Claims from before it was kept have none.
ALTER TABLE claims ADD COLUMN dispute TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX claims_dispute ON claims (payment, dispute) WHERE dispute <> '';

-- What disputes hold or took, on their payments.
UPDATE payments SET doc = {put doc disputes}(
  SELECT '[' || max('{"claim":"' || c.id || '","usd":' ||
    CASE WHEN c.frozen > 0 THEN c.frozen ELSE coalesce((
      SELECT sum(CAST({json t.postings chargebacks} AS BIGINT)) FROM transfers AS t WHERE t.id = 'tr_' || substr(c.id, 5) || '-paid'), 0) END ||
    CASE WHEN c.status IN ('needs_evidence', 'under_review') THEN ',"open":true}' ELSE '}' END) || ']'
  FROM claims AS c WHERE c.payment = payments.id AND c.kind = 'chargeback' AND c.status NOT IN ('rejected', 'withdrawn')){end}
WHERE id IN (SELECT payment FROM claims WHERE kind = 'chargeback' AND status NOT IN ('rejected', 'withdrawn'));

-- Disputes under review are asked about too.
UPDATE claims SET due_at = {now} WHERE kind = 'chargeback' AND status = 'under_review' AND due_at = 0;

-- version 21
-- Since when nobody knows whether the shopper paid; 0 where that is known.
ALTER TABLE payments ADD COLUMN unsure_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE processing ADD COLUMN unsure_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX payments_unsure ON payments (unsure_at) WHERE unsure_at > 0;

-- Late money is noted on its payment, also what came before it was.
UPDATE payments SET doc = substr(doc, 1, length(doc) - 1) || ',"strays":[' || (
  SELECT string_agg('{"code":"late_payment","order":' || coalesce({json c.doc attempt}, '1') || ',"minor":' || c.amount_local || ',"currency":"' ||
    c.currency_local || '","claim":"' || c.id || '"' || CASE WHEN c.status IN ('approved', 'expired') THEN ',"end":"given_back"'
    WHEN c.status IN ('rejected', 'withdrawn') THEN ',"end":"accepted"' ELSE '' END || '}', ',')
  FROM claims AS c WHERE c.payment = payments.id AND c.kind = 'inquiry') || ']}'
WHERE id IN (SELECT payment FROM claims WHERE kind = 'inquiry');

-- Payments that ended unpaid are asked about for some days.
CREATE INDEX payments_ended ON payments (due_at) WHERE due_at > 0 AND status <> 'pending';
CREATE INDEX payments_ended_clock ON payments (merchant, due_at) WHERE due_at > 0 AND status <> 'pending' AND NOT live;

-- Rows of due work that could not be read when they came due. due_at is what the row's
-- was set to: as long as it is that, nobody has read it.
CREATE TABLE quarantined (
  work TEXT NOT NULL,
  id TEXT NOT NULL,
  reason TEXT NOT NULL,
  since BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (work, id)
);

-- What is open, for the gauges of the oldest.
CREATE INDEX claims_open ON claims (kind, status, created_at) WHERE status IN ('pending', 'needs_evidence', 'under_review');
CREATE INDEX settlements_closed ON settlements (period_end) WHERE status = 'closed';

-- version 22
-- Endpoints that were deleted are kept for the delivery log. An event does not walk through
-- them.
CREATE INDEX subscriptions_kept ON subscriptions (shop, live) WHERE status <> 'deleted';
DROP INDEX subscriptions_shop;

-- version 23
-- Every node asks for what was revoked of late, and for what is still good of a merchant.
CREATE INDEX logins_revoked ON logins (revoked_at) WHERE revoked_at > 0;
CREATE INDEX logins_good ON logins (merchant, expires_at) WHERE revoked_at = 0;
CREATE INDEX keys_merchant ON keys (merchant);
CREATE INDEX keys_revoked ON keys (revoked_at) WHERE revoked_at > 0;

-- version 24
-- When a key ends by itself; 0: never.
ALTER TABLE keys ADD COLUMN ends_at BIGINT NOT NULL DEFAULT 0;

-- version 25
-- What a key may do beside what its kind may. Secret keys could withdraw so far: those of the
-- whole merchant and of his first shop still can.
ALTER TABLE keys ADD COLUMN rights TEXT NOT NULL DEFAULT '';
UPDATE keys SET rights = 'withdrawals' WHERE kind = 'secret' AND (shop = '' OR shop = (
  SELECT s.id FROM shops AS s WHERE s.merchant = keys.merchant ORDER BY s.created_at, s.id LIMIT 1));

-- From where keys are used. last is an hour old at the most.
CREATE TABLE key_uses (
  key TEXT NOT NULL,
  address TEXT NOT NULL,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  PRIMARY KEY (key, address)
);

-- When an operator's token ends by itself; 0: never.
ALTER TABLE operators ADD COLUMN ends_at BIGINT NOT NULL DEFAULT 0;

-- version 26
-- What the service keeps for itself is replaced as every other row is: by a version.
ALTER TABLE secrets ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
DELETE FROM secrets WHERE sealed = '';
DROP TABLE key_uses;
CREATE TABLE key_uses (
  id TEXT NOT NULL PRIMARY KEY, -- both of these
  version BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  address TEXT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL
);
CREATE INDEX key_uses_key ON key_uses (key_id);

-- version 27
-- Personal data ends before the books do. An entry of the audit log is sealed with a commitment
-- to the address that somebody came from; the address is in a row that can go.
ALTER TABLE audit ADD COLUMN commitment TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN note_commitment TEXT NOT NULL DEFAULT '';
CREATE TABLE audit_addresses (
  id TEXT NOT NULL PRIMARY KEY, -- of the entry
  address TEXT NOT NULL,
  salt TEXT NOT NULL
);

-- The same of what an operator wrote about it.
CREATE TABLE audit_notes (
  id TEXT NOT NULL PRIMARY KEY, -- of the entry
  object TEXT NOT NULL,
  note TEXT NOT NULL,
  salt TEXT NOT NULL
);
CREATE INDEX audit_notes_object ON audit_notes (object);

-- How far each kind of data was looked through for what is kept no longer.
CREATE TABLE retention (
  id TEXT NOT NULL PRIMARY KEY, -- the kind
  version BIGINT NOT NULL,
  began_at BIGINT NOT NULL, -- this round
  upto TEXT NOT NULL -- an id
);
CREATE INDEX receipts_payment ON receipts (payment) WHERE payment <> '';
CREATE INDEX receipts_at ON receipts (at) WHERE body <> '';
CREATE INDEX inbox_event ON inbox (event);

-- version 28
-- E-mails to merchants. One that is over keeps neither address nor text: doc is {}.
CREATE TABLE mails (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  object TEXT NOT NULL, -- the wallet
  status TEXT NOT NULL, -- waiting, sent, failed
  tries BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX mails_merchant ON mails (merchant, created_at);
CREATE INDEX mails_due ON mails (due_at) WHERE due_at > 0;
CREATE INDEX mails_clock ON mails (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- version 29
-- The key that took the place of one that was rotated.
ALTER TABLE keys ADD COLUMN successor TEXT NOT NULL DEFAULT '';


-- version 30
-- Where a withdrawal is, and what the provider calls it there.
ALTER TABLE withdrawals ADD COLUMN provider TEXT NOT NULL DEFAULT ''; -- payout account
ALTER TABLE withdrawals ADD COLUMN provider_ref TEXT NOT NULL DEFAULT '';
UPDATE withdrawals SET provider = coalesce({json doc provider}, ''), provider_ref = coalesce({json doc providerRef}, '');
CREATE INDEX withdrawals_provider ON withdrawals (provider, provider_ref) WHERE provider_ref <> '';
CREATE INDEX withdrawals_open ON withdrawals (provider) WHERE status = 'processing';

-- version 31
-- Payouts that leave in files. The file is encrypted.
CREATE TABLE payout_batches (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  account TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  number BIGINT NOT NULL, -- of the account's batches, from 1
  status TEXT NOT NULL, -- made, approved, exported, dissolved
  network TEXT NOT NULL,
  layout TEXT NOT NULL,
  lines BIGINT NOT NULL,
  total BIGINT NOT NULL, -- minor units of currency
  currency TEXT NOT NULL,
  checksum TEXT NOT NULL, -- SHA-256 of the file
  file TEXT NOT NULL,
  made_by TEXT NOT NULL,
  approved_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  exported_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_batches_number ON payout_batches (account, number);
ALTER TABLE withdrawals ADD COLUMN batch TEXT NOT NULL DEFAULT '';
CREATE INDEX withdrawals_batch ON withdrawals (batch) WHERE batch <> '';

-- version 32
-- What withdrawals may take of a merchant, or of all, in an environment.
CREATE TABLE payout_controls (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  merchant TEXT NOT NULL, -- '' for all
  live BOOLEAN NOT NULL,
  hour_at BIGINT NOT NULL,
  hour_sum BIGINT NOT NULL, -- USD cents sent in that hour
  day_at BIGINT NOT NULL,
  day_sum BIGINT NOT NULL,
  doc TEXT NOT NULL
);

-- version 33
-- The operator's money at payout accounts, in the rows of its own owners, float/account/currency.
ALTER TABLE balances ADD COLUMN float BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN float_committed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN float_paid BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN float_funding BIGINT NOT NULL DEFAULT 0;
