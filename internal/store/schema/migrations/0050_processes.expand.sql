-- The processes that serve a shared database, for people. A process that dies is not listed once its time is over.
CREATE TABLE processes (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  version TEXT NOT NULL, -- of the program
  schema BIGINT NOT NULL, -- the newest migration that the program knows
  began BIGINT NOT NULL, -- in the database's clock
  until BIGINT NOT NULL -- it tells again before that
);
