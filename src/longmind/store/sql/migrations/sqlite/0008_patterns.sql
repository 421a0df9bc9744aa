-- The events that a pattern was found in.
ALTER TABLE atoms ADD COLUMN evidence TEXT;

CREATE INDEX atoms_patterns ON atoms (scope_id, space_id) WHERE kind = 'PATTERN';
