-- What is counted for analytics. A commit writes what it has to count as a row of facts; a job adds facts up.
CREATE TABLE facts (
  at BIGINT NOT NULL, -- the database's clock
  id TEXT NOT NULL,
  doc TEXT NOT NULL, -- a line for each: the payment's id, amount, fees, class
  PRIMARY KEY (at, id)
);
CREATE TABLE rollups (
  shop TEXT NOT NULL, -- '' adds up all shops
  live BOOLEAN NOT NULL,
  dimension TEXT NOT NULL,
  day BIGINT NOT NULL, -- since 1970, UTC
  value TEXT NOT NULL,
  outcome TEXT NOT NULL, -- paid, declined, expired; '' of the steps of checkouts
  n BIGINT NOT NULL,
  amount BIGINT NOT NULL, -- USD cents
  fees BIGINT NOT NULL, -- USD cents
  PRIMARY KEY (shop, live, dimension, day, value, outcome)
);
-- Payments from before: those with an id below next are not counted yet.
CREATE TABLE backfills (
  id TEXT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  next TEXT NOT NULL
);
INSERT INTO backfills (id, version, next)
SELECT 'rollups', 1, coalesce(max(id) || '~', '') FROM (SELECT max(id) AS id FROM payments UNION ALL SELECT max(id) FROM processing) AS newest;
