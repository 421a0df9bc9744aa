-- The input of prompts.

-- The end of a conversation, hidden rows and replaced answers included, which show where turns begin. Newest first.
-- name: rows_before
SELECT {message_columns} FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence < :before
  AND (ts <= :known_at OR :known_at IS NULL)
ORDER BY sequence DESC
LIMIT :limit;
