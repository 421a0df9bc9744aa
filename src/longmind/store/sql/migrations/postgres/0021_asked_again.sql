-- The very first databases were made without this column; those made since have it from their beginning.
ALTER TABLE conversations ADD COLUMN IF NOT EXISTS asked_again INTEGER NOT NULL DEFAULT 0;
