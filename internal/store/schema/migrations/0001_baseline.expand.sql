-- The tables of Cascada, one text for both engines: TEXT, BIGINT, BOOLEAN and
-- {bytes} only, text compared byte by byte, no NULL ('' and 0 say "none"), times in
-- microseconds UTC, money in minor units, doc a JSON document of what no query
-- asks for. row_hash is a keyed hash of the row, with its version behind it.
-- No column has a DEFAULT: every insert names all columns.

CREATE TABLE merchants (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  name TEXT NOT NULL,
  email TEXT NOT NULL,
  industry TEXT NOT NULL,
  tier TEXT NOT NULL,
  trust_score BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  language TEXT NOT NULL,
  refund_fees TEXT NOT NULL, -- what becomes of a payment's fees when it is refunded: kept, returned
  strict BOOLEAN NOT NULL, -- its sandbox refuses what production refuses
  paused TEXT NOT NULL, -- why it begins nothing new in production, for its team; '': it is not paused
  paused_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL,
  installments TEXT NOT NULL, -- what it may offer its shoppers in installments, such as card.MEX:12/6; '': nothing
  assignments TEXT NOT NULL, -- JSON: its price plans, each from a time on; '': the built-in plan of its tier
  close_reason TEXT NOT NULL, -- why it was closed, for its team
  closed_at BIGINT NOT NULL, -- nothing new begins from then on; 0: it is open
  emptied_at BIGINT NOT NULL, -- nothing was left of its money in production; 0: something may be
  warned_at BIGINT NOT NULL, -- its owners heard that it will be erased; 0: they did not
  erased_at BIGINT NOT NULL, -- it cannot come back from then on; 0: it may
  gone_at BIGINT NOT NULL, -- all that is only its own was removed; 0: some of it may be left
  sandbox_off BOOLEAN NOT NULL
);

CREATE INDEX merchants_leaving ON merchants (id) WHERE closed_at > 0 AND gone_at = 0;

CREATE TABLE shops (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  merchant TEXT NOT NULL,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  brand TEXT NOT NULL, -- how the shop looks to its shoppers
  row_hash TEXT NOT NULL,
  schemes TEXT NOT NULL -- of its apps, to which its pages may lead back: ["myapp","com.example.pay"]
);
CREATE UNIQUE INDEX shops_slug ON shops (slug);
CREATE INDEX shops_merchant ON shops (merchant);

-- The pictures of shops.
CREATE TABLE logos (
  id TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the picture
  kind TEXT NOT NULL,
  body TEXT NOT NULL, -- base64
  row_hash TEXT NOT NULL
);

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
  revoked_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL, -- when it ends by itself; 0: never
  rights TEXT NOT NULL, -- what it may do beside what its kind may
  successor TEXT NOT NULL, -- the key that took its place when it was rotated
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX keys_hash ON keys (hash);
CREATE INDEX keys_merchant ON keys (merchant);
CREATE INDEX keys_revoked ON keys (revoked_at) WHERE revoked_at > 0;

-- From where keys are used. last_at is an hour old at the most.
CREATE TABLE key_uses (
  id TEXT NOT NULL PRIMARY KEY, -- key and address
  version BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  address TEXT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL
);
CREATE INDEX key_uses_key ON key_uses (key_id);

