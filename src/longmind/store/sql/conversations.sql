-- Conversations.
-- A filter that may be absent is written `(column = :value OR :value IS NULL)`, in that order: PostgreSQL learns the type of
-- a value from its first use. This goes for all files.

-- fragment: conversation_columns
id, tenant_id, app_id, namespace, user_id, title, session_id, status, metadata, next_sequence,
rolling_summary, rolling_summary_until_seq, created_at, updated_at, closed_at

-- The negative number stands for a rule that turns sleep-time memory off; without a rule the engine's own idle time counts.
-- fragment: settles_at
NULLIF(COALESCE((
    SELECT CASE WHEN rule.enabled = 1 THEN conversations.updated_at + rule.idle ELSE -1 END FROM sleep_time AS rule
    WHERE rule.scope_id = :scope_id AND rule.agent_id IN ('', conversations.agent_id)
    ORDER BY rule.agent_id DESC
    LIMIT 1
), conversations.updated_at + :sleep_idle), -1)

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

-- Newest first. A page begins after the creation time and id of the last row before it, and the first page after values
-- beyond all: unlike "or there is none", that is a condition that an index can serve.
-- name: list_conversations
SELECT {conversation_columns} FROM conversations
WHERE scope_id = :scope_id
  AND (namespace = :namespace OR :namespace IS NULL)
  AND (status = :status OR :status IS NULL)
  AND (created_at, id) < (:before_time, :before_id)
ORDER BY created_at DESC, id DESC
LIMIT :limit;

-- The only way to a sequence number, which also settles the race between an append and a close. When the user's message
-- came again, another answer begins with the assistant's first row, and a tool's result goes on with the answer that
-- asked for it. A row that names the turn and attempt that it answers changes nothing of the newest turn, unless it
-- begins the newest attempt of that.
-- It also returns the longest window of the bindings that cover this conversation, NULL if none does, which costs one lookup
-- in an app without any, whether a job waits that makes vectors of new messages, and when the conversation will have settled,
-- where sleep-time memory is on and no job waits for that yet.
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
RETURNING next_sequence - :count, turn_id, attempt, session_id, namespace, unsummarised_turns, CASE WHEN EXISTS (
    SELECT 1 FROM binding_members AS any_member WHERE any_member.app_key = :app_key
) THEN (
    SELECT MAX(member.window_turns) FROM binding_members AS member
    WHERE member.app_key = :app_key AND member.user_id IN (conversations.user_id, '*')
      AND member.namespace IN (conversations.namespace, '*')
) END, EXISTS (
    SELECT 1 FROM jobs AS waiting
    WHERE waiting.scope_id = :scope_id AND waiting.kind = :passages_kind AND waiting.unique_key = 'passages'
      AND (waiting.status IN ('queued', 'failed') OR (waiting.status = 'running' AND waiting.payload <> '{}'))
), CASE WHEN NOT EXISTS (
    SELECT 1 FROM jobs AS sleeping
    WHERE sleeping.scope_id = :scope_id AND sleeping.kind = 'blocks.sleep' AND sleeping.unique_key = conversations.id
      AND sleeping.status IN ('queued', 'failed')
) THEN {settles_at} END;

-- An answered message of the user came again: the assistant's next row begins another answer.
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

-- Open conversations whose last change is older than an instant.
-- name: stale_conversations
SELECT id FROM conversations
WHERE scope_id = :scope_id AND status = 'open' AND updated_at <= :before
  AND (namespace = :namespace OR :namespace IS NULL)
ORDER BY id;

-- Without an index of its own, since each append would have to change that.
-- system: the host's sweep of stale conversations goes from user to user
-- name: owners_of_stale_conversations
SELECT DISTINCT tenant_id, app_id, user_id FROM conversations
WHERE status = 'open' AND updated_at <= :before AND (namespace = :namespace OR :namespace IS NULL);
