-- A merchant that is paused begins nothing new in production.
ALTER TABLE merchants ADD COLUMN paused TEXT NOT NULL DEFAULT ''; -- why, for its team; '': it is not paused
ALTER TABLE merchants ADD COLUMN paused_at BIGINT NOT NULL DEFAULT 0;
