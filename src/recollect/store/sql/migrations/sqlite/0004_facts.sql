-- What recall filters and weighs by, in segments beside those of the words: a space is so loaded without reading its
-- atoms. A segment tells what was true at its revision; atoms that have changed since are read one by one.
CREATE TABLE fact_segments (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    first INTEGER NOT NULL,
    atoms INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope_id, space_id, first)
) STRICT;

-- New atoms are found by their positions and have the revision 0, so that adding one does not touch this index.
DROP INDEX atoms_changed;
CREATE INDEX atoms_changed ON atoms (scope_id, space_id, revision) WHERE revision > 0;
