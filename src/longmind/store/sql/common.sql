-- Queries that both engines understand. `:name` is bound by the caller; `:scope_id` by the transaction itself.
-- A filter that may be absent is written `(column = :value OR :value IS NULL)`, in that order: PostgreSQL learns the type of
-- a value from its first use.
-- `{fragment}` is replaced by the fragment of that name, so that a list of columns stands in one place.

-- fragment: conversation_columns
id, tenant_id, app_id, namespace, user_id, title, session_id, status, metadata, next_sequence,
rolling_summary, rolling_summary_until_seq, created_at, updated_at, closed_at

-- fragment: message_columns
event_id, conversation_id, turn_id, sequence, stage, content, visibility, stop_reason, model, provider, usage,
tool_use_id, tool_name, is_error, trace_id, idempotency_key, ts, attempt, fingerprint

-- fragment: settles_at
(
    SELECT CASE WHEN rule.enabled = 1 THEN conversations.updated_at + rule.idle END FROM sleep_time AS rule
    WHERE rule.scope_id = :scope_id AND rule.agent_id IN ('', conversations.agent_id)
    ORDER BY rule.agent_id DESC
    LIMIT 1
)

-- fragment: job_columns
id, kind, status, payload, result, error, attempts, max_attempts, unique_key, due_at, created_at, updated_at,
finished_at

-- name: insert_conversation
INSERT INTO conversations (
    scope_id, id, tenant_id, app_id, user_id, namespace, title, session_id, agent_id, status, metadata,
    next_sequence, attempt, rolling_summary_until_seq, created_at, updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :namespace, :title, :session_id, :agent_id, 'open', :metadata,
    1, 1, 0, :now, :now
);

-- name: get_conversation
SELECT {conversation_columns} FROM conversations WHERE scope_id = :scope_id AND id = :id;

