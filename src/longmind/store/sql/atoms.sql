-- Atoms and their versions.

-- fragment: atom_columns
id, space_id, position, tenant_id, app_id, user_id, text, category_name, kind, importance, confidence, valid_from,
valid_to, status, source_conversation_id, source_message_ids, entity_ids, tags, metadata, key, supersedes, superseded_by,
superseded_at, archived_at, last_confirmed_at, origin, trust, session_id, "group", run_id, agent_id, created_at, updated_at, decision,
because, precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value

-- fragment: new_atom_columns
scope_id, space_id, position, id, tenant_id, app_id, user_id, text, search_context, speaker, category_name, kind,
importance, confidence, valid_from, valid_to, open_until, status, source_conversation_id, source_message_ids, entity_ids,
tags, metadata, key, text_hash, supersedes, origin, trust, session_id, "group", run_id, agent_id, created_at, updated_at, revision, decision,
because, precision, extraction_version, evidence, slot_subject, slot_attribute, slot_value

-- The revision is 0 until an atom changes: a cache finds new atoms by their positions.
-- fragment: new_atom_values
:scope_id, :space_id, :position, :id, :tenant_id, :app_id, :user_id, :text, :search_context, :speaker, :category_name,
:kind, :importance, :confidence, :valid_from, :valid_to, :valid_to, 'ACTIVE', :source_conversation_id,
:source_message_ids, :entity_ids, :tags, :metadata, :key, :text_hash, :supersedes, :origin, :trust, :session_id, :group, :run_id, :agent_id,
:created_at, :created_at, 0, :decision, :because, :precision, :extraction_version, :evidence, :slot_subject,
:slot_attribute, :slot_value

-- name: get_atom
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND id = :id
  AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL);

-- Newest first. A page begins before the position of the last row before it, and the first page before one beyond all:
-- unlike "or there is none", that is a condition that an index can serve.
-- name: list_atoms
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND (status = :status OR :status IS NULL)
  AND (category_name = :category OR :category IS NULL)
  AND (valid_from <= :valid_at OR :valid_at IS NULL)
  AND (valid_to > :valid_at OR valid_to IS NULL OR :valid_at IS NULL)
  AND {has_tags}
  AND {has_metadata}
  AND position < :before
ORDER BY position DESC
LIMIT :limit;

-- The atom that holds now under a key of the app. Here and below, a plus keeps the index by positions out of the plan, which
-- would look through the space.
-- name: atom_by_key
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND key = :key
  AND superseded_by IS NULL AND status = 'ACTIVE' AND (valid_to IS NULL OR valid_to > :now)
ORDER BY +position DESC
LIMIT 1;

-- The oldest atom that holds now and may state a text; the caller compares the texts, since a hash may be that of two.
-- name: atom_by_text
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND text_hash = :text_hash
  AND superseded_by IS NULL AND status = 'ACTIVE' AND (valid_to IS NULL OR valid_to > :now)
  AND category_name = :category_name AND kind = :kind AND trust = :trust AND (key IS NULL OR :has_key = 0)
  AND COALESCE(speaker, '') = COALESCE(:speaker, '') AND COALESCE(valid_to, -1) = COALESCE(:valid_to, -1)
  AND (valid_from = :valid_from OR (:begins_now = 1 AND valid_from < :now))
  AND (:entity_ids = '[]' OR entity_ids IN ('[]', :entity_ids))
ORDER BY +position
LIMIT 1;

-- Gives the last position of a change back, which has no atom after all.
-- name: return_position
UPDATE spaces SET next_position = next_position - 1
WHERE scope_id = :scope_id AND id = :space_id;

-- A known atom that the app states again.
-- name: restate_atom
UPDATE atoms
SET source_conversation_id = :source_conversation_id, source_message_ids = :source_message_ids,
    entity_ids = :entity_ids, tags = :tags, metadata = COALESCE(:metadata, metadata), key = :key,
    confidence = :confidence, importance = :importance, trust = :trust,
    last_confirmed_at = CASE WHEN last_confirmed_at > :confirmed_at THEN last_confirmed_at ELSE :confirmed_at END,
    updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id;

-- name: put_key
UPDATE atoms SET key = :key, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND key IS NULL;

-- Takes the key from an atom that holds again, if another one has it by now.
-- name: release_taken_key
UPDATE atoms SET key = NULL, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND key IS NOT NULL AND superseded_by IS NULL AND status = 'ACTIVE' AND EXISTS (
    SELECT 1 FROM atoms AS other
    WHERE other.scope_id = :scope_id AND other.space_id = atoms.space_id AND other.key = atoms.key AND other.id <> :id
      AND other.superseded_by IS NULL AND other.status = 'ACTIVE' AND (other.valid_to IS NULL OR other.valid_to > :now)
);

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

-- Each superseded version with the beginning of the one after it and the instant at which that was recorded, both NULL
-- where that was deleted. A superseded version has a revision, which skips the atoms that never changed.
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
-- exists. Deleting a version joins its neighbours, so that none exists after one that is not found.
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

-- Joins the versions before a deleted one to the one after it, so that the newest can still be found from the oldest. There
-- may be several: one sentence can end all atoms that state the same outdated value. They have a revision, which skips the
-- atoms that never changed.
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

-- The columns that recall filters and ranks by.
-- fragment: fact_columns
position, kind, trust, importance, valid_from, valid_to, open_until, created_at, superseded_at, archived_at,
last_confirmed_at, category_name, id, tags, speaker, metadata

-- name: facts_between
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first AND position < :until
ORDER BY position;

-- Atoms from a position on, which are new, and those that have changed since a revision.
-- name: facts_since
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first
UNION ALL
SELECT {fact_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND revision > :revision AND revision > 0;

-- name: removals_since
SELECT position FROM atom_removals
WHERE scope_id = :scope_id AND space_id = :space_id AND revision > :revision;

-- name: atom_texts
SELECT position, text FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position >= :first AND (position < :until OR :until IS NULL)
ORDER BY position
LIMIT :limit;
