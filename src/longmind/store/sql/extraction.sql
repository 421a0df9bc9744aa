-- Bindings, marks of what was extracted, and tombstones of what must not be learned again.

-- fragment: binding_columns
id, tenant_id, app_id, user_id, conversation_scope, spaces, extraction_version, on_closed, windowed, window_turns, enabled,
created_at, updated_at

-- name: insert_binding
INSERT INTO bindings (
    app_key, id, tenant_id, app_id, user_id, conversation_scope, spaces, extraction_version, on_closed, windowed,
    window_turns, enabled, created_at, updated_at
) VALUES (
    :app_key, :id, :tenant_id, :app_id, :user_id, :conversation_scope, :spaces, :extraction_version, :on_closed, :windowed,
    :window_turns, 1, :now, :now
);

-- The user who made it, or NULL for an administrator, who may see all of the app.
-- name: get_binding
SELECT {binding_columns} FROM bindings
WHERE app_key = :app_key AND id = :id AND (user_id = :user_id OR :user_id IS NULL);

-- name: list_bindings
SELECT {binding_columns} FROM bindings
WHERE app_key = :app_key AND (user_id = :user_id OR :user_id IS NULL) AND id < :before_id
ORDER BY id DESC
LIMIT :limit;

-- The bindings of a user that have just this scope.
-- name: bindings_of_scope
SELECT {binding_columns} FROM bindings
WHERE app_key = :app_key AND user_id = :user_id AND conversation_scope = :conversation_scope
ORDER BY id;

-- name: update_binding
UPDATE bindings
SET extraction_version = :extraction_version, on_closed = :on_closed, windowed = :windowed, window_turns = :window_turns,
    enabled = :enabled, updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END
WHERE app_key = :app_key AND id = :id
RETURNING {binding_columns};

-- name: put_bound_spaces
UPDATE bindings SET spaces = :spaces WHERE app_key = :app_key AND id = :id;

-- name: delete_binding
DELETE FROM bindings WHERE app_key = :app_key AND id = :id RETURNING id;

-- name: insert_binding_member
INSERT INTO binding_members (app_key, user_id, namespace, binding_id, on_closed, window_turns)
VALUES (:app_key, :user_id, :namespace, :binding_id, :on_closed, :window_turns)
ON CONFLICT (app_key, user_id, namespace, binding_id) DO NOTHING;

-- name: drop_binding_members
DELETE FROM binding_members WHERE app_key = :app_key AND binding_id = :binding_id;

-- The bindings that cover a conversation of a user in a namespace, each once.
-- name: bindings_of_conversation
SELECT {binding_columns} FROM bindings
WHERE app_key = :app_key AND id IN (
    SELECT member.binding_id FROM binding_members AS member
    WHERE member.app_key = :app_key AND member.user_id IN (:user_id, '*') AND member.namespace IN (:namespace, '*')
)
ORDER BY id;

-- name: extraction_mark
SELECT until_sequence, requested_sequence FROM extraction_marks
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND binding_id = :binding_id AND space_id = :space_id;

-- name: request_extraction
INSERT INTO extraction_marks (scope_id, conversation_id, binding_id, space_id, until_sequence, requested_sequence)
VALUES (:scope_id, :conversation_id, :binding_id, :space_id, 0, :requested_sequence)
ON CONFLICT (scope_id, conversation_id, binding_id, space_id) DO UPDATE SET requested_sequence = :requested_sequence;

-- Moves the mark from where the extraction has begun. No row comes back when another extraction has moved it since.
-- name: move_extraction_mark
INSERT INTO extraction_marks (scope_id, conversation_id, binding_id, space_id, until_sequence, requested_sequence)
VALUES (:scope_id, :conversation_id, :binding_id, :space_id, :until_sequence, :until_sequence)
ON CONFLICT (scope_id, conversation_id, binding_id, space_id) DO UPDATE
SET until_sequence = :until_sequence,
    requested_sequence = CASE
        WHEN extraction_marks.requested_sequence < :until_sequence THEN :until_sequence
        ELSE extraction_marks.requested_sequence
    END
WHERE extraction_marks.until_sequence = :from_sequence
RETURNING until_sequence;

