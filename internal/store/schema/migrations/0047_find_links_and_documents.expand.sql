-- by itself
DROP INDEX {concurrently} IF EXISTS sessions_links;
CREATE INDEX {concurrently} sessions_links ON sessions (shop, live, id) WHERE substr(doc, 1, 13) = '{"link":true,';
DROP INDEX {concurrently} IF EXISTS payments_document;
CREATE INDEX {concurrently} payments_document ON payments (shop, live, {tail doc}, rail, country, status, id) WHERE {documented doc};
