-- The vectors of some events of a timeline, stamped with their embedder: what finds them by their meaning, beside the
-- words that are read from the events themselves. It has row ids: without them SQLite reads whole
-- bodies, overflow pages and all, to compare keys.
CREATE TABLE event_vectors (
    scope_id TEXT NOT NULL,
    timeline_id TEXT NOT NULL,
    model TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    events INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope_id, timeline_id, model, first, last)
) STRICT;
