-- Events of shops with many endpoints, whose deliveries are made a few at a time.
CREATE TABLE fanouts (
  id TEXT NOT NULL PRIMARY KEY, -- of the event
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  type TEXT NOT NULL,
  after TEXT NOT NULL, -- the last endpoint that has its delivery
  at BIGINT NOT NULL, -- of the event
  due_at BIGINT NOT NULL
);
CREATE INDEX fanouts_due ON fanouts (due_at);
CREATE INDEX fanouts_merchant ON fanouts (merchant, live, due_at);
