-- Entities, their names, and the atoms that mention them.

-- fragment: entity_columns
id, space_id, tenant_id, app_id, user_id, type, canonical_name, description, attributes, merged_into, first_seen_at,
last_seen_at, created_at, updated_at

-- name: insert_entity
INSERT INTO entities (
    scope_id, id, space_id, tenant_id, app_id, user_id, type, canonical_name, description, attributes, first_seen_at,
    last_seen_at, created_at, updated_at
) VALUES (
    :scope_id, :id, :space_id, :tenant_id, :app_id, :user_id, :type, :canonical_name, :description, :attributes, :now,
    :now, :now, :now
);

-- name: get_entity
SELECT {entity_columns} FROM entities
WHERE scope_id = :scope_id AND id = :id
  AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL);

-- name: insert_entity_name
INSERT INTO entity_names (scope_id, space_id, type, folded, name, entity_id, created_at)
VALUES (:scope_id, :space_id, :type, :folded, :name, :entity_id, :now)
ON CONFLICT (scope_id, space_id, folded, type) DO NOTHING
RETURNING entity_id;

-- name: entities_named
SELECT type, entity_id FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id AND folded = :folded AND (type = :type OR :type IS NULL)
ORDER BY type;

-- name: names_of_entity
SELECT name FROM entity_names WHERE scope_id = :scope_id AND entity_id = :entity_id ORDER BY folded;

-- name: names_in_space
SELECT folded, entity_id, type, created_at FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id AND (type = :type OR :type IS NULL);

-- name: move_names
UPDATE entity_names SET entity_id = :canonical_id WHERE scope_id = :scope_id AND entity_id = :alias_id;

-- name: merge_entity
UPDATE entities SET merged_into = :canonical_id, updated_at = :now WHERE scope_id = :scope_id AND id = :alias_id;

-- name: widen_entity
UPDATE entities
SET first_seen_at = CASE WHEN :first_seen_at < first_seen_at THEN :first_seen_at ELSE first_seen_at END,
    last_seen_at = CASE WHEN :last_seen_at > last_seen_at THEN :last_seen_at ELSE last_seen_at END,
    updated_at = :now
WHERE scope_id = :scope_id AND id = :id;

-- The first and last sight of an entity after an atom was deleted that was one of them: from its own creation, that of the
-- entities merged into it, and the atoms that are left.
-- name: narrow_entity
WITH RECURSIVE folded (id, created_at) AS (
    SELECT id, created_at FROM entities WHERE scope_id = :scope_id AND id = :id
    UNION
    SELECT entities.id, entities.created_at FROM entities JOIN folded ON entities.merged_into = folded.id
    WHERE entities.scope_id = :scope_id
),
seen (at) AS (
    SELECT created_at FROM folded
    UNION ALL
    SELECT atoms.valid_from FROM atom_entities
    JOIN atoms ON atoms.scope_id = :scope_id AND atoms.id = atom_entities.atom_id
    WHERE atom_entities.scope_id = :scope_id AND atom_entities.entity_id = :id
)
UPDATE entities
SET first_seen_at = (SELECT MIN(at) FROM seen), last_seen_at = (SELECT MAX(at) FROM seen), updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND (first_seen_at >= :valid_from OR last_seen_at <= :valid_from);

-- name: link_atom
INSERT INTO atom_entities (scope_id, entity_id, atom_id) VALUES (:scope_id, :entity_id, :atom_id)
ON CONFLICT (scope_id, entity_id, atom_id) DO NOTHING;

-- name: atoms_of_entity
SELECT atom_id FROM atom_entities WHERE scope_id = :scope_id AND entity_id = :entity_id;

-- name: count_atoms_of_entity
SELECT COUNT(*) FROM atom_entities WHERE scope_id = :scope_id AND entity_id = :entity_id;

-- name: unlink_entity
DELETE FROM atom_entities WHERE scope_id = :scope_id AND entity_id = :entity_id;

-- name: positions_of_entity
SELECT atoms.position FROM atom_entities
JOIN atoms ON atoms.scope_id = :scope_id AND atoms.id = atom_entities.atom_id
WHERE atom_entities.scope_id = :scope_id AND atom_entities.entity_id = :entity_id AND atoms.space_id = :space_id
ORDER BY atoms.position;
