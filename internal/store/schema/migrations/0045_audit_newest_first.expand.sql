-- by itself
DROP INDEX {concurrently} IF EXISTS audit_list;
CREATE INDEX {concurrently} audit_list ON audit (merchant, live, actor_kind, (id || ''));
DROP INDEX {concurrently} IF EXISTS audit_both;
CREATE INDEX {concurrently} audit_both ON audit (merchant, (id || '')) WHERE live AND substr(act, 1, 5) IN ('link.', 'merch', 'shop.', 'user.');
