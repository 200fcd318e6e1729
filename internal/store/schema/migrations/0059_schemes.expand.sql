-- 0059_schemes
-- The schemes of a shop's apps, to which its pages may lead back: ["myapp","com.example.pay"].
ALTER TABLE shops ADD COLUMN schemes TEXT NOT NULL DEFAULT '[]';
