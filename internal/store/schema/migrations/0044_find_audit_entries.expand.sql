-- by itself
DROP INDEX {concurrently} IF EXISTS audit_merchant;
CREATE INDEX {concurrently} audit_merchant ON audit (merchant, id);
DROP INDEX {concurrently} IF EXISTS audit_object;
CREATE INDEX {concurrently} audit_object ON audit (object, id);
DROP INDEX {concurrently} IF EXISTS audit_act;
CREATE INDEX {concurrently} audit_act ON audit (act, id);
