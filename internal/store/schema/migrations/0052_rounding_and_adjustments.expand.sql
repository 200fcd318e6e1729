-- What providers owe beyond what merchants are credited with, since that is rounded down; and what operators
-- booked by hand.
ALTER TABLE balances ADD COLUMN rounding BIGINT NOT NULL DEFAULT 0;
ALTER TABLE balances ADD COLUMN adjustments BIGINT NOT NULL DEFAULT 0;
-- Of a capture: when its payment settles. 0 in captures from before, and in other transfers.
ALTER TABLE transfers ADD COLUMN settles_at BIGINT NOT NULL DEFAULT 0;
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
  updated_at BIGINT NOT NULL
);
CREATE INDEX adjustments_list ON adjustments (merchant, live, created_at);
CREATE INDEX adjustments_pending ON adjustments (created_at) WHERE status = 'pending';