-- Newest first; the caller passes the creation time and the id of the last one it has seen to go on from there, and
-- something beyond all of them to begin: unlike "or there is none", that is a condition an index can serve.
-- name: list_conversations
SELECT {conversation_columns} FROM conversations
WHERE scope_id = :scope_id
  AND (namespace = :namespace OR :namespace IS NULL)
  AND (status = :status OR :status IS NULL)
  AND (created_at, id) < (:before_time, :before_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- The only way to a sequence number: it also settles the race between an append and a close. After the user's message
-- came again, another answer begins with the assistant's word; a tool's result goes on with the answer that asked for it.
-- A row that names the turn and the attempt it answers changes nothing of the latest turn, unless it begins its newest.
-- Whether a binding counts the turns of this conversation is told on the way; in an app without any it costs one look.
-- So is when it will have settled if nothing more is said, where sleep-time memory is on.
-- name: take_sequences
UPDATE conversations
SET next_sequence = next_sequence + :count,
    turn_id = COALESCE(:new_turn_id, turn_id, :spare_turn_id),
    attempt = CASE
        WHEN :new_turn_id IS NOT NULL THEN 1
        WHEN turn_id = :answered_turn_id AND attempt < :attempt THEN :attempt
        WHEN asked_again = 1 AND :role = 'assistant' AND :answered_turn_id IS NULL THEN attempt + 1
        ELSE attempt
    END,
    asked_again = CASE
        WHEN :role = 'system' OR turn_id <> :answered_turn_id OR attempt >= :attempt THEN asked_again
        ELSE 0
    END,
    unsummarised_turns = unsummarised_turns + CASE WHEN :new_turn_id IS NOT NULL THEN 1 ELSE 0 END,
    updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END
WHERE scope_id = :scope_id AND id = :conversation_id AND status = 'open'
RETURNING next_sequence - :count, turn_id, attempt, session_id, namespace, unsummarised_turns, EXISTS (
    SELECT 1 FROM binding_members AS any_member WHERE any_member.app_key = :app_key
) AND EXISTS (
    SELECT 1 FROM binding_members AS member
    WHERE member.app_key = :app_key AND member.user_id IN (conversations.user_id, '*')
      AND member.namespace IN (conversations.namespace, '*') AND member.window_turns > 0
), {settles_at};

-- An answered message of the user came again: if the assistant speaks next, it is another answer.
-- name: mark_asked_again
UPDATE conversations SET asked_again = 1
WHERE scope_id = :scope_id AND id = :conversation_id AND status = 'open' AND turn_id = :turn_id;

-- name: conversation_status
SELECT status FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;

-- name: close_conversation
UPDATE conversations
SET status = 'closed', closed_at = :now, updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END
WHERE scope_id = :scope_id AND id = :id AND status = 'open'
  AND (updated_at <= :stale_before OR :stale_before IS NULL)
RETURNING {conversation_columns}, EXISTS (
    SELECT 1 FROM binding_members AS any_member WHERE any_member.app_key = :app_key
) AND EXISTS (
    SELECT 1 FROM binding_members AS member
    WHERE member.app_key = :app_key AND member.user_id IN (conversations.user_id, '*')
      AND member.namespace IN (conversations.namespace, '*') AND member.on_closed = 1
), {settles_at};

-- Open ones whose last change is older than the given instant.
-- name: stale_conversations
SELECT id FROM conversations
WHERE scope_id = :scope_id AND status = 'open' AND updated_at <= :before
  AND (namespace = :namespace OR :namespace IS NULL)
ORDER BY id;

-- Not by an index of its own: each append would have to touch that.
-- system: the host's sweep of stale conversations goes from user to user
-- name: owners_of_stale_conversations
SELECT DISTINCT tenant_id, app_id, user_id FROM conversations
WHERE status = 'open' AND updated_at <= :before AND (namespace = :namespace OR :namespace IS NULL);

-- name: insert_event
INSERT INTO events (
    scope_id, event_id, tenant_id, app_id, user_id, agent_id, client_id, session_id, run_id, graph_id, node_id,
    timeline_id, ts, kind, stage, tags, data, conversation_id, sequence, turn_id, attempt, visibility, content,
    stop_reason, model, provider, usage, tool_use_id, tool_name, is_error, trace_id, idempotency_key, fingerprint
) VALUES (
    :scope_id, :event_id, :tenant_id, :app_id, :user_id, :agent_id, :client_id, :session_id, :run_id, :graph_id,
    :node_id, :timeline_id, :ts, :kind, :stage, :tags, :data, :conversation_id, :sequence, :turn_id, :attempt,
    :visibility, :content, :stop_reason, :model, :provider, :usage, :tool_use_id, :tool_name, :is_error, :trace_id,
    :idempotency_key, :fingerprint
)
RETURNING position;

-- name: message_by_key
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND idempotency_key = :idempotency_key;

-- The number of the newest answer to a turn, NULL while there is none. Answers stand after their user's message.
-- name: newest_attempt
SELECT MAX(attempt) FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence > :user_sequence
  AND turn_id = :turn_id AND stage = 'assistant';

-- The tail of a conversation, newest first. An answer that a later one to the same turn replaced is left out on request.
-- name: last_messages
SELECT {message_columns} FROM events AS message
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence < :before
  AND (visibility = 'user' OR (visibility = 'internal' AND :internal = 1) OR (visibility = 'hidden' AND :hidden = 1))
  AND (
      :latest_attempts = 0 OR stage IN ('user', 'system')
      OR NOT EXISTS (
          SELECT 1 FROM events AS later
          WHERE later.scope_id = :scope_id AND later.conversation_id = :conversation_id
            AND later.turn_id = message.turn_id AND later.attempt > 1 AND later.attempt > message.attempt
            AND later.stage = 'assistant' AND later.visibility <> 'hidden'
      )
  )
ORDER BY sequence DESC
LIMIT :limit;

-- system: followers read the changes of all scopes, in the order of the ledger
-- name: changes_after
SELECT position, kind, tenant_id, app_id, user_id, conversation_id, event_id, ts, stage, sequence, turn_id, visibility, data,
    timeline_id
FROM events
WHERE position > :after
ORDER BY position
LIMIT :limit;

-- system: the newest place in the ledger, from which a follower may start
-- name: last_position
SELECT COALESCE(MAX(position), 0) FROM events;

-- name: insert_job
INSERT INTO jobs (
    scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, unique_key,
    fencing_token, epoch, due_at, created_at, updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :kind, 'queued', :payload, 0, :max_attempts, :unique_key,
    0, COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0), {due}, :now, :now
)
ON CONFLICT (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
RETURNING {job_columns};

-- name: job_by_key
SELECT {job_columns} FROM jobs WHERE scope_id = :scope_id AND kind = :kind AND unique_key = :unique_key;

-- name: get_job
SELECT {job_columns} FROM jobs WHERE scope_id = :scope_id AND id = :id;

-- Newest first; the caller passes the id of the last one it has seen to go on from there, or one beyond all ids.
-- name: list_jobs
SELECT {job_columns} FROM jobs
WHERE scope_id = :scope_id
  AND (status = :status OR :status IS NULL)
  AND (kind = :kind OR :kind IS NULL)
  AND id < :before_id
ORDER BY id DESC
LIMIT :limit;

-- system: the host looks for a job, whoever it is of
-- name: job_of_any_scope
SELECT tenant_id, app_id, user_id, {job_columns} FROM jobs
WHERE id = :id AND (status = :status OR :status IS NULL) AND (kind = :kind OR :kind IS NULL);

-- system: the host looks after the jobs of all users, newest first
-- name: jobs_of_all_scopes
SELECT tenant_id, app_id, user_id, {job_columns} FROM jobs
WHERE (status = :status OR :status IS NULL) AND (kind = :kind OR :kind IS NULL)
ORDER BY id DESC
LIMIT :limit;

-- Only a job that is not being worked on and has not succeeded can be started anew.
-- name: retry_job
UPDATE jobs
SET status = 'queued', attempts = 0, error = NULL, due_at = :now, finished_at = NULL, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND status IN ('failed', 'dead')
RETURNING {job_columns};

-- What was done and is needed once more.
-- name: queue_again
UPDATE jobs
SET
    status = 'queued', attempts = 0, payload = :payload, result = NULL, error = NULL, due_at = :now, finished_at = NULL,
    updated_at = :now, epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
WHERE scope_id = :scope_id AND id = :id AND status IN ('succeeded', 'dead')
RETURNING {job_columns};

-- No job has a later epoch than its scope. They are compared by order and not for equality, because a planner that knows
-- nothing of the rows takes that for the likelier, and so sees that few rows of an index will do.
-- fragment: of_this_epoch
epoch >= COALESCE((SELECT epoch FROM erasures WHERE erasures.scope_id = jobs.scope_id), 0)

-- system: which of its kinds a worker can take jobs of, so that it need not try to take one of each
-- name: due_kinds
SELECT wanted.value FROM json_each(:kinds) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE jobs.kind = wanted.value AND due_at <= :now
      AND {of_this_epoch}
)
ORDER BY wanted.key;

