-- Export, import and erasure of a user. Statements on whole rows are built by `whole_tables/user_rows.py`.

-- name: scope_epoch
SELECT epoch FROM erasures WHERE scope_id = :scope_id;

-- name: every_conversation
SELECT {conversation_columns} FROM conversations WHERE scope_id = :scope_id ORDER BY created_at, id;

-- Deleted spaces too: their memory is stored until the user is erased.
-- name: every_space
SELECT {space_columns} FROM spaces WHERE scope_id = :scope_id ORDER BY id;

-- name: every_atom
SELECT {atom_columns} FROM atoms WHERE scope_id = :scope_id ORDER BY space_id, position;

-- name: every_decision
SELECT {decision_columns} FROM decisions WHERE scope_id = :scope_id ORDER BY space_id, revision, ordinal;

-- name: every_entity
SELECT {entity_columns} FROM entities WHERE scope_id = :scope_id ORDER BY id;

-- name: every_binding
SELECT {binding_columns} FROM bindings WHERE app_key = :app_key AND user_id = :user_id ORDER BY id;

-- name: every_block
SELECT {block_columns} FROM blocks WHERE scope_id = :scope_id AND content IS NOT NULL ORDER BY agent_id, block_type;

-- name: every_revision
SELECT {revision_columns} FROM block_revisions WHERE scope_id = :scope_id ORDER BY agent_id, block_type, version;

-- name: every_job
SELECT {job_columns} FROM jobs WHERE scope_id = :scope_id ORDER BY id;

-- name: every_event
SELECT event_id, ts, kind, stage, text, tags, data, metrics, topic, severity, signal, timeline_id, conversation_id,
    session_id, agent_id, run_id, client_id, graph_id, node_id, inputs, outputs, embedding, pii_flags, version
FROM events WHERE scope_id = :scope_id AND sequence IS NULL ORDER BY position;

-- name: every_summary
SELECT conversation_id, until_sequence, text, made_by, created_at FROM rolling_summaries
WHERE scope_id = :scope_id ORDER BY conversation_id, until_sequence;

-- name: every_grant
SELECT space_id, owner_id, user_id, created_at FROM space_grants
WHERE app_key = :app_key AND (owner_id = :user_id OR user_id = :user_id) ORDER BY space_id, user_id;

-- name: every_quota
SELECT "group", session_id, stores, supersedes, deletes, updated_at FROM tool_quotas
WHERE scope_id = :scope_id ORDER BY "group", session_id;

-- name: every_sleep_time
SELECT agent_id, enabled, idle, updated_at FROM sleep_time WHERE scope_id = :scope_id ORDER BY agent_id;

-- name: every_audit_line
SELECT "group", seq, body, hash FROM tool_audit WHERE scope_id = :scope_id ORDER BY "group", seq;

-- name: audit_ends
SELECT seq, hash, anchor_file FROM tool_audit_heads WHERE scope_id = :scope_id ORDER BY "group";

-- Bindings may be deleted since, so only a look at every shared space finds where the user was heard.
-- system: shared spaces of others may rest on what a user has said
-- name: shared_spaces_of_others
SELECT user_id, id, deleted_at FROM spaces
WHERE tenant_id = :tenant_id AND app_id = :app_id AND kind = 'shared' AND user_id <> :user_id
ORDER BY scope_id, id;

-- system: an atom in a shared space rests on conversations in another user's scope
-- name: atoms_heard_from
SELECT id, position, created_at, kind FROM atoms
WHERE scope_id = :owner AND space_id = :space_id AND (
    (extraction_version IS NOT NULL AND speaker = :speaker)
    OR source_conversation_id IN (SELECT id FROM conversations WHERE scope_id = :speaker_scope)
)
ORDER BY position;

-- system: marks stand with the space, and the conversations are in another user's scope
-- name: forget_marks_of
DELETE FROM extraction_marks
WHERE scope_id = :owner AND conversation_id IN (SELECT id FROM conversations WHERE scope_id = :speaker_scope);

-- Entities that were first met when some atoms were learned, and that no atom mentions any more.
-- name: entities_left_over
SELECT id FROM entities
WHERE scope_id = :scope_id AND space_id = :space_id AND created_at = :at AND NOT EXISTS (
    SELECT 1 FROM atom_entities WHERE atom_entities.scope_id = :scope_id AND atom_entities.entity_id = entities.id
);

-- name: erase_entity
DELETE FROM entities WHERE scope_id = :scope_id AND id = :id;

-- name: erase_names_of
DELETE FROM entity_names WHERE scope_id = :scope_id AND entity_id = :id;

-- Names that were learned with some atoms, of entities that are still mentioned. The canonical name stays.
-- name: erase_names_learned
DELETE FROM entity_names
WHERE scope_id = :scope_id AND space_id = :space_id AND created_at = :at AND NOT EXISTS (
    SELECT 1 FROM entities
    WHERE entities.scope_id = :scope_id AND entities.id = entity_names.entity_id
      AND entities.canonical_name = entity_names.name
)
RETURNING name;

-- name: put_conversation_scope
UPDATE bindings SET conversation_scope = :conversation_scope WHERE app_key = :app_key AND id = :id;

-- Changes that name a reader. A recorded event may have the same kind, and is left alone: it has a timeline.
-- name: grant_changes
SELECT event_id, data FROM events
WHERE scope_id = :scope_id AND timeline_id IS NULL AND kind IN ('space.granted', 'space.revoked');

-- name: put_change_data
UPDATE events SET data = :data WHERE scope_id = :scope_id AND event_id = :event_id AND timeline_id IS NULL;

-- system: a search for traces compares files with those that the last erasure names
-- name: last_erasure
SELECT body FROM tool_audit WHERE "group" = 'admin' AND topic = 'admin.delete_user_data' ORDER BY at DESC, seq DESC LIMIT 1;

-- A copy that is not complete leaves a row among the erasures, under a name that is no scope's.
-- system: asks whether a database is the target of such a copy
-- name: copy_begun
SELECT scope_id FROM erasures WHERE scope_id LIKE 'copy:%';

-- system: the target of a copy is marked until it is complete
-- name: begin_copy
INSERT INTO erasures (scope_id, epoch) VALUES (:mark, 0) ON CONFLICT (scope_id) DO NOTHING;

-- name: audit_line_before
SELECT hash FROM tool_audit WHERE scope_id = :scope_id AND "group" = :group AND seq = :seq;
