-- Long-term memory: spaces, atoms and entities. revision grows with every change to a space, so that a cache in any
-- process can tell at once whether it is current, and fetch only what has changed since.
CREATE TABLE spaces (
    scope_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('user', 'group', 'agent', 'shared')),
    metadata TEXT NOT NULL,
    revision BIGINT NOT NULL,
    -- How many atoms were ever put into the space: the next one's position.
    next_position BIGINT NOT NULL,
    -- Whose vectors recall asks; another embedder's may be in the making.
    vector_model TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    PRIMARY KEY (scope_id, id)
);

CREATE UNIQUE INDEX spaces_by_name ON spaces (scope_id, kind, name) WHERE deleted_at IS NULL AND name IS NOT NULL;

-- Two axes of time: valid_from/valid_to is when it is true, created_at/superseded_at when we knew it. open_until is the
-- valid_to that was given at first, which is what was known before the atom was superseded.
CREATE TABLE atoms (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    search_context TEXT NOT NULL,
    speaker TEXT,
    category_name TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 5),
    confidence DOUBLE PRECISION NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    valid_from BIGINT NOT NULL,
    valid_to BIGINT,
    open_until BIGINT,
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    source_conversation_id TEXT,
    source_message_ids TEXT NOT NULL,
    entity_ids TEXT NOT NULL,
    tags TEXT NOT NULL,
    supersedes TEXT,
    superseded_by TEXT,
    superseded_at BIGINT,
    archived_at BIGINT,
    last_confirmed_at BIGINT,
    origin TEXT NOT NULL,
    trust TEXT NOT NULL,
    session_id TEXT,
    "group" TEXT,
    run_id TEXT,
    agent_id TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (scope_id, space_id, position)
);

CREATE UNIQUE INDEX atoms_by_id ON atoms (scope_id, id);
CREATE INDEX atoms_changed ON atoms (scope_id, space_id, revision);

-- The ids of atoms that were deleted, and nothing else of them: a cache must learn what to forget.
CREATE TABLE atom_removals (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    atom_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (scope_id, space_id, atom_id)
);

-- The search index, in segments of atoms with neighbouring positions: words for all, vectors for each embedder.
CREATE TABLE term_segments (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    atoms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scope_id, space_id, first)
);

CREATE TABLE vector_segments (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    atoms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scope_id, space_id, model, first)
);

CREATE TABLE entities (
    scope_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    canonical_name TEXT NOT NULL,
    description TEXT,
    attributes TEXT NOT NULL,
    merged_into TEXT,
    first_seen_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, id)
);

CREATE INDEX entities_in_space ON entities (scope_id, space_id, id);

-- Every name an entity is known by, its canonical one included, in the form in which names are compared.
CREATE TABLE entity_names (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    entity_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, space_id, folded, type)
);

CREATE INDEX entity_names_of ON entity_names (scope_id, entity_id);

CREATE TABLE atom_entities (
    scope_id TEXT COLLATE "C" NOT NULL,
    entity_id TEXT COLLATE "C" NOT NULL,
    atom_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, entity_id, atom_id)
);

CREATE INDEX atom_entities_of ON atom_entities (scope_id, atom_id);

ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON spaces
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE atoms ENABLE ROW LEVEL SECURITY;
ALTER TABLE atoms FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON atoms
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE atom_removals ENABLE ROW LEVEL SECURITY;
ALTER TABLE atom_removals FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON atom_removals
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE entities ENABLE ROW LEVEL SECURITY;
ALTER TABLE entities FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON entities
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE entity_names ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity_names FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON entity_names
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE atom_entities ENABLE ROW LEVEL SECURITY;
ALTER TABLE atom_entities FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON atom_entities
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE term_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE term_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON term_segments
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE vector_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE vector_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON vector_segments
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
