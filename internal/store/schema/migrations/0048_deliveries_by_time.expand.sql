-- by itself
DROP INDEX {concurrently} IF EXISTS deliveries_time;
CREATE INDEX {concurrently} deliveries_time ON deliveries (subscription, created_at, id);
