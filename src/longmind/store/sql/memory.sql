-- Spaces, atoms and entities.

-- fragment: space_columns
id, tenant_id, app_id, user_id, name, kind, metadata, created_at, updated_at

-- fragment: atom_columns
id, space_id, position, tenant_id, app_id, user_id, text, category_name, kind, importance, confidence, valid_from,
valid_to, status, source_conversation_id, source_message_ids, entity_ids, tags, supersedes, superseded_by, superseded_at,
archived_at, last_confirmed_at, origin, trust, session_id, "group", run_id, agent_id, created_at, updated_at, decision,
because, precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value

-- fragment: entity_columns
id, space_id, tenant_id, app_id, user_id, type, canonical_name, description, attributes, merged_into, first_seen_at,
last_seen_at, created_at, updated_at

-- Gives nothing back when a live space of that name is there already.
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

-- Every place was taken by an atom, which is there or was removed: to count the removed ones is to look at few rows.
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

-- Begins a change to a space's memory: holds the space until the end of the transaction, so that revisions appear in
-- their order, and takes places for the atoms that it adds.
-- name: next_revision
UPDATE spaces SET revision = revision + 1, next_position = next_position + :atoms, updated_at = :now
WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL
RETURNING revision, next_position - :atoms, vector_model, tombstone_key;

-- name: space_state
SELECT revision, next_position, vector_model, names_revision FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL;

-- All that has to be known of a space whose state is in memory.
-- name: space_revision
SELECT revision FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL;

-- fragment: new_atom_columns
scope_id, space_id, position, id, tenant_id, app_id, user_id, text, search_context, speaker, category_name, kind,
importance, confidence, valid_from, valid_to, open_until, status, source_conversation_id, source_message_ids, entity_ids,
tags, supersedes, origin, trust, session_id, "group", run_id, agent_id, created_at, updated_at, revision, decision,
because, precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value

-- Its revision is 0 until it changes: a cache finds new atoms by their positions.
-- fragment: new_atom_values
:scope_id, :space_id, :position, :id, :tenant_id, :app_id, :user_id, :text, :search_context, :speaker, :category_name,
:kind, :importance, :confidence, :valid_from, :valid_to, :valid_to, 'ACTIVE', :source_conversation_id,
:source_message_ids, :entity_ids, :tags, :supersedes, :origin, :trust, :session_id, :group, :run_id, :agent_id,
:created_at, :created_at, 0, :decision, :because, :precision, :extraction_version, :evidence, :slot_subject,
:slot_attribute, :slot_value

-- name: get_atom
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND id = :id
  AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL);

-- Newest first; the caller passes the position of the last one it has seen to go on from there, and one beyond all of them
-- to begin: unlike "or there is none", that is a condition an index can serve.
-- name: list_atoms
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND (status = :status OR :status IS NULL)
  AND (category_name = :category OR :category IS NULL)
  AND (valid_from <= :valid_at OR :valid_at IS NULL)
  AND (valid_to > :valid_at OR valid_to IS NULL OR :valid_at IS NULL)
  AND position < :before
ORDER BY position DESC
LIMIT :limit;

-- fragment: superseded
valid_to = CASE WHEN valid_from > :valid_from THEN valid_from WHEN valid_to < :valid_from THEN valid_to ELSE :valid_from END,
superseded_by = :superseded_by, superseded_at = :superseded_at, updated_at = :now, revision = :revision

-- Ends the old version of a fact where the new one begins, but not later than it was to end. One that has ended already
-- is closed, and is not superseded.
-- name: supersede_atom
UPDATE atoms
SET {superseded}
WHERE scope_id = :scope_id AND id = :id AND superseded_by IS NULL AND (valid_to IS NULL OR valid_to > :now)
RETURNING valid_from, supersedes;

-- Each version that was superseded, with where the one after it begins and when that was recorded: nothing, where it was
-- deleted. Whatever was superseded has a revision, which spares a look at those that never changed.
-- name: superseded_versions
SELECT
    old.id, old.position, old.valid_from, old.valid_to, old.open_until, old.superseded_by, old.superseded_at,
    newer.valid_from, newer.created_at
FROM atoms AS old
LEFT JOIN atoms AS newer ON newer.scope_id = :scope_id AND newer.id = old.superseded_by
WHERE old.scope_id = :scope_id AND old.space_id = :space_id AND old.revision > 0
  AND old.superseded_by IS NOT NULL AND old.superseded_at IS NOT NULL AND old.valid_to IS NOT NULL;

-- name: put_end
UPDATE atoms SET valid_to = :valid_to, updated_at = :now, revision = :revision WHERE scope_id = :scope_id AND id = :id;

-- Undoes supersede_atom: the atom ends where it was to end at first. Refused as long as the version that superseded it
-- is there. Deleting one joins those beside it, so that behind a version that is not found there is none either.
-- name: restore_atom
UPDATE atoms
SET valid_to = open_until, superseded_by = NULL, superseded_at = NULL, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND status = 'ACTIVE' AND superseded_by IS NOT NULL
  AND NOT EXISTS (
      SELECT 1 FROM atoms AS newer WHERE newer.scope_id = :scope_id AND newer.id = atoms.superseded_by
  )
RETURNING id;

-- name: archive_atom
UPDATE atoms
SET status = 'ARCHIVED', archived_at = :now, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND status = 'ACTIVE'
RETURNING id;

