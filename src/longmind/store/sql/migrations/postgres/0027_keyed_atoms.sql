-- The app's own data beside a fact, the key under which the app keeps it, and a hash by which a fact that is stated again
-- is found. Here the hash is computed as inserts compute it for ASCII; a known fact in other letters is not found by it.
ALTER TABLE atoms ADD COLUMN metadata TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE atoms ADD COLUMN key TEXT COLLATE "C";
ALTER TABLE atoms ADD COLUMN text_hash BIGINT;

UPDATE atoms SET text_hash = ((
    'x' || left(md5(rtrim(btrim(regexp_replace(lower(text), '\s+', ' ', 'g')), '. ')), 16)
)::bit(64) >> 2)::bigint
WHERE superseded_by IS NULL AND status = 'ACTIVE';

CREATE INDEX atoms_by_key ON atoms (scope_id, space_id, key)
WHERE key IS NOT NULL AND superseded_by IS NULL AND status = 'ACTIVE';
CREATE INDEX atoms_by_text ON atoms (scope_id, space_id, text_hash)
WHERE superseded_by IS NULL AND status = 'ACTIVE';
