-- The set of types of events that * stands for.
ALTER TABLE subscriptions ADD COLUMN events_version TEXT NOT NULL DEFAULT '2026-11-21';

-- A checkout in which nobody chose a method comes due when its time is over.
ALTER TABLE sessions ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0;

-- The sandbox refuses what production refuses.
ALTER TABLE merchants ADD COLUMN strict BOOLEAN NOT NULL DEFAULT FALSE;

-- Times whose events are sent to an endpoint again.
CREATE TABLE replays (
  id TEXT NOT NULL PRIMARY KEY,
  merchant TEXT NOT NULL,
  shop TEXT NOT NULL,
  live BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  subscription TEXT NOT NULL,
  status TEXT NOT NULL, -- running, done, stopped
  since BIGINT NOT NULL, -- the events' times: from then on
  until BIGINT NOT NULL, -- and before
  after_at BIGINT NOT NULL, -- the last event that was dealt with
  after_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  doc TEXT NOT NULL
);
CREATE INDEX replays_due ON replays (due_at) WHERE due_at > 0;
CREATE INDEX replays_clock ON replays (merchant, due_at) WHERE due_at > 0 AND NOT live;
CREATE UNIQUE INDEX replays_running ON replays (subscription) WHERE status = 'running';
