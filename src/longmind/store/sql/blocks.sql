-- Memory blocks, their revisions, and the rules and jobs of sleep-time memory.

-- fragment: block_columns
id, block_type, content, agent_id, created_at, updated_at, version, line_times, written_by

-- fragment: revision_columns
version, block_type, agent_id, content, written_by, updated_at, replaced_at, shrunk

-- name: get_block
SELECT {block_columns} FROM blocks
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type AND content IS NOT NULL;

-- The blocks of the user, of one agent or all agents, or both. Those of the user come first: their agent id is empty.
-- name: list_blocks
SELECT {block_columns} FROM blocks
WHERE scope_id = :scope_id AND content IS NOT NULL
  AND (block_type = :block_type OR :block_type IS NULL)
  AND ((agent_id = '' AND :users = 1) OR (agent_id <> '' AND :agents = 1 AND (agent_id = :agent_id OR :agent_id IS NULL)))
ORDER BY agent_id, block_type DESC;

-- The blocks as they were at an instant: one that was written since is replaced by the revision that it had then.
-- name: list_blocks_known_at
SELECT {block_columns} FROM blocks
WHERE scope_id = :scope_id AND content IS NOT NULL AND updated_at <= :known_at
  AND (block_type = :block_type OR :block_type IS NULL)
  AND ((agent_id = '' AND :users = 1) OR (agent_id <> '' AND :agents = 1 AND (agent_id = :agent_id OR :agent_id IS NULL)))
UNION ALL
SELECT b.id, r.block_type, r.content, r.agent_id, b.created_at, r.updated_at, r.version, '[]', r.written_by
FROM block_revisions AS r
JOIN blocks AS b ON b.scope_id = :scope_id AND b.agent_id = r.agent_id AND b.block_type = r.block_type
WHERE r.scope_id = :scope_id AND r.updated_at <= :known_at AND r.replaced_at > :known_at
  AND (r.block_type = :block_type OR :block_type IS NULL)
  AND ((r.agent_id = '' AND :users = 1)
       OR (r.agent_id <> '' AND :agents = 1 AND (r.agent_id = :agent_id OR :agent_id IS NULL)))
ORDER BY agent_id, block_type DESC;

-- Makes a block, also where one was deleted, with a higher version than that. No row comes back when there is one.
-- name: create_block
INSERT INTO blocks (
    scope_id, agent_id, block_type, id, tenant_id, app_id, user_id, content, line_times, written_by, version,
    created_at, updated_at
) VALUES (
    :scope_id, :agent_id, :block_type, :id, :tenant_id, :app_id, :user_id, :content, :line_times, :written_by, 1,
    :now, :now
)
ON CONFLICT (scope_id, agent_id, block_type) DO UPDATE
SET id = excluded.id, content = excluded.content, line_times = excluded.line_times, written_by = excluded.written_by,
    version = blocks.version + 1, created_at = excluded.created_at,
    updated_at = CASE WHEN blocks.updated_at < excluded.updated_at THEN excluded.updated_at ELSE blocks.updated_at + 1 END
WHERE blocks.content IS NULL
RETURNING {block_columns};

-- Compares and sets in one statement: no row comes back when the block was written since that version was read.
-- The id tells it from one that was made anew, and has counted up to the same version, after an erasure.
-- name: replace_block
UPDATE blocks
SET content = :content, line_times = :line_times, written_by = :written_by, version = version + 1,
    updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
  AND id = :id AND version = :version AND content IS NOT NULL
RETURNING {block_columns};

-- name: delete_block
UPDATE blocks
SET content = NULL, line_times = '[]', version = version + 1,
    updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
  AND id = :id AND version = :version AND content IS NOT NULL
RETURNING id;

-- Changes nothing, and so holds the row until the end of the transaction on either engine.
-- name: hold_block
UPDATE blocks SET version = version
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
RETURNING id;

