-- by itself
DROP INDEX {concurrently} IF EXISTS payments_email;
CREATE INDEX {concurrently} payments_email ON payments (shop, live, {email doc}, rail, country, status, id) WHERE {emailed doc};
DROP INDEX {concurrently} IF EXISTS payments_amount;
CREATE INDEX {concurrently} payments_amount ON payments (shop, live, amount, rail, country, status, id);
