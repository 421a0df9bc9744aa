-- What extraction has decided about atoms, and how the decisions are undone.

-- fragment: decision_columns
id, space_id, revision, ordinal, action, atom_id, because, source_conversation_id, source_message_ids,
extraction_version, decided_at, atoms, undoes, undone_by, undone_at, (
    SELECT string_agg(changed.atom_id, ',' ORDER BY changed.atom_id) FROM decision_atoms AS changed
    WHERE changed.scope_id = :scope_id AND changed.decision_id = decisions.id
)

-- name: insert_decision
INSERT INTO decisions (
    scope_id, id, space_id, revision, ordinal, action, atom_id, because, source_conversation_id, source_message_ids,
    extraction_version, decided_at, atoms, undoes
) VALUES (
    :scope_id, :id, :space_id, :revision, :ordinal, :action, :atom_id, :because, :source_conversation_id,
    :source_message_ids, :extraction_version, :decided_at, :atoms, :undoes
);

-- name: insert_decision_atom
INSERT INTO decision_atoms (scope_id, decision_id, atom_id, changes)
VALUES (:scope_id, :decision_id, :atom_id, :changes);

-- name: get_decision
SELECT {decision_columns} FROM decisions
WHERE scope_id = :scope_id AND id = :id
  AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL);

-- name: atoms_of_decision
SELECT atom_id, changes FROM decision_atoms
WHERE scope_id = :scope_id AND decision_id = :decision_id
ORDER BY atom_id;

-- Newest first. A page begins before the last decision of the page before it, and the first page before one beyond all.
-- name: list_decisions
SELECT {decision_columns} FROM decisions
WHERE scope_id = :scope_id AND space_id = :space_id
  AND (revision < :revision OR (revision = :revision AND ordinal < :ordinal))
ORDER BY revision DESC, ordinal DESC
LIMIT :limit;

-- name: list_decisions_about
SELECT {decision_columns} FROM decisions
WHERE scope_id = :scope_id AND space_id = :space_id
  AND id IN (SELECT decision_id FROM decision_atoms WHERE scope_id = :scope_id AND atom_id = :atom_id)
  AND (revision < :revision OR (revision = :revision AND ordinal < :ordinal))
ORDER BY revision DESC, ordinal DESC
LIMIT :limit;

-- The newest decision about an atom after another one that still holds.
-- name: newest_decision_about
SELECT id FROM decisions
WHERE scope_id = :scope_id AND undone_by IS NULL AND undoes IS NULL
  AND id IN (SELECT decision_id FROM decision_atoms WHERE scope_id = :scope_id AND atom_id = :atom_id)
  AND (revision > :revision OR (revision = :revision AND ordinal > :ordinal))
ORDER BY revision DESC, ordinal DESC
LIMIT 1;

-- The decisions about a conversation that were undone, each with an atom that it had changed.
-- name: undone_from_conversation
SELECT decisions.action, decisions.atom_id, decisions.source_message_ids, changed.atom_id
FROM decisions
JOIN decision_atoms AS changed ON changed.scope_id = :scope_id AND changed.decision_id = decisions.id
WHERE decisions.scope_id = :scope_id AND decisions.space_id = :space_id AND decisions.undone_at IS NOT NULL
  AND decisions.source_conversation_id = :conversation_id
ORDER BY decisions.revision, decisions.ordinal, changed.atom_id;

-- name: note_undone
UPDATE decisions SET undone_by = :undone_by, undone_at = :now WHERE scope_id = :scope_id AND id = :id;

-- Gives an atom the fields that a decision may change.
-- name: put_decided_fields
UPDATE atoms
SET status = :status, archived_at = :archived_at, valid_to = :valid_to, supersedes = :supersedes,
    superseded_by = :superseded_by, superseded_at = :superseded_at, confidence = :confidence, importance = :importance,
    trust = :trust, last_confirmed_at = :last_confirmed_at, source_message_ids = :source_message_ids,
    entity_ids = :entity_ids, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id;

-- Ends an atom that no other one replaces. What was known before is the end that it was recorded with.
-- name: end_atom
UPDATE atoms
SET valid_to = CASE
        WHEN valid_from > :closes_at THEN valid_from WHEN valid_to < :closes_at THEN valid_to ELSE :closes_at
    END,
    superseded_at = :now, updated_at = :now, revision = :revision
WHERE scope_id = :scope_id AND id = :id AND status = 'ACTIVE' AND superseded_by IS NULL
RETURNING id;

-- name: unlink_atom
DELETE FROM atom_entities WHERE scope_id = :scope_id AND entity_id = :entity_id AND atom_id = :atom_id;

-- Nothing of a decision stays about an atom that is deleted, and nothing at all of a decision that was about it.
-- name: forget_atom_in_decisions
DELETE FROM decision_atoms
WHERE scope_id = :scope_id
  AND (
      atom_id = :atom_id
      OR decision_id IN (SELECT id FROM decisions WHERE scope_id = :scope_id AND atom_id = :atom_id)
  );

-- name: forget_decisions_about
DELETE FROM decisions WHERE scope_id = :scope_id AND atom_id = :atom_id;
