-- The app's own data beside a fact, the key under which the app keeps it, and a hash by which a fact that is stated again
-- is found. The function is the one that inserts use.
ALTER TABLE atoms ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE atoms ADD COLUMN key TEXT;
ALTER TABLE atoms ADD COLUMN text_hash INTEGER;

UPDATE atoms SET text_hash = longmind_text_hash(text) WHERE superseded_by IS NULL AND status = 'ACTIVE';

CREATE INDEX atoms_by_key ON atoms (scope_id, space_id, key)
WHERE key IS NOT NULL AND superseded_by IS NULL AND status = 'ACTIVE';
CREATE INDEX atoms_by_text ON atoms (scope_id, space_id, text_hash)
WHERE superseded_by IS NULL AND status = 'ACTIVE';
