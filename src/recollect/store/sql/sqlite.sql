-- What SQLite says differently.

-- A write transaction of SQLite is alone already, so reading the row is enough to hold it.
-- name: lock_conversation
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;

-- name: atoms_at
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position IN (SELECT value FROM json_each(:positions));

-- name: atom_texts_at
SELECT position, text, search_context FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND position IN (SELECT value FROM json_each(:positions));

-- The end that each atom was given at first, before it was superseded.
-- name: first_ends_at
SELECT position, open_until FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id
  AND position IN (SELECT value FROM json_each(:positions));

-- Run for each atom. Its revision is 0 until it changes: a cache finds new atoms by their positions.
-- name: insert_atoms
INSERT INTO atoms ({new_atom_columns}) VALUES (
    :scope_id, :space_id, :position, :id, :tenant_id, :app_id, :user_id, :text, :search_context, :speaker, :category_name,
    :kind, :importance, :confidence, :valid_from, :valid_to, :valid_to, 'ACTIVE', :source_conversation_id,
    :source_message_ids, :entity_ids, :tags, :supersedes, :origin, :trust, :session_id, :group, :run_id, :agent_id,
    :created_at, :created_at, 0, :decision, :because, :precision, :extraction_version, :evidence, :slot_subject,
    :slot_attribute, :slot_value
);

-- name: entities_named_any
SELECT DISTINCT entity_id FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id AND folded IN (SELECT value FROM json_each(:names))
ORDER BY entity_id;

-- name: tombstones_of
SELECT hash, fact FROM tombstones
WHERE scope_id = :scope_id AND space_id = :space_id AND hash IN (SELECT value FROM json_each(:hashes));

-- name: message_times
SELECT event_id, ts FROM events WHERE scope_id = :scope_id AND event_id IN (SELECT value FROM json_each(:ids));
