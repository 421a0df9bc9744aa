-- What extraction has decided and changed, and why. They are in the order of the revisions of their space, and those of
-- one revision in the order of ordinal.
CREATE TABLE decisions (
    scope_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    space_id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    -- The atom that was added or confirmed, or that ended.
    atom_id TEXT COLLATE "C" NOT NULL,
    because TEXT NOT NULL,
    source_conversation_id TEXT COLLATE "C",
    source_message_ids TEXT COLLATE "C" NOT NULL,
    extraction_version TEXT COLLATE "C",
    decided_at BIGINT NOT NULL,
    -- How many atoms it changed: fewer rows are left where one of them was deleted.
    atoms BIGINT NOT NULL,
    undoes TEXT COLLATE "C",
    undone_by TEXT COLLATE "C",
    undone_at BIGINT,
    PRIMARY KEY (scope_id, id)
);

CREATE INDEX decisions_in_space ON decisions (scope_id, space_id, revision, ordinal);
CREATE INDEX decisions_about ON decisions (scope_id, atom_id);
CREATE INDEX decisions_undone ON decisions (scope_id, space_id, undone_at) WHERE undone_at IS NOT NULL;

-- The fields of an atom that a decision has changed, each with its value before and after.
CREATE TABLE decision_atoms (
    scope_id TEXT COLLATE "C" NOT NULL,
    decision_id TEXT COLLATE "C" NOT NULL,
    atom_id TEXT COLLATE "C" NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (scope_id, decision_id, atom_id)
);

CREATE INDEX decision_atoms_of ON decision_atoms (scope_id, atom_id);

ALTER TABLE decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON decisions
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE decision_atoms ENABLE ROW LEVEL SECURITY;
ALTER TABLE decision_atoms FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON decision_atoms
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
