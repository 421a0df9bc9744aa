-- What recall filters and weighs by, in segments beside those of the words: a space is so loaded without reading its
-- atoms. A segment tells what was true at its revision; atoms that have changed since are read one by one.
CREATE TABLE fact_segments (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    atoms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scope_id, space_id, first)
);

-- New atoms are found by their positions and have the revision 0, so that adding one does not touch this index.
DROP INDEX atoms_changed;
CREATE INDEX atoms_changed ON atoms (scope_id, space_id, revision) WHERE revision > 0;

ALTER TABLE fact_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON fact_segments
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
