-- by itself
DROP INDEX {concurrently} IF EXISTS sessions_links;
CREATE INDEX {concurrently} sessions_links ON sessions (shop, live, id) WHERE substr(doc, 1, 13) = '{"link":true,';
