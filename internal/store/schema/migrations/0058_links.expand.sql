-- Whether a one-time link proves the address of whoever uses it: it came by e-mail, or from whoever runs the machine.
ALTER TABLE links ADD COLUMN proves BOOLEAN NOT NULL DEFAULT FALSE;
