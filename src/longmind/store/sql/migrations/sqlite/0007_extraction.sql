-- Bindings say which conversations become memory, and where. They belong to a whole app: one that an administrator
-- makes is for conversations of other users too. app_key is tenant + app, hashed.
CREATE TABLE bindings (
    app_key TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    -- Who made it.
    user_id TEXT NOT NULL,
    conversation_scope TEXT NOT NULL,
    spaces TEXT NOT NULL,
    extraction_version TEXT NOT NULL,
    on_closed INTEGER NOT NULL,
    windowed INTEGER NOT NULL,
    window_turns INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (app_key, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX bindings_of_user ON bindings (app_key, user_id, id);

-- What is looked at with every answer and every close: the users and namespaces of the bindings that are not paused,
-- '*' for all of them. window_turns is 0 where there is no window.
CREATE TABLE binding_members (
    app_key TEXT NOT NULL,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    binding_id TEXT NOT NULL,
    on_closed INTEGER NOT NULL,
    window_turns INTEGER NOT NULL,
    PRIMARY KEY (app_key, user_id, namespace, binding_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX binding_members_of ON binding_members (app_key, binding_id);

-- How far a conversation was extracted for a binding and a space, and how far that was asked for.
CREATE TABLE extraction_marks (
    scope_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    binding_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    until_sequence INTEGER NOT NULL,
    requested_sequence INTEGER NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, binding_id, space_id)
) STRICT, WITHOUT ROWID;

-- Keyed hashes of facts that were deleted or rejected, several to a fact. The key is the space's own, so that they say
-- nothing about another space and go with this one.
CREATE TABLE tombstones (
    scope_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    fact TEXT NOT NULL,
    PRIMARY KEY (scope_id, space_id, hash, fact)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_of_fact ON tombstones (scope_id, space_id, fact);

ALTER TABLE spaces ADD COLUMN tombstone_key TEXT;

-- What extraction made of a fact, and why; and its slot, where only one value of it can be true at a time.
ALTER TABLE atoms ADD COLUMN decision TEXT;
ALTER TABLE atoms ADD COLUMN because TEXT;
ALTER TABLE atoms ADD COLUMN precision TEXT;
ALTER TABLE atoms ADD COLUMN extraction_version TEXT;
ALTER TABLE atoms ADD COLUMN slot_subject TEXT;
ALTER TABLE atoms ADD COLUMN slot_attribute TEXT;
ALTER TABLE atoms ADD COLUMN slot_value TEXT;

-- Both leave out what was not extracted, so that adding other atoms costs nothing.
CREATE INDEX atoms_in_slot ON atoms (scope_id, space_id, slot_subject, slot_attribute) WHERE slot_subject IS NOT NULL;
CREATE INDEX atoms_extracted ON atoms (scope_id, space_id, source_conversation_id) WHERE extraction_version IS NOT NULL;
