-- What finds events by their meaning, beside the words that are read from the events themselves.

-- What has come to a timeline since its index was last refreshed: by position, for an event may tell of the past.
-- SQLite finds it without: there every index holds the position, and rows that follow each other are next to each other.
CREATE INDEX events_as_they_came ON events (scope_id, timeline_id, position) WHERE timeline_id IS NOT NULL;

-- The vectors of some events of a timeline, stamped with their embedder.
CREATE TABLE event_vectors (
    scope_id TEXT COLLATE "C" NOT NULL,
    timeline_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    events BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scope_id, timeline_id, model, first, last)
);

ALTER TABLE event_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON event_vectors
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
