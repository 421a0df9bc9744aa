-- Passages: the messages of conversations, found by what they say. Columns come from the ledger, words and vectors from
-- segments, or from the texts of messages that no segment holds yet.

-- What a cache of a user's passages compares to know that nothing has changed. The position may be taken by a transaction
-- that is not committed last, so it counts only once everything before it is settled.
-- fragment: passage_state
{newest_message}, {forgettings}, {storings}, {rebindings}

-- fragment: newest_message
COALESCE((
    SELECT events.position FROM events
    WHERE events.scope_id = :scope_id AND events.sequence IS NOT NULL
    ORDER BY events.position DESC
    LIMIT 1
), 0)

-- fragment: forgettings
COALESCE((SELECT passage_revisions.forgotten FROM passage_revisions WHERE passage_revisions.scope_id = :scope_id), 0)

-- fragment: storings
COALESCE((SELECT passage_revisions.stored FROM passage_revisions WHERE passage_revisions.scope_id = :scope_id), 0)

-- fragment: rebindings
COALESCE((SELECT binding_revisions.revision FROM binding_revisions WHERE binding_revisions.app_key = :app_key), 0)

-- name: state_of_passages
SELECT {passage_state};

-- fragment: quotable
sequence IS NOT NULL AND stage IN ('user', 'assistant', 'tool') AND visibility IN ('user', 'internal')

-- fragment: passage_columns
position, sequence, conversation_id, stage, ts, turn_id, attempt

-- New messages, with their contents.
-- name: passage_rows_after
SELECT {passage_columns}, content FROM events
WHERE scope_id = :scope_id AND {quotable} AND position > :after
ORDER BY position
LIMIT :limit;

-- All messages after a position, without their contents.
-- name: passage_columns_after
SELECT {passage_columns} FROM events
WHERE scope_id = :scope_id AND {quotable} AND position > :after
ORDER BY position
LIMIT :limit;

-- name: conversation_namespace
SELECT namespace FROM conversations WHERE scope_id = :scope_id AND id = :conversation_id;

-- name: conversation_namespaces
SELECT id, namespace FROM conversations WHERE scope_id = :scope_id;

-- The namespaces of a user that some binding covers, each with the spaces of that binding.
-- name: covering_members
SELECT member.namespace, binding.spaces
FROM binding_members AS member
JOIN bindings AS binding ON binding.app_key = :app_key AND binding.id = member.binding_id
WHERE member.app_key = :app_key AND member.user_id IN (:user_id, '*')
ORDER BY member.binding_id, member.namespace;

-- name: raise_binding_revision
INSERT INTO binding_revisions (app_key, revision) VALUES (:app_key, 1)
ON CONFLICT (app_key) DO UPDATE SET revision = binding_revisions.revision + 1;

-- Holds the row until the end of the transaction: messages are forgotten and segments stored one after the other.
-- name: raise_passage_revision
INSERT INTO passage_revisions (scope_id, forgotten, stored) VALUES (:scope_id, :forgotten, :stored)
ON CONFLICT (scope_id) DO UPDATE
SET forgotten = passage_revisions.forgotten + excluded.forgotten, stored = passage_revisions.stored + excluded.stored
RETURNING forgotten, stored;

-- name: begin_passage_epoch
INSERT INTO passage_revisions (scope_id, forgotten, stored) VALUES (:scope_id, :size, 0)
ON CONFLICT (scope_id) DO UPDATE SET forgotten = (passage_revisions.forgotten / :size + 1) * :size;

-- name: insert_unquotable
INSERT INTO unquotable_messages (scope_id, message_id) VALUES (:scope_id, :message_id)
ON CONFLICT (scope_id, message_id) DO NOTHING;

-- name: unquotable_positions
SELECT events.position
FROM unquotable_messages AS unquotable
JOIN events ON events.scope_id = :scope_id AND events.event_id = unquotable.message_id
WHERE unquotable.scope_id = :scope_id AND events.sequence IS NOT NULL
ORDER BY events.position;

-- name: every_unquotable
SELECT message_id FROM unquotable_messages WHERE scope_id = :scope_id ORDER BY message_id;

