-- Messages: the rows of the ledger that belong to a conversation.

-- fragment: message_columns
event_id, conversation_id, turn_id, sequence, stage, content, visibility, stop_reason, model, provider, usage,
tool_use_id, tool_name, is_error, trace_id, idempotency_key, ts, attempt, fingerprint

-- name: message_by_key
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND idempotency_key = :idempotency_key;

-- The number of the newest answer to a turn; NULL if there is none. Answers stand after their user's message.
-- name: newest_attempt
SELECT MAX(attempt) FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence > :user_sequence
  AND turn_id = :turn_id AND stage = 'assistant';

-- The tail of a conversation, newest first; on request without answers that a later one to the same turn replaced.
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

-- The end of a conversation, hidden rows and replaced answers included, which show where turns begin. Newest first.
-- name: rows_before
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence < :before
  AND (ts <= :known_at OR :known_at IS NULL)
ORDER BY sequence DESC
LIMIT :limit;

-- name: message_conversation
SELECT conversation_id FROM events WHERE scope_id = :scope_id AND event_id = :event_id AND sequence IS NOT NULL;

-- name: every_message
SELECT {message_columns} FROM events WHERE scope_id = :scope_id AND sequence IS NOT NULL ORDER BY conversation_id, sequence;

-- name: count_messages
SELECT COUNT(*) FROM events WHERE scope_id = :scope_id AND sequence IS NOT NULL;
