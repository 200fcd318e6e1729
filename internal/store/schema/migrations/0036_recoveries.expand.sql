-- A database that was put back from a copy: what the copy lacks, and what is found of it.
CREATE TABLE recoveries (
  id TEXT NOT NULL PRIMARY KEY, -- of the one that there is at a time
  version BIGINT NOT NULL,
  state TEXT NOT NULL, -- closed, guarded, over
  lost_from BIGINT NOT NULL,
  lost_to BIGINT NOT NULL, -- 0: not known yet
  until BIGINT NOT NULL, -- of guarded
  doc TEXT NOT NULL
);
CREATE TABLE found (
  id TEXT NOT NULL PRIMARY KEY, -- provider account/our reference
  version BIGINT NOT NULL,
  mark TEXT NOT NULL, -- of the id in the reference
  kind TEXT NOT NULL, -- charge, refund, payout
  open BOOLEAN NOT NULL, -- nothing stands for it here, and nobody has dealt with it
  doc TEXT NOT NULL
);
CREATE INDEX found_mark ON found (mark);
CREATE INDEX found_open ON found (id) WHERE open;