-- name: passage_segment_spans
SELECT model, first, last, messages FROM passage_segments WHERE scope_id = :scope_id ORDER BY first, last, model;

-- name: passage_segment_at
SELECT body FROM passage_segments
WHERE scope_id = :scope_id AND model = :model AND first = :first AND last = :last;

-- Two processes may store the same messages: the one with more of them wins, and missing ones are made again.
-- name: put_passage_segment
INSERT INTO passage_segments (scope_id, model, first, last, messages, body)
VALUES (:scope_id, :model, :first, :last, :messages, :body)
ON CONFLICT (scope_id, model, first, last) DO UPDATE SET messages = excluded.messages, body = excluded.body
WHERE excluded.messages > passage_segments.messages;

-- name: replace_passage_segment
UPDATE passage_segments SET body = :body
WHERE scope_id = :scope_id AND model = :model AND first = :first AND last = :last;

-- name: drop_passage_segment
DELETE FROM passage_segments WHERE scope_id = :scope_id AND model = :model AND first = :first AND last = :last;

-- name: drop_other_passage_models
DELETE FROM passage_segments WHERE scope_id = :scope_id AND model <> :model;

-- One job of a user waits at most. While it runs, its payload notes that a message came; the end of the job looks there.
-- name: request_passages
INSERT INTO jobs (
    scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, unique_key,
    fencing_token, epoch, due_at, created_at, updated_at
) VALUES (
    :scope_id, :id, :tenant_id, :app_id, :user_id, :kind, 'queued', '{}', 0, :max_attempts, 'passages',
    0, COALESCE((SELECT epoch FROM erasures WHERE scope_id = :scope_id), 0), {due}, :now, :now
)
ON CONFLICT (scope_id, kind, unique_key) WHERE unique_key IS NOT NULL DO UPDATE
SET status = CASE jobs.status WHEN 'running' THEN 'running' ELSE 'queued' END,
    payload = CASE jobs.status WHEN 'running' THEN :mark ELSE '{}' END,
    attempts = CASE jobs.status WHEN 'running' THEN jobs.attempts ELSE 0 END,
    due_at = CASE jobs.status WHEN 'running' THEN jobs.due_at ELSE excluded.due_at END,
    created_at = CASE jobs.status WHEN 'running' THEN jobs.created_at ELSE excluded.created_at END,
    epoch = CASE jobs.status WHEN 'running' THEN jobs.epoch ELSE excluded.epoch END,
    result = NULL, error = NULL, finished_at = NULL, updated_at = excluded.updated_at
WHERE jobs.status = 'succeeded' OR (jobs.status = 'running' AND jobs.payload = '{}')
    OR (jobs.status = 'dead' AND jobs.updated_at <= :dead_until);

-- The job goes on with the messages that came while it ran, and is as old as the first of them.
-- name: restart_passages_job
UPDATE jobs SET payload = '{}', created_at = :began WHERE scope_id = :scope_id AND id = :id RETURNING id;

-- system: metrics count the jobs of all users
-- name: oldest_passages_job
SELECT MIN(created_at) FROM jobs WHERE due_at IS NOT NULL AND kind >= :first_kind AND kind < :last_kind;

-- system: metrics say how long the jobs of all users waited lately
-- name: recent_passage_lags
SELECT finished_at - created_at FROM jobs
WHERE status = 'succeeded' AND finished_at IS NOT NULL AND finished_at > :since
  AND kind >= :first_kind AND kind < :last_kind
ORDER BY finished_at DESC
LIMIT :limit;

-- Users with a conversation that some binding covers.
-- system: a change of embedder goes from user to user
-- name: owners_of_covered_conversations
SELECT DISTINCT tenant_id, app_id, user_id FROM conversations
WHERE EXISTS (
    SELECT 1 FROM bindings
    JOIN binding_members ON binding_members.app_key = bindings.app_key AND binding_members.binding_id = bindings.id
    WHERE bindings.tenant_id = conversations.tenant_id AND bindings.app_id = conversations.app_id
      AND binding_members.user_id IN (conversations.user_id, '*')
      AND binding_members.namespace IN (conversations.namespace, '*')
)
ORDER BY tenant_id, app_id, user_id;
