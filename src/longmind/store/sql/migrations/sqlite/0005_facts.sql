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

-- Atoms with row ids: without them a row of more than a quarter of a page overflows into pages of its own, and with the
-- texts around it an atom is often larger. Those texts stand last, so that reading an atom goes past none of them.
CREATE TABLE atoms_by_row (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    speaker TEXT,
    category_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 5),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    open_until INTEGER,
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    source_conversation_id TEXT,
    source_message_ids TEXT NOT NULL,
    entity_ids TEXT NOT NULL,
    tags TEXT NOT NULL,
    supersedes TEXT,
    superseded_by TEXT,
    superseded_at INTEGER,
    archived_at INTEGER,
    last_confirmed_at INTEGER,
    origin TEXT NOT NULL,
    trust TEXT NOT NULL,
    session_id TEXT,
    "group" TEXT,
    run_id TEXT,
    agent_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    search_context TEXT NOT NULL,
    PRIMARY KEY (scope_id, space_id, position)
) STRICT;

INSERT INTO atoms_by_row (
    scope_id, space_id, position, id, tenant_id, app_id, user_id, text, speaker, category_name, kind, importance,
    confidence, valid_from, valid_to, open_until, status, source_conversation_id, source_message_ids, entity_ids, tags,
    supersedes, superseded_by, superseded_at, archived_at, last_confirmed_at, origin, trust, session_id, "group",
    run_id, agent_id, created_at, updated_at, revision, search_context
)
SELECT
    scope_id, space_id, position, id, tenant_id, app_id, user_id, text, speaker, category_name, kind, importance,
    confidence, valid_from, valid_to, open_until, status, source_conversation_id, source_message_ids, entity_ids, tags,
    supersedes, superseded_by, superseded_at, archived_at, last_confirmed_at, origin, trust, session_id, "group",
    run_id, agent_id, created_at, updated_at, revision, search_context
FROM atoms ORDER BY scope_id, space_id, position;

DROP TABLE atoms;
ALTER TABLE atoms_by_row RENAME TO atoms;

CREATE UNIQUE INDEX atoms_by_id ON atoms (scope_id, id);
-- New atoms are found by their positions and have the revision 0, so that adding one does not touch this index.
CREATE INDEX atoms_changed ON atoms (scope_id, space_id, revision) WHERE revision > 0;