CREATE TABLE logins (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL, -- counts rotations
  key_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
-- Every node asks for what was revoked of late, and for what is still good of a merchant.
CREATE INDEX logins_revoked ON logins (revoked_at) WHERE revoked_at > 0;
CREATE INDEX logins_good ON logins (merchant, expires_at) WHERE revoked_at = 0;

-- The service's own secrets, encrypted under the master key.
CREATE TABLE secrets (
  id TEXT NOT NULL PRIMARY KEY,
  sealed TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL
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
  at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);

-- Payments whose provider has answered. More about each is in its document.
-- Texts stand together, and so do numbers: PostgreSQL pads a row before a number.
CREATE TABLE payments (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  status TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  rate TEXT NOT NULL,
  rail TEXT NOT NULL,
  method TEXT NOT NULL,
  country TEXT NOT NULL,
  order_id TEXT NOT NULL,
  owner TEXT NOT NULL, -- the node that has a call in hand, '' where none has
  email TEXT NOT NULL, -- the shopper's, as the shop wrote it
  document TEXT NOT NULL, -- likewise
  currency_asked TEXT NOT NULL, -- the shop's; '': it asked in USD
  refunded BIGINT NOT NULL, -- minor units of currency_local
  amount_asked BIGINT NOT NULL, -- minor units of currency_asked
  sequence BIGINT NOT NULL, -- events so far
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  unsure_at BIGINT NOT NULL, -- since when nobody knows whether the shopper paid; 0 where that is known
  erased_at BIGINT NOT NULL, -- when the shopper's data was erased; 0: it was not
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX payments_list ON payments (shop, live, status, id);
CREATE INDEX payments_order ON payments (shop, order_id) WHERE order_id <> '';
CREATE INDEX payments_due ON payments (due_at) WHERE status = 'pending';
CREATE INDEX payments_clock ON payments (merchant, due_at) WHERE status = 'pending' AND NOT live;
CREATE INDEX payments_kind ON payments (shop, live, rail, country, status, id);
CREATE INDEX payments_owner ON payments (owner) WHERE owner <> '';
CREATE INDEX payments_unsure ON payments (unsure_at) WHERE unsure_at > 0;
-- Payments that ended unpaid are asked about for some days.
CREATE INDEX payments_ended ON payments (due_at) WHERE due_at > 0 AND status <> 'pending';
CREATE INDEX payments_ended_clock ON payments (merchant, due_at) WHERE due_at > 0 AND status <> 'pending' AND NOT live;
CREATE INDEX payments_email ON payments (shop, live, lower(email), rail, country, status, id) WHERE email <> '';
CREATE INDEX payments_amount ON payments (shop, live, amount, rail, country, status, id);
CREATE INDEX payments_local ON payments (shop, live, currency_local, amount_local, rail, country, status, id) WHERE currency_local <> 'USD';
CREATE INDEX payments_asked ON payments (shop, live, currency_asked, amount_asked, rail, country, status, id)
  WHERE currency_asked <> '' AND (currency_asked <> currency_local OR amount_asked <> amount_local);
-- By the last four characters of the document, in lower case and without punctuation.
CREATE INDEX payments_document ON payments (shop, live, {last 4 replace(replace(replace(replace(lower(document), '.', ''), '-', ''), '/', ''), ' ', '')}, rail, country, status, id)
  WHERE document <> '';

-- Payments whose outcome is not known yet: a call is under way, or nobody
-- knows how it ended. They move to payments with the first answer.
CREATE TABLE processing (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  status TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  amount_local BIGINT NOT NULL,
  currency_local TEXT NOT NULL,
  rate TEXT NOT NULL,
  rail TEXT NOT NULL,
  method TEXT NOT NULL,
  country TEXT NOT NULL,
  order_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  email TEXT NOT NULL,
  document TEXT NOT NULL,
  currency_asked TEXT NOT NULL,
  refunded BIGINT NOT NULL,
  amount_asked BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  unsure_at BIGINT NOT NULL,
  erased_at BIGINT NOT NULL,
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX processing_due ON processing (due_at);

-- Each payment is counted twice: in the day it was created (days since 1970, UTC), and in day -1, which is all
-- days. A young day's payments are counted in their day alone, and added to all days when it has passed. So no list
-- total scans. Payments of processing are left out.
CREATE TABLE counters (
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  day BIGINT NOT NULL,
  rail TEXT NOT NULL,
  country TEXT NOT NULL,
  status TEXT NOT NULL,
  method TEXT NOT NULL,
  n BIGINT NOT NULL,
  rolled BIGINT NOT NULL, -- how much of n is in the row of all days
  PRIMARY KEY (shop, live, day, rail, country, status, method)
){hot};
CREATE INDEX counters_day ON counters (day);

-- What is counted for analytics. A commit writes what it has to count as a row of facts; a job adds facts up.
CREATE TABLE facts (
  at BIGINT NOT NULL, -- the database's clock
  id TEXT NOT NULL,
  doc TEXT NOT NULL, -- a line for each: the payment's id, amount, fees, class
  PRIMARY KEY (at, id)
);

CREATE TABLE rollups (
  shop TEXT NOT NULL, -- '' adds up all shops
  live BOOLEAN NOT NULL,
  dimension TEXT NOT NULL,
  day BIGINT NOT NULL, -- since 1970, UTC
  value TEXT NOT NULL,
  outcome TEXT NOT NULL, -- paid, declined, expired; '' of the steps of checkouts
  n BIGINT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  fees BIGINT NOT NULL, -- USD cents
  PRIMARY KEY (shop, live, dimension, day, value, outcome)
);

-- Payments that a recount has still to go through: those with an id below next; '': there is no recount.
CREATE TABLE recounts (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  next TEXT NOT NULL
);
INSERT INTO recounts (id, version, next) VALUES ('rollups', 1, '');

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
  doc TEXT NOT NULL,
  due_at BIGINT NOT NULL, -- when a refund is asked about at its provider, or evidence is due; 0: never
  dispute TEXT NOT NULL, -- of a chargeback: the provider's dispute (pay.Case.Key), once in a payment
  row_hash TEXT NOT NULL
);
CREATE INDEX claims_payment ON claims (payment);
CREATE INDEX claims_due ON claims (due_at) WHERE due_at > 0;
CREATE INDEX claims_clock ON claims (merchant, due_at) WHERE due_at > 0 AND NOT live;
CREATE INDEX claims_list ON claims (shop, live, id);
CREATE UNIQUE INDEX claims_dispute ON claims (payment, dispute) WHERE dispute <> '';
-- What is open, for the gauges of the oldest.
CREATE INDEX claims_open ON claims (kind, status, created_at) WHERE status IN ('pending', 'needs_evidence', 'under_review');
CREATE INDEX claims_kind ON claims (shop, live, kind, id, status);

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
  content TEXT NOT NULL, -- base64
  row_hash TEXT NOT NULL
);
CREATE INDEX files_claim ON files (claim);

-- Notifications of providers: each once, with what was done about it.
CREATE TABLE receipts (
  id TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL,
  payment TEXT NOT NULL,
  verdict TEXT NOT NULL,
  body TEXT NOT NULL,
  at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX receipts_payment ON receipts (payment) WHERE payment <> '';
CREATE INDEX receipts_at ON receipts (at) WHERE body <> '';

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
  postings TEXT NOT NULL,
  settles_at BIGINT NOT NULL, -- of a capture: when its payment settles
  memo TEXT NOT NULL -- what a withdrawal was agreed to pay, where and at which rate: sealed with its transfer
);
-- A merchant's transfers in order of time: of each kind for what is not settled, of all kinds for its movements.
CREATE INDEX transfers_list ON transfers (merchant, live, kind, at);
-- A reset deletes transfers of a sandbox. Those of production stay for good.
{append only if live transfers}

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
  fee_taxes BIGINT NOT NULL, -- on fees: owed to the tax office
  chargeback_fees BIGINT NOT NULL,
  refunds BIGINT NOT NULL,
  chargebacks BIGINT NOT NULL,
  in_transit BIGINT NOT NULL,
  paid_out BIGINT NOT NULL,
  withdrawal_fees BIGINT NOT NULL,
  withdrawal_taxes BIGINT NOT NULL, -- on the fees of withdrawals
  movements BIGINT NOT NULL, -- how many movements the transfers have (pay.Movements)
  float BIGINT NOT NULL,
  float_committed BIGINT NOT NULL,
  float_paid BIGINT NOT NULL,
  float_funding BIGINT NOT NULL,
  rounding BIGINT NOT NULL, -- what providers owe beyond what merchants are credited with, since that is rounded down
  adjustments BIGINT NOT NULL, -- what operators booked by hand
  PRIMARY KEY (merchant, live)
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
  payload {bytes} NOT NULL, -- how it is stored is in its first byte: plain, compressed or encrypted
  row_hash TEXT NOT NULL
);
CREATE INDEX events_list ON events (shop, live, type, at, id);

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
  doc TEXT NOT NULL,
  paused BOOLEAN NOT NULL, -- its circuit is open: no delivery is sent
  events_version TEXT NOT NULL, -- the set of types of events that * stands for
  row_hash TEXT NOT NULL
);
CREATE INDEX subscriptions_paused ON subscriptions (id) WHERE paused;
-- Endpoints that were deleted are kept for the delivery log. An event does not walk through them.
CREATE INDEX subscriptions_kept ON subscriptions (shop, live) WHERE status <> 'deleted';

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
  doc TEXT NOT NULL,
  parked BOOLEAN NOT NULL -- it waits for its endpoint, and not for a time
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('pending', 'failed') AND NOT parked;
CREATE INDEX deliveries_parked ON deliveries (subscription, due_at) WHERE parked;
CREATE INDEX deliveries_list ON deliveries (subscription, status, type, created_at);
CREATE INDEX deliveries_time ON deliveries (subscription, created_at, id);

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

