-- Merchants' sandboxes that were emptied, or are being emptied: a row for each merchant that ever asked.
CREATE TABLE resets (
  id TEXT NOT NULL PRIMARY KEY, -- reset/merchant
  merchant TEXT NOT NULL,
  version BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL, -- of the next pass, or a lease on one; 0 once it is done
  swept_at BIGINT NOT NULL, -- when the last pass ended; 0: none yet
  done_at BIGINT NOT NULL, -- 0: it runs
  sealed_to BIGINT NOT NULL, -- transfers of the sandbox up to this block are gone
  deleted BIGINT NOT NULL -- rows
);
CREATE INDEX resets_running ON resets (merchant) WHERE done_at = 0;
-- A reset deletes transfers of a sandbox. Those of production stay for good.
{append only in production transfers}
