-- Whether a one-time link proves the address of whoever uses it: it came by e-mail, or from whoever runs the machine.
ALTER TABLE links ADD COLUMN proves BOOLEAN NOT NULL DEFAULT FALSE;
-- An operator's invitation that another operator must confirm, and the language of the e-mail that goes then.
ALTER TABLE links ADD COLUMN waits BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE links ADD COLUMN confirmed_by TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN language TEXT NOT NULL DEFAULT '';
