-- Whether a program that does not know the version may not run; those before this one all count.
ALTER TABLE schema_version ADD COLUMN contract BOOLEAN NOT NULL DEFAULT TRUE;

-- The newest version that the committer's program knows; 0: it is from before this one.
ALTER TABLE committers ADD COLUMN schema BIGINT NOT NULL DEFAULT 0;
