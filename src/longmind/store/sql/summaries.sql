-- Rolling summaries of conversations.

-- name: summary_state
SELECT rolling_summary, rolling_summary_until_seq, turn_id, next_sequence FROM conversations
WHERE scope_id = :scope_id AND id = :conversation_id;

-- Rows after a place, hidden ones too, since they are part of their turns. Only answers of the open turn have their content
-- read, which says whether they wait for a tool. Rows that were appended since the conversation was read are left for the
-- next time: whether their turn is open is unknown.
-- name: rows_after
SELECT sequence, turn_id, stage, attempt, CASE WHEN stage = 'assistant' AND turn_id = :turn_id THEN content END
FROM events
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND sequence > :after AND sequence < :before
ORDER BY sequence;

-- name: running_since
SELECT DISTINCT turn_id FROM running_turns
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND alive_at > :since;

-- A run of a turn begins, or another row of its answer is there.
-- name: keep_turn_alive
INSERT INTO running_turns (scope_id, conversation_id, id, turn_id, alive_at)
VALUES (:scope_id, :conversation_id, :id, :turn_id, :now)
ON CONFLICT (scope_id, conversation_id, id) DO UPDATE SET alive_at = excluded.alive_at;

-- name: end_running_turn
DELETE FROM running_turns WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND id = :id;

-- Rows of processes that are gone.
-- name: end_old_running_turns
DELETE FROM running_turns
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND alive_at <= :since;

-- Replaces the summary that a refresh began with. No row comes back when another refresh was faster.
-- name: move_rolling_summary
UPDATE conversations
SET rolling_summary = :text, rolling_summary_until_seq = :until_sequence, unsummarised_turns = (
    SELECT COUNT(*) FROM events
    WHERE events.scope_id = :scope_id AND events.conversation_id = :conversation_id
      AND events.sequence > :until_sequence AND events.stage = 'user'
)
WHERE scope_id = :scope_id AND id = :conversation_id AND rolling_summary_until_seq = :from_sequence
RETURNING id;

-- name: insert_rolling_summary
INSERT INTO rolling_summaries (scope_id, conversation_id, until_sequence, text, made_by, created_at)
VALUES (:scope_id, :conversation_id, :until_sequence, :text, :made_by, :now);

-- name: latest_rolling_summary
SELECT text, until_sequence FROM rolling_summaries
WHERE scope_id = :scope_id AND conversation_id = :conversation_id AND (created_at <= :known_at OR :known_at IS NULL)
ORDER BY until_sequence DESC
LIMIT 1;

-- A refresh was queued: turns are counted from here on.
-- name: restart_turn_count
UPDATE conversations SET unsummarised_turns = :begun WHERE scope_id = :scope_id AND id = :conversation_id;
