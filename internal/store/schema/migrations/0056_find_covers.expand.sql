-- by itself
DROP INDEX {concurrently} IF EXISTS settlements_uncovered;
CREATE INDEX {concurrently} settlements_uncovered ON settlements (merchant, live, number) WHERE status <> 'open' AND covered <> net;
DROP INDEX {concurrently} IF EXISTS withdrawals_uncovering;
CREATE INDEX {concurrently} withdrawals_uncovering ON withdrawals (merchant, live, id)
WHERE covered <> CASE status WHEN 'canceled' THEN 0 WHEN 'failed' THEN CASE WHEN returned > 0 THEN amount - returned ELSE 0 END ELSE amount - returned END;
DROP INDEX {concurrently} IF EXISTS withdrawals_canceled;
CREATE INDEX {concurrently} withdrawals_canceled ON withdrawals (merchant, live, updated_at) WHERE status = 'canceled';