-- name: insert_revision
INSERT INTO block_revisions (
    scope_id, agent_id, block_type, version, content, written_by, updated_at, replaced_at, shrunk
) VALUES (
    :scope_id, :agent_id, :block_type, :version, :content, :written_by, :updated_at, :replaced_at, :shrunk
);

-- name: list_revisions
SELECT {revision_columns} FROM block_revisions
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
ORDER BY version DESC
LIMIT :limit;

-- name: get_revision
SELECT {revision_columns} FROM block_revisions
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type AND version = :version;

-- name: rewrite_revision
UPDATE block_revisions SET content = :content
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type AND version = :version;

-- name: drop_revisions
DELETE FROM block_revisions WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type;

-- name: drop_old_revisions
DELETE FROM block_revisions
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
  AND shrunk = 0 AND version <= :until;

-- Marked revisions stay longer than others: many small writes after a mishap do not push them out.
-- name: drop_old_marked_revisions
DELETE FROM block_revisions
WHERE scope_id = :scope_id AND agent_id = :agent_id AND block_type = :block_type
  AND shrunk = 1 AND version NOT IN (
      SELECT kept.version FROM block_revisions AS kept
      WHERE kept.scope_id = :scope_id AND kept.agent_id = :agent_id AND kept.block_type = :block_type AND kept.shrunk = 1
      ORDER BY kept.version DESC
      LIMIT :limit
  );

-- name: set_sleep_time
INSERT INTO sleep_time (scope_id, agent_id, enabled, idle, updated_at)
VALUES (:scope_id, :agent_id, :enabled, :idle, :now)
ON CONFLICT (scope_id, agent_id) DO UPDATE
SET enabled = excluded.enabled, idle = excluded.idle, updated_at = excluded.updated_at;

-- An agent's own row comes before the user's.
-- name: get_sleep_time
SELECT enabled, idle, agent_id FROM sleep_time
WHERE scope_id = :scope_id AND agent_id IN ('', :agent_id)
ORDER BY agent_id DESC
LIMIT 1;

-- Queues a job, or moves the one that waits to another time. No row comes back while a worker has it.
-- name: put_off_waiting_job
INSERT INTO jobs (
    scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, unique_key,
    fencing_token, epoch, due_at, created_at, updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :kind, 'queued', :payload, 0, :max_attempts, :unique_key,
    0, COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0), :due_at, :now, :now
)
ON CONFLICT (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL DO UPDATE
SET status = 'queued', due_at = excluded.due_at, epoch = excluded.epoch, attempts = 0, result = NULL, error = NULL,
    finished_at = NULL, updated_at = excluded.updated_at
WHERE jobs.status <> 'running'
RETURNING id;

-- Only of a closed conversation: the job of an open one waits for silence.
-- name: hasten_sleep
UPDATE jobs SET due_at = :now, updated_at = :now
WHERE scope_id = :scope_id AND kind = 'blocks.sleep' AND unique_key = :conversation_id AND status = 'queued' AND due_at > :now
  AND EXISTS (
      SELECT 1 FROM conversations AS closed
      WHERE closed.scope_id = :scope_id AND closed.id = :conversation_id AND closed.status = 'closed'
  );

-- name: sleep_state
SELECT agent_id, status, updated_at, next_sequence - 1, slept_until FROM conversations
WHERE scope_id = :scope_id AND id = :conversation_id;

-- No row comes back when another job has read the same part since.
-- name: move_sleep_mark
UPDATE conversations SET slept_until = :until
WHERE scope_id = :scope_id AND id = :conversation_id AND slept_until = :begun_at
RETURNING id;

-- name: awaited_extraction
SELECT binding_id FROM extraction_marks
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND requested_sequence > until_sequence
LIMIT 1;

-- name: furthest_extraction_mark
SELECT MAX(until_sequence) FROM extraction_marks WHERE scope_id = :scope_id AND conversation_id = :conversation_id;
