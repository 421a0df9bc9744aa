-- Memory spaces, with the revisions and positions that changes of their memory take.

-- fragment: space_columns
id, tenant_id, app_id, user_id, name, kind, metadata, created_at, updated_at

-- No row comes back when a live space has that name.
-- name: insert_space
INSERT INTO spaces (
    scope_id, id, tenant_id, app_id, user_id, name, kind, metadata, revision, next_position, created_at,
    updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :name, :kind, :metadata, 0, 0, :now, :now
)
ON CONFLICT (scope_id, kind, name) WHERE deleted_at IS NULL AND name IS NOT NULL DO NOTHING
RETURNING {space_columns};

-- name: space_by_name
SELECT {space_columns} FROM spaces
WHERE scope_id = :scope_id AND kind = :kind AND name = :name AND deleted_at IS NULL;

-- name: get_space
SELECT {space_columns} FROM spaces WHERE scope_id = :scope_id AND id = :id AND deleted_at IS NULL;

-- name: list_spaces
SELECT {space_columns} FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL ORDER BY id;

-- Every position was taken by an atom, which exists or was removed. Removed ones are few, so they are counted.
-- name: count_atoms
SELECT next_position - (
    SELECT COUNT(*) FROM atom_removals
    WHERE atom_removals.scope_id = :scope_id AND atom_removals.space_id = :space_id
)
FROM spaces WHERE scope_id = :scope_id AND id = :space_id;

-- name: delete_space
UPDATE spaces SET deleted_at = :now, updated_at = :now, revision = revision + 1
WHERE scope_id = :scope_id AND id = :id AND deleted_at IS NULL
RETURNING id;

-- Begins a change of a space's memory. It holds the space until the end of the transaction, so that revisions appear in
-- their order, and takes positions for the atoms that the change adds.
-- name: next_revision
UPDATE spaces SET revision = revision + 1, next_position = next_position + :atoms, updated_at = :now
WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL
RETURNING revision, next_position - :atoms, vector_model, tombstone_key;

-- name: space_state
SELECT revision, next_position, vector_model, names_revision, {passage_state}
FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL;

-- All that a cache of a space, and of the passages of its owner, has to read to know that nothing has changed.
-- name: space_revision
SELECT revision, {passage_state}
FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL;

-- Caches of the names in this space read them again.
-- name: names_changed
UPDATE spaces SET names_revision = :revision WHERE scope_id = :scope_id AND id = :space_id;

-- name: adopt_vector_model
UPDATE spaces SET vector_model = :model WHERE scope_id = :scope_id AND id = :space_id;

-- Segments never overlap, so a space with fewer atoms in them than positions has some without a vector. These may be of
-- deleted atoms: then the job that fills them has nothing to do.
-- system: a change of embedder goes from space to space, of all users
-- name: spaces_lacking_vectors
SELECT tenant_id, app_id, user_id, id FROM spaces
WHERE deleted_at IS NULL AND next_position > 0
  AND (
    vector_model IS NULL OR vector_model <> :model OR next_position > (
        SELECT COALESCE(SUM(atoms), 0) FROM vector_segments
        WHERE vector_segments.scope_id = spaces.scope_id AND space_id = spaces.id AND model = :model
    )
  )
ORDER BY scope_id, id;

-- system: a host that knows its users only by their memory asks for them
-- name: users_of_app
SELECT DISTINCT user_id FROM spaces WHERE tenant_id = :tenant_id AND app_id = :app_id AND deleted_at IS NULL ORDER BY user_id;
