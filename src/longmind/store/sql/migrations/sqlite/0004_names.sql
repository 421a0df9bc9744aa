-- The revision in which the names of a space's entities last changed, so that recall knows when to read them again.
ALTER TABLE spaces ADD COLUMN names_revision INTEGER NOT NULL DEFAULT 0;
