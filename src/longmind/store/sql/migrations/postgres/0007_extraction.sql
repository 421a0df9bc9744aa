-- Bindings say which conversations become memory, and where. They belong to a whole app: one that an administrator
-- makes is for conversations of other users too. app_key is tenant + app, hashed.
CREATE TABLE bindings (
    app_key TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    -- Who made it.
    user_id TEXT COLLATE "C" NOT NULL,
    conversation_scope TEXT NOT NULL,
    spaces TEXT NOT NULL,
    extraction_version TEXT NOT NULL,
    on_closed INTEGER NOT NULL,
    windowed INTEGER NOT NULL,
    window_turns INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (app_key, id)
);

CREATE INDEX bindings_of_user ON bindings (app_key, user_id, id);

-- What is looked at with every answer and every close: the users and namespaces of the bindings that are not paused,
-- '*' for all of them. window_turns is 0 where there is no window.
CREATE TABLE binding_members (
    app_key TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    binding_id TEXT COLLATE "C" NOT NULL,
    on_closed INTEGER NOT NULL,
    window_turns INTEGER NOT NULL,
    PRIMARY KEY (app_key, user_id, namespace, binding_id)
);

CREATE INDEX binding_members_of ON binding_members (app_key, binding_id);

-- How far a conversation was extracted for a binding and a space, and how far that was asked for.
CREATE TABLE extraction_marks (
    scope_id TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    binding_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    until_sequence BIGINT NOT NULL,
    requested_sequence BIGINT NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, binding_id, space_id)
);

-- Keyed hashes of facts that were deleted or rejected, several to a fact. The key is the space's own, so that they say
-- nothing about another space and go with this one.
CREATE TABLE tombstones (
    scope_id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    fact TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, space_id, hash, fact)
);

CREATE INDEX tombstones_of_fact ON tombstones (scope_id, space_id, fact);

ALTER TABLE spaces ADD COLUMN tombstone_key TEXT;

-- What extraction made of a fact, and why; and its slot, where only one value of it can be true at a time.
ALTER TABLE atoms ADD COLUMN decision TEXT;
ALTER TABLE atoms ADD COLUMN because TEXT;
ALTER TABLE atoms ADD COLUMN precision TEXT;
ALTER TABLE atoms ADD COLUMN extraction_version TEXT;
ALTER TABLE atoms ADD COLUMN slot_subject TEXT COLLATE "C";
ALTER TABLE atoms ADD COLUMN slot_attribute TEXT COLLATE "C";
ALTER TABLE atoms ADD COLUMN slot_value TEXT;

-- Both leave out what was not extracted, so that adding other atoms costs nothing.
CREATE INDEX atoms_in_slot ON atoms (scope_id, space_id, slot_subject, slot_attribute) WHERE slot_subject IS NOT NULL;
CREATE INDEX atoms_extracted ON atoms (scope_id, space_id, source_conversation_id) WHERE extraction_version IS NOT NULL;
-- What belongs to an app is seen in every scope of the app; the scope of a transaction sets both.
ALTER TABLE bindings ENABLE ROW LEVEL SECURITY;
ALTER TABLE bindings FORCE ROW LEVEL SECURITY;
CREATE POLICY own_app ON bindings
    USING ((SELECT current_setting('longmind.app', true)) IN (app_key, '*'));
ALTER TABLE binding_members ENABLE ROW LEVEL SECURITY;
ALTER TABLE binding_members FORCE ROW LEVEL SECURITY;
CREATE POLICY own_app ON binding_members
    USING ((SELECT current_setting('longmind.app', true)) IN (app_key, '*'));
ALTER TABLE extraction_marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE extraction_marks FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON extraction_marks
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON tombstones
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
