-- What providers owe beyond what merchants are credited with, since that is rounded down.
ALTER TABLE balances ADD COLUMN rounding BIGINT NOT NULL DEFAULT 0;
-- Of a capture: when its payment settles. 0 in captures from before, and in other transfers.
ALTER TABLE transfers ADD COLUMN settles_at BIGINT NOT NULL DEFAULT 0;
