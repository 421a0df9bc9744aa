-- What extraction has decided and changed, and why. They are in the order of the revisions of their space, and those of
-- one revision in the order of ordinal.
CREATE TABLE decisions (
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- The atom that was added or confirmed, or that ended.
    atom_id TEXT NOT NULL,
    because TEXT NOT NULL,
    source_conversation_id TEXT,
    source_message_ids TEXT NOT NULL,
    extraction_version TEXT,
    decided_at INTEGER NOT NULL,
    -- How many atoms it changed: fewer rows are left where one of them was deleted.
    atoms INTEGER NOT NULL,
    undoes TEXT,
    undone_by TEXT,
    undone_at INTEGER,
    PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX decisions_in_space ON decisions (scope_id, space_id, revision, ordinal);
CREATE INDEX decisions_about ON decisions (scope_id, atom_id);
CREATE INDEX decisions_undone ON decisions (scope_id, space_id, undone_at) WHERE undone_at IS NOT NULL;

-- The fields of an atom that a decision has changed, each with its value before and after.
CREATE TABLE decision_atoms (
    scope_id TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    atom_id TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (scope_id, decision_id, atom_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX decision_atoms_of ON decision_atoms (scope_id, atom_id);
