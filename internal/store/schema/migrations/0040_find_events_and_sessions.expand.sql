-- by itself
DROP INDEX {concurrently} IF EXISTS events_list;
CREATE INDEX {concurrently} events_list ON events (shop, live, type, at, id);
DROP INDEX {concurrently} IF EXISTS sessions_due;
CREATE INDEX {concurrently} sessions_due ON sessions (due_at) WHERE due_at > 0;
DROP INDEX {concurrently} IF EXISTS sessions_clock;
CREATE INDEX {concurrently} sessions_clock ON sessions (merchant, due_at) WHERE due_at > 0 AND NOT live;