-- Turns that the assistant has begun to answer after a place in the conversation. The turn that was being answered at that
-- place does not count, nor does one that was answered before and is answered again.
-- name: count_answered_turns
SELECT COUNT(DISTINCT turn_id) FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence > :after
  AND stage = 'assistant' AND visibility <> 'hidden' AND attempt = 1
  AND turn_id <> COALESCE((
      SELECT last.turn_id FROM events AS last
      WHERE last.scope_id = :scope_id AND last.conversation_id = :conversation_id AND last.sequence = :after
        AND last.stage <> 'user'
  ), '');

-- Atoms that extraction has made from a conversation, of any status and version.
-- name: atoms_extracted_from
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND source_conversation_id = :conversation_id
  AND extraction_version IS NOT NULL
ORDER BY position;

-- The messages of a conversation from which facts were learned that had ended or been replaced at an instant, and those
-- of their successors: one that stands for a fact in other words cites its messages, too.
-- name: messages_of_ended_facts
SELECT old.source_message_ids, successor.source_message_ids
FROM atoms AS old
LEFT JOIN atoms AS successor ON successor.scope_id = :scope_id AND successor.id = old.superseded_by
WHERE old.scope_id = :scope_id AND old.space_id = :space_id AND old.source_conversation_id = :conversation_id
  AND old.extraction_version IS NOT NULL AND old.superseded_at <= :at;

-- Atoms that hold and that a conversation may have added or confirmed: those made from it, and all that were changed since
-- it began. The caller checks which of its messages an atom rests on.
-- name: atoms_learned_or_confirmed
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND status = 'ACTIVE' AND superseded_by IS NULL AND kind <> 'PATTERN'
  AND (source_conversation_id = :conversation_id OR updated_at >= :since)
ORDER BY position;

-- The atoms, closed ones too, that state the same attribute of the same subject.
-- name: positions_in_slot
SELECT position FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND slot_subject = :subject AND slot_attribute = :attribute
  AND status = 'ACTIVE'
ORDER BY position DESC
LIMIT :limit;

-- What is known to change, and about whom.
-- name: slots_in_space
SELECT DISTINCT slot_subject, slot_attribute FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND slot_subject IS NOT NULL
ORDER BY slot_subject, slot_attribute;

-- The newest values, ended ones too.
-- name: atoms_in_slot
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND slot_subject = :subject AND slot_attribute = :attribute
  AND status = 'ACTIVE'
ORDER BY position DESC
LIMIT :limit;

-- The newest version of each pattern, also of those that were archived.
-- name: patterns_in_space
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND kind = 'PATTERN' AND superseded_by IS NULL
ORDER BY position;

-- All versions of the patterns that rest on an event.
-- name: patterns_resting_on
SELECT {atom_columns} FROM atoms
WHERE scope_id = :scope_id AND space_id = :space_id AND kind = 'PATTERN' AND evidence LIKE :event
ORDER BY position;

-- name: put_evidence
UPDATE atoms
SET evidence = :evidence, source_message_ids = :source_message_ids, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id;

-- name: reinforce_atom
UPDATE atoms
SET source_message_ids = :source_message_ids, entity_ids = :entity_ids, confidence = :confidence,
    importance = :importance, trust = :trust,
    last_confirmed_at = CASE WHEN last_confirmed_at > :confirmed_at THEN last_confirmed_at ELSE :confirmed_at END,
    updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id
RETURNING id;

-- Closes an extracted atom, whenever it was said: also one that has ended since.
-- name: supersede_known
UPDATE atoms
SET {superseded}
WHERE scope_id = :scope_id AND id = :id AND superseded_by IS NULL
RETURNING valid_from, supersedes;

-- Links an atom to an older version that became known after it.
-- name: name_predecessor
UPDATE atoms SET supersedes = :supersedes, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND supersedes IS NULL;

-- name: tombstone_key
SELECT tombstone_key FROM spaces WHERE scope_id = :scope_id AND id = :space_id AND deleted_at IS NULL;

-- name: take_tombstone_key
UPDATE spaces SET tombstone_key = COALESCE(tombstone_key, :fresh)
WHERE scope_id = :scope_id AND id = :space_id
RETURNING tombstone_key;

-- name: insert_tombstone
INSERT INTO tombstones (scope_id, space_id, hash, fact) VALUES (:scope_id, :space_id, :hash, :fact)
ON CONFLICT (scope_id, space_id, hash, fact) DO NOTHING;

-- name: drop_tombstone
DELETE FROM tombstones WHERE scope_id = :scope_id AND space_id = :space_id AND fact = :fact;
