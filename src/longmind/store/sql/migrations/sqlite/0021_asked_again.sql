-- The very first databases were made without this column; those made since have it from their beginning.
-- when: SELECT count(*) = 0 FROM pragma_table_info('conversations') WHERE name = 'asked_again'
ALTER TABLE conversations ADD COLUMN asked_again INTEGER NOT NULL DEFAULT 0;
