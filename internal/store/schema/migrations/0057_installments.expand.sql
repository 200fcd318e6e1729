-- What a merchant may offer its shoppers in installments, such as card.MEX:12/6; '': nothing.
ALTER TABLE merchants ADD COLUMN installments TEXT NOT NULL DEFAULT '';
