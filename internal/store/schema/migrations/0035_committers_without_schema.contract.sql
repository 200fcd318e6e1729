-- A program that does not tell its schema cannot write any more.
ALTER TABLE committers RENAME TO committers_before;
CREATE TABLE committers (
  id TEXT NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL, -- raised by whoever wants to know: batches of a lower one are refused
  done BIGINT NOT NULL, -- the number of the last batch that was written
  at BIGINT NOT NULL, -- when that was, in the database's clock
  schema BIGINT NOT NULL -- the newest version that the committer's program knows
){hot};
INSERT INTO committers (id, fence, done, at, schema) SELECT id, fence, done, at, schema FROM committers_before;
DROP TABLE committers_before;