-- name: delete_atom
DELETE FROM atoms WHERE scope_id = :scope_id AND id = :id RETURNING supersedes, superseded_by;

-- Joins the versions before one that was deleted to the one after it, so that the newest can still be found from the
-- oldest. There may be several: one sentence can end all atoms that state the same outdated value. Whatever was
-- superseded has a revision, which spares a look at those that never changed.
-- name: join_older_versions
UPDATE atoms SET superseded_by = :after, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND space_id = :space_id AND revision > 0 AND superseded_by = :gone;

-- name: join_newer_version
UPDATE atoms SET supersedes = :before, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :after AND supersedes = :gone;

-- name: delete_atom_links
DELETE FROM atom_entities WHERE scope_id = :scope_id AND atom_id = :atom_id;

-- name: insert_removal
INSERT INTO atom_removals (scope_id, space_id, atom_id, position, revision)
VALUES (:scope_id, :space_id, :atom_id, :position, :revision);

-- name: relink_atom
UPDATE atoms SET entity_ids = :entity_ids, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id;

-- name: message_conversation
SELECT conversation_id FROM events WHERE scope_id = :scope_id AND event_id = :event_id AND sequence IS NOT NULL;

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

-- Tells recall that the names it knows are not all there are any more.
-- name: names_changed
UPDATE spaces SET names_revision = :revision WHERE scope_id = :scope_id AND id = :space_id;

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

-- What was seen of an entity after an atom was deleted that was its first or its last: its own creation, that of the
-- entities it has taken over, and the atoms that are left.
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

-- What recall filters and weighs by.
-- fragment: fact_columns
position, kind, trust, importance, valid_from, valid_to, open_until, created_at, superseded_at, archived_at,
last_confirmed_at, category_name, id, tags, speaker

-- name: facts_between
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first AND position < :until
ORDER BY position;

-- Atoms that are new, from a position on, and those that have changed since a revision.
-- name: facts_since
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first
UNION ALL
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND revision > :revision AND revision > 0;

-- name: put_fact_segment
INSERT INTO fact_segments (scope_id, space_id, first, atoms, revision, body)
VALUES (:scope_id, :space_id, :first, :atoms, :revision, :body)
ON CONFLICT (scope_id, space_id, first) DO UPDATE SET atoms = :atoms, revision = :revision, body = :body;

-- name: fact_segments_between
SELECT first, atoms, revision, body FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :first AND first < :until
ORDER BY first;

-- name: fact_segment_of
SELECT first, revision, body FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- name: drop_fact_segments
DELETE FROM fact_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :from_position AND first < :to_position;

-- name: removals_since
SELECT position FROM atom_removals
WHERE scope_id = :scope_id AND space_id = :space_id AND revision > :revision;

-- name: put_term_segment
INSERT INTO term_segments (scope_id, space_id, first, atoms, body) VALUES (:scope_id, :space_id, :first, :atoms, :body)
ON CONFLICT (scope_id, space_id, first) DO UPDATE SET atoms = :atoms, body = :body;

-- name: put_vector_segment
INSERT INTO vector_segments (scope_id, space_id, model, first, atoms, body)
VALUES (:scope_id, :space_id, :model, :first, :atoms, :body)
ON CONFLICT (scope_id, space_id, model, first) DO UPDATE SET atoms = :atoms, body = :body;

-- Segments that hold atoms from a position on. They do not overlap: one that began before is the last that did.
-- name: term_segments_from
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first + atoms > :position
  AND first >= COALESCE((
      SELECT MAX(first) FROM term_segments
      WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position
  ), 0)
ORDER BY first;

-- name: vector_segments_from
SELECT first, atoms, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first + atoms > :position
  AND first >= COALESCE((
      SELECT MAX(first) FROM vector_segments
      WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first <= :position
  ), 0)
ORDER BY first;

-- name: term_segments_between
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :first AND first < :until
ORDER BY first;

-- name: vector_segments_between
SELECT first, atoms, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model AND first >= :first AND first < :until
ORDER BY first;

-- name: term_segment_of
SELECT first, atoms, body FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- name: vector_segments_of
SELECT model, first, body FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first <= :position AND first + atoms > :position;

-- name: drop_term_segments
DELETE FROM term_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND first >= :from_position AND first < :to_position;

-- name: drop_vector_segments
DELETE FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model
  AND first >= :from_position AND first < :to_position;

-- name: adopt_vector_model
UPDATE spaces SET vector_model = :model WHERE scope_id = :scope_id AND id = :space_id;

-- name: positions_of_entity
SELECT atoms.position FROM atom_entities
JOIN atoms ON atoms.scope_id = :scope_id AND atoms.id = atom_entities.atom_id
WHERE atom_entities.scope_id = :scope_id AND atom_entities.entity_id = :entity_id AND atoms.space_id = :space_id
ORDER BY atoms.position;

-- Where there are vectors of a model.
-- name: vector_spans
SELECT first, atoms, model FROM vector_segments
WHERE scope_id = :scope_id AND space_id = :space_id AND model = :model
ORDER BY first;

-- name: atom_texts
SELECT position, text FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first AND (position < :until OR :until IS NULL)
ORDER BY position
LIMIT :limit;

-- name: drop_other_vectors
DELETE FROM vector_segments WHERE scope_id = :scope_id AND space_id = :space_id AND model <> :model;

-- Segments never overlap, so fewer atoms in them than places in the space are places without a vector. Some of those
-- may be of deleted atoms: whoever fills them sees that there is nothing to do.
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