-- system: a worker takes a job of any scope, those of dead workers included
-- name: claim_jobs
UPDATE jobs
SET status = 'running', attempts = attempts + 1, fencing_token = fencing_token + 1, worker = :worker,
    due_at = {lease_clock} + :lease, updated_at = :now
WHERE (scope_id, id) IN (
    SELECT scope_id, id FROM jobs
    WHERE kind = :kind AND due_at <= :now
      AND {of_this_epoch}
    ORDER BY due_at
    LIMIT 1
)
RETURNING tenant_id, app_id, user_id, fencing_token, epoch, {job_columns};

-- A sign of life; no row comes back when the lease was lost.
-- name: extend_lease
UPDATE jobs SET due_at = {lease_clock} + :lease, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
RETURNING id;

-- The fence: the newest claim may complete the job, and only if the scope was not erased since it was queued.
-- name: finish_job
UPDATE jobs
SET status = :status, result = :result, error = :error, due_at = :due_at, finished_at = :finished_at, worker = NULL,
    updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
  AND epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
RETURNING id;

-- The same for a job that has to wait: it was taken, but not attempted.
-- name: put_off_job
UPDATE jobs
SET status = 'queued', attempts = attempts - 1, due_at = :due_at, worker = NULL, updated_at = :now
WHERE scope_id = :scope_id AND id = :id AND fencing_token = :fencing_token AND status = 'running'
  AND epoch = COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0)
RETURNING id;

-- system: what the jobs of all users wait for has come
-- name: hasten_jobs
UPDATE jobs SET due_at = :now, updated_at = :now
WHERE kind = :kind AND status = 'queued' AND due_at > :now AND payload LIKE :named;

-- name: raise_epoch
INSERT INTO erasures (scope_id, epoch) VALUES (:scope_id, 1)
ON CONFLICT (scope_id) DO UPDATE SET epoch = erasures.epoch + 1
RETURNING epoch;
