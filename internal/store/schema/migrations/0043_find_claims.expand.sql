-- by itself
DROP INDEX {concurrently} IF EXISTS claims_kind;
CREATE INDEX {concurrently} claims_kind ON claims (shop, live, kind, id, status);
DROP INDEX {concurrently} IF EXISTS audit_object;
CREATE INDEX {concurrently} audit_object ON audit (object, id);
