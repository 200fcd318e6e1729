-- by itself
DROP INDEX {concurrently} IF EXISTS payments_local;
CREATE INDEX {concurrently} payments_local ON payments (shop, live, currency_local, amount_local, rail, country, status, id) WHERE currency_local <> 'USD';
DROP INDEX {concurrently} IF EXISTS payments_asked;
CREATE INDEX {concurrently} payments_asked ON payments (shop, live, {asked doc}, rail, country, status, id) WHERE {other asked doc};
DROP INDEX {concurrently} IF EXISTS replays_list;
CREATE INDEX {concurrently} replays_list ON replays (subscription, id);
