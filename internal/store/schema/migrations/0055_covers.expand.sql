-- Which settlements a withdrawal pays out, and what a settlement is paid out by or set off against. covered is the sum.
ALTER TABLE settlements ADD COLUMN covers TEXT NOT NULL DEFAULT ''; -- JSON; '': none
ALTER TABLE settlements ADD COLUMN covered BIGINT NOT NULL DEFAULT 0; -- USD cents
ALTER TABLE withdrawals ADD COLUMN covers TEXT NOT NULL DEFAULT ''; -- JSON; '': none
ALTER TABLE withdrawals ADD COLUMN covered BIGINT NOT NULL DEFAULT 0; -- USD cents
-- What of a payout came back after it had arrived, in USD cents.
ALTER TABLE withdrawals ADD COLUMN returned BIGINT NOT NULL DEFAULT 0;