-- Events of shops with many endpoints, whose deliveries are made a few at a time.
CREATE TABLE fanouts (
  id TEXT NOT NULL PRIMARY KEY, -- of the event
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  type TEXT NOT NULL,
  after TEXT NOT NULL, -- the last endpoint that has its delivery
  at BIGINT NOT NULL, -- of the event
  due_at BIGINT NOT NULL
);
CREATE INDEX fanouts_due ON fanouts (due_at);
CREATE INDEX fanouts_merchant ON fanouts (merchant, live, due_at);

-- Times whose events are sent to an endpoint again.
CREATE TABLE replays (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  subscription TEXT NOT NULL,
  status TEXT NOT NULL, -- running, done, stopped
  since BIGINT NOT NULL, -- the events' times: from then on
  until BIGINT NOT NULL, -- and before
  after_at BIGINT NOT NULL, -- the last event that was dealt with
  after_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX replays_due ON replays (due_at) WHERE due_at > 0;
CREATE INDEX replays_clock ON replays (merchant, due_at) WHERE due_at > 0 AND NOT live;
CREATE UNIQUE INDEX replays_running ON replays (subscription) WHERE status = 'running';
CREATE INDEX replays_list ON replays (subscription, id);

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
  body TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX inbox_list ON inbox (subscription, id);
CREATE INDEX inbox_event ON inbox (event);

-- Test clocks: how far a merchant's sandbox is ahead, in microseconds. All
-- times of its sandbox rows, due_at too, are in that clock.
CREATE TABLE clocks (
  id TEXT NOT NULL PRIMARY KEY, -- the merchant
  version BIGINT NOT NULL,
  advance BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);

-- Merchants' sandboxes that were emptied, or are being emptied: a row for each merchant that ever asked.
CREATE TABLE resets (
  id TEXT NOT NULL PRIMARY KEY, -- reset/merchant
  merchant TEXT NOT NULL,
  version BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- of the next pass, or a lease on one; 0 once it is done
  swept_at BIGINT NOT NULL, -- when the last pass ended; 0: none yet
  done_at BIGINT NOT NULL, -- 0: it runs
  sealed_to BIGINT NOT NULL, -- transfers of the sandbox up to this block are gone
  deleted BIGINT NOT NULL, -- rows
  row_hash TEXT NOT NULL
);
CREATE INDEX resets_running ON resets (merchant) WHERE done_at = 0;

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
  doc TEXT NOT NULL,
  due_at BIGINT NOT NULL, -- when its time is over, if nobody chose a method
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE UNIQUE INDEX sessions_payment ON sessions (payment) WHERE payment <> '';
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at > 0;
CREATE INDEX sessions_clock ON sessions (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- Addresses at which shoppers pay a shop, each in a session of his own. They name nobody.
CREATE TABLE payment_links (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL, -- raised also by each choice of a method, so that the last use is had once
  sequence BIGINT NOT NULL, -- events so far
  uses BIGINT NOT NULL, -- how many payments may be paid
  paid BIGINT NOT NULL, -- how many are
  expires_at BIGINT NOT NULL,
  closed_at BIGINT NOT NULL, -- 0 unless the shop closed it
  due_at BIGINT NOT NULL, -- when its end is announced; 0 once it is
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX payment_links_list ON payment_links (shop, live, id);
CREATE INDEX payment_links_due ON payment_links (due_at) WHERE due_at > 0;
CREATE INDEX payment_links_clock ON payment_links (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- The payments of payment links. One that is held or paid occupies a use of its link.
CREATE TABLE link_uses (
  id TEXT NOT NULL PRIMARY KEY, -- use_, and the end of the payment's id
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL, -- 1: chosen, 2: the payment ended, 3: counted
  link TEXT NOT NULL,
  status TEXT NOT NULL, -- held, paid or free
  due_at BIGINT NOT NULL, -- when the link counts it; 0: nothing to count
  created_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX link_uses_link ON link_uses (link, id);
CREATE INDEX link_uses_due ON link_uses (due_at) WHERE due_at > 0;
CREATE INDEX link_uses_clock ON link_uses (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- Who did what. Entries are never changed.
CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL, -- '': about the whole merchant
  live BOOLEAN NOT NULL,
  actor_kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  request TEXT NOT NULL,
  act TEXT NOT NULL,
  object TEXT NOT NULL,
  at BIGINT NOT NULL,
  doc TEXT NOT NULL,
  commitment TEXT NOT NULL, -- to the address that somebody came from
  note_commitment TEXT NOT NULL -- to what an operator wrote
);
CREATE INDEX audit_merchant ON audit (merchant, id);
CREATE INDEX audit_object ON audit (object, id);
CREATE INDEX audit_act ON audit (act, id);
CREATE INDEX audit_list ON audit (merchant, live, actor_kind, (id || ''));
CREATE INDEX audit_both ON audit (merchant, (id || '')) WHERE live AND substr(act, 1, 5) IN ('link.', 'merch', 'shop.', 'user.');
{append only audit}

-- Personal data ends before the books do. An entry of the audit log is sealed with a commitment to the address that
-- somebody came from; the address is in a row that can go.
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
{append only blocks}

-- What commits wrote and no block holds yet: a row a commit.
CREATE TABLE unsealed (
  at BIGINT NOT NULL, -- the database's clock
  id TEXT NOT NULL,
  doc TEXT NOT NULL, -- {"merchant environment": {"row's id": "row's hash", …}, …}
  mac TEXT NOT NULL,
  PRIMARY KEY (at, id)
);

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
  updated_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
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
  at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX rate_history_currency ON rate_history (currency, version);
{append only rate_history}

-- Where rates are read from, so that one node does it at a time. The address,
-- which may hold a key, is not kept.
CREATE TABLE rate_feeds (
  id TEXT NOT NULL PRIMARY KEY, -- a hash of the address
  due_at BIGINT NOT NULL
);

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
  doc TEXT NOT NULL, -- holds the destination, encrypted
  row_hash TEXT NOT NULL
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
  doc TEXT NOT NULL,
  provider TEXT NOT NULL, -- payout account
  provider_ref TEXT NOT NULL, -- what that calls it
  batch TEXT NOT NULL,
  row_hash TEXT NOT NULL,
  covers TEXT NOT NULL, -- the settlements that it pays out, JSON; '': none
  covered BIGINT NOT NULL, -- the sum of covers, USD cents
  returned BIGINT NOT NULL -- what came back after it had arrived, USD cents
);
CREATE INDEX withdrawals_list ON withdrawals (shop, live, id);
CREATE INDEX withdrawals_due ON withdrawals (due_at) WHERE due_at > 0;
CREATE INDEX withdrawals_clock ON withdrawals (merchant, due_at) WHERE due_at > 0 AND NOT live;
CREATE INDEX withdrawals_provider ON withdrawals (provider, provider_ref) WHERE provider_ref <> '';
CREATE INDEX withdrawals_open ON withdrawals (provider) WHERE status = 'processing';
CREATE INDEX withdrawals_batch ON withdrawals (batch) WHERE batch <> '';
CREATE INDEX withdrawals_uncovering ON withdrawals (merchant, live, id)
WHERE covered <> CASE status WHEN 'canceled' THEN 0 WHEN 'failed' THEN CASE WHEN returned > 0 THEN amount - returned ELSE 0 END ELSE amount - returned END;
CREATE INDEX withdrawals_canceled ON withdrawals (merchant, live, updated_at) WHERE status = 'canceled';

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
  exported_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX payout_batches_number ON payout_batches (account, number);

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
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);

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
  tax BIGINT NOT NULL, -- on the fees
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
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL,
  covers TEXT NOT NULL, -- what it is paid out by or set off against, JSON; '': none
  covered BIGINT NOT NULL -- the sum of covers, USD cents
);
CREATE UNIQUE INDEX settlements_list ON settlements (merchant, live, number);
CREATE UNIQUE INDEX settlements_open ON settlements (merchant, live) WHERE status = 'open';
CREATE INDEX settlements_due ON settlements (due_at) WHERE due_at > 0;
CREATE INDEX settlements_closed ON settlements (period_end) WHERE status = 'closed';
CREATE INDEX settlements_uncovered ON settlements (merchant, live, number) WHERE status <> 'open' AND covered <> net;

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
  tax BIGINT NOT NULL, -- on the fees
  refund BIGINT NOT NULL,
  chargeback BIGINT NOT NULL,
  chargeback_fee BIGINT NOT NULL,
  reserve BIGINT NOT NULL,
  adjustment BIGINT NOT NULL,
  net BIGINT NOT NULL,
  pending BIGINT NOT NULL,
  row_hash TEXT NOT NULL
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
  updated_at BIGINT NOT NULL,
  closed_at BIGINT NOT NULL, -- when its release began: no refund draws on it from then on
  row_hash TEXT NOT NULL
);
CREATE INDEX reserves_list ON reserves (merchant, live, release_at) WHERE due_at > 0;
CREATE INDEX reserves_due ON reserves (due_at) WHERE due_at > 0;

-- Receipts as they were first made, in base64.
CREATE TABLE documents (
  id TEXT NOT NULL PRIMARY KEY, -- of what it is about
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  body TEXT NOT NULL,
  row_hash TEXT NOT NULL
);

-- What operators book by hand. The id is made from the merchant, the environment and the reference: each is booked once.
CREATE TABLE adjustments (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL, -- pending, applied, rejected
  amount BIGINT NOT NULL, -- USD cents; above zero the merchant gets it
  reason TEXT NOT NULL,
  note TEXT NOT NULL,
  about TEXT NOT NULL, -- id of a payment, a claim, a withdrawal, a settlement or a notice; '' for none
  reference TEXT NOT NULL, -- the operator's own
  reverses TEXT NOT NULL, -- the adjustment that it takes back; '' for none
  negative BOOLEAN NOT NULL, -- it may take the available balance below zero
  made_by TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX adjustments_list ON adjustments (merchant, live, created_at);
CREATE INDEX adjustments_pending ON adjustments (created_at) WHERE status = 'pending';

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
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX verifications_open ON verifications (merchant, live) WHERE status IN ('requires_input', 'processing');
CREATE INDEX verifications_merchant ON verifications (merchant, live);
CREATE INDEX verifications_due ON verifications (due_at) WHERE due_at > 0;

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
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);

-- Who has a token of the admin API and the commands. One who was removed keeps the row, without a token.
CREATE TABLE operators (
  id TEXT NOT NULL PRIMARY KEY, -- the name
  version BIGINT NOT NULL,
  role TEXT NOT NULL,
  person TEXT NOT NULL, -- the user whose token it is, '' for nobody of the console
  made_by TEXT NOT NULL, -- who added it: a user, or an operator as in the audit log
  hash TEXT NOT NULL, -- keyed hash of the token
  preview TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL, -- when the token ends by itself; 0: never
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX operators_hash ON operators (hash) WHERE hash <> '';

-- What needs two operators.
CREATE TABLE dual_controls (
  id TEXT NOT NULL PRIMARY KEY, -- the right
  version BIGINT NOT NULL,
  required BOOLEAN NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);

-- What an operator proposed, and a second one decides.
CREATE TABLE proposals (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  status TEXT NOT NULL, -- pending, approved, applied, rejected
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  digest TEXT NOT NULL, -- keyed hash of what was proposed
  made_by TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL, -- nobody can decide or apply it any more
  decided_by TEXT NOT NULL,
  decided_at BIGINT NOT NULL,
  doc TEXT NOT NULL, -- JSON: the right, what people read of it, what is applied
  row_hash TEXT NOT NULL
);
CREATE INDEX proposals_open ON proposals (id) WHERE status IN ('pending', 'approved');

-- Who signs in to the dashboard.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  email TEXT NOT NULL, -- in lower case; '' once the user was removed
  operator TEXT NOT NULL, -- the role in the operator's console, '' for none
  subject TEXT NOT NULL, -- keyed hash of the issuer and subject at an identity provider
  created_at BIGINT NOT NULL,
  removed_at BIGINT NOT NULL,
  doc TEXT NOT NULL, -- encrypted
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email) WHERE email <> '';
CREATE UNIQUE INDEX users_subject ON users (subject) WHERE subject <> '';
CREATE INDEX users_operators ON users (id) WHERE operator <> '';

CREATE TABLE memberships (
  id TEXT NOT NULL PRIMARY KEY, -- user/merchant
  version BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  merchant TEXT NOT NULL,
  role TEXT NOT NULL, -- '' once the user was removed from the merchant
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX memberships_user ON memberships (user_id) WHERE role <> '';
CREATE INDEX memberships_merchant ON memberships (merchant, id) WHERE role <> '';

CREATE TABLE signins (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  hash TEXT NOT NULL, -- keyed hash of the token in the cookie
  address TEXT NOT NULL,
  agent TEXT NOT NULL,
  waiting BOOLEAN NOT NULL, -- for the second factor
  proven_at BIGINT NOT NULL, -- when the second factor was given last
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  visits TEXT NOT NULL, -- the merchant that an operator looks at
  row_hash TEXT NOT NULL
);
CREATE UNIQUE INDEX signins_hash ON signins (hash);
CREATE INDEX signins_user ON signins (user_id, id);

CREATE TABLE links (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  kind TEXT NOT NULL, -- invitation, password_reset, sign_in
  hash TEXT NOT NULL, -- keyed hash of the token; '' once it was used or withdrawn
  user_id TEXT NOT NULL,
  email TEXT NOT NULL,
  merchant TEXT NOT NULL,
  role TEXT NOT NULL,
  operator TEXT NOT NULL, -- the role in the operator's console that an invitation gives, '' for none
  made_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL,
  proves BOOLEAN NOT NULL, -- whether it proves the address of whoever uses it: it came by e-mail, or from whoever runs the machine
  waits BOOLEAN NOT NULL, -- an operator's invitation that another operator must confirm
  confirmed_by TEXT NOT NULL,
  language TEXT NOT NULL -- of the e-mail that goes then
);
CREATE UNIQUE INDEX links_hash ON links (hash) WHERE hash <> '';
CREATE INDEX links_merchant ON links (merchant, id) WHERE hash <> '';
CREATE INDEX links_user ON links (user_id) WHERE hash <> '' AND user_id <> '';

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
  doc TEXT NOT NULL, -- the counts and sums
  row_hash TEXT NOT NULL
);
CREATE INDEX reconciliations_account ON reconciliations (account, id);
{append only reconciliations}

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
  closed_at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX drifts_merchant ON drifts (merchant, live) WHERE closed_at = 0;
CREATE INDEX drifts_account ON drifts (account) WHERE closed_at = 0;

-- The operator's routing rules: a row for each change of them, the newest counts.
CREATE TABLE routing_rules (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  doc TEXT NOT NULL, -- JSON; '' where they were taken back
  at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
{append only routing_rules}

-- The operator's price plans: a row for each version of each plan.
CREATE TABLE plans (
  id TEXT NOT NULL PRIMARY KEY, -- of the name and the version
  name TEXT NOT NULL,
  version BIGINT NOT NULL, -- from 1 in each plan
  from_at BIGINT NOT NULL, -- in force from then on, until the next version is
  doc TEXT NOT NULL, -- JSON
  at BIGINT NOT NULL,
  row_hash TEXT NOT NULL
);
{append only plans}

-- How far a job that goes on from day to day has come.
CREATE TABLE watermarks (
  id TEXT NOT NULL PRIMARY KEY,
  day BIGINT NOT NULL -- since 1970: the ones before it are done
);
INSERT INTO watermarks (id, day) VALUES ('counters', 0);

-- What each committer wrote last. Its batches change its row first, so that of a commit whose answer was lost it can
-- be told whether it was done.
CREATE TABLE committers (
  id TEXT NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL, -- raised by whoever wants to know: batches of a lower one are refused
  done BIGINT NOT NULL, -- the number of the last batch that was written
  at BIGINT NOT NULL, -- when that was, in the database's clock
  schema BIGINT NOT NULL -- the newest version that the committer's program knows
){hot};

-- The nodes that call providers, each with a lease in the database's clock.
CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY,
  joined BIGINT NOT NULL,
  until BIGINT NOT NULL,
  gone BIGINT NOT NULL -- when another node found that its lease was over; 0 while it lives
){hot};

-- The processes that serve a shared database, for people. A process that dies is not listed once its time is over.
CREATE TABLE processes (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  version TEXT NOT NULL, -- of the program
  schema BIGINT NOT NULL, -- the newest migration that the program knows
  began BIGINT NOT NULL, -- in the database's clock
  until BIGINT NOT NULL -- it tells again before that
);

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

-- How far each kind of data was looked through for what is kept no longer.
CREATE TABLE retention (
  id TEXT NOT NULL PRIMARY KEY, -- the kind
  version BIGINT NOT NULL,
  began_at BIGINT NOT NULL, -- this round
  upto TEXT NOT NULL, -- an id
  row_hash TEXT NOT NULL
);

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
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX mails_merchant ON mails (merchant, created_at);
CREATE INDEX mails_due ON mails (due_at) WHERE due_at > 0;
CREATE INDEX mails_clock ON mails (merchant, due_at) WHERE due_at > 0 AND NOT live;

-- A database that was put back from a copy: what the copy lacks, and what is found of it.
CREATE TABLE recoveries (
  id TEXT NOT NULL PRIMARY KEY, -- of the one that there is at a time
  version BIGINT NOT NULL,
  state TEXT NOT NULL, -- closed, guarded, over
  lost_from BIGINT NOT NULL,
  lost_to BIGINT NOT NULL, -- 0: not known yet
  until BIGINT NOT NULL, -- of guarded
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);

CREATE TABLE found (
  id TEXT NOT NULL PRIMARY KEY, -- provider account/our reference
  version BIGINT NOT NULL,
  mark TEXT NOT NULL, -- of the id in the reference
  kind TEXT NOT NULL, -- charge, refund, payout
  open BOOLEAN NOT NULL, -- nothing stands for it here, and nobody has dealt with it
  doc TEXT NOT NULL,
  row_hash TEXT NOT NULL
);
CREATE INDEX found_mark ON found (mark);
CREATE INDEX found_open ON found (id) WHERE open;
