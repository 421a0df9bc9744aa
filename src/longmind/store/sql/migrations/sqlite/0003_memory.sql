-- Long-term memory: spaces, atoms and entities. revision grows with every change to a space, so that a cache in any
-- process can tell at once whether it is current, and fetch only what has changed since.
CREATE TABLE spaces (
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'group', 'agent', 'shared')),
    metadata TEXT NOT NULL,
    revision INTEGER NOT NULL,
    -- How many atoms were ever put into the space: the next one's position.
    next_position INTEGER NOT NULL,
    -- Whose vectors recall asks; another embedder's may be in the making.
    vector_model TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX spaces_by_name ON spaces (scope_id, kind, name) WHERE deleted_at IS NULL AND name IS NOT NULL;

-- Two axes of time: valid_from/valid_to is when it is true, created_at/superseded_at when we knew it. open_until is the
-- valid_to that was given at first, which is what was known before the atom was superseded.
CREATE TABLE atoms (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    search_context TEXT NOT NULL,
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
    PRIMARY KEY (scope_id, space_id, position)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX atoms_by_id ON atoms (scope_id, id);
CREATE INDEX atoms_changed ON atoms (scope_id, space_id, revision);

-- The ids of atoms that were deleted, and nothing else of them: a cache must learn what to forget.
CREATE TABLE atom_removals (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    atom_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (scope_id, space_id, atom_id)
) STRICT, WITHOUT ROWID;

-- The search index, in segments of atoms with neighbouring positions: words for all, vectors for each embedder. These
-- tables have row ids: without them SQLite reads whole bodies, overflow pages and all, to compare keys.
CREATE TABLE term_segments (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    first INTEGER NOT NULL,
    atoms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope_id, space_id, first)
) STRICT;

CREATE TABLE vector_segments (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    model TEXT NOT NULL,
    first INTEGER NOT NULL,
    atoms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope_id, space_id, model, first)
) STRICT;

CREATE TABLE entities (
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    type TEXT NOT NULL,
    canonical_name TEXT NOT NULL,
    description TEXT,
    attributes TEXT NOT NULL,
    merged_into TEXT,
    first_seen_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX entities_in_space ON entities (scope_id, space_id, id);

-- Every name an entity is known by, its canonical one included, in the form in which names are compared.
CREATE TABLE entity_names (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    type TEXT NOT NULL,
    folded TEXT NOT NULL,
    name TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    PRIMARY KEY (scope_id, space_id, folded, type)
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_names_of ON entity_names (scope_id, entity_id);

CREATE TABLE atom_entities (
    scope_id TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    atom_id TEXT NOT NULL,
    PRIMARY KEY (scope_id, entity_id, atom_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX atom_entities_of ON atom_entities (scope_id, atom_id);
