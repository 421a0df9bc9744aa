-- The source of a rebuild of the JSONL mirror. A rebuild reads all users, and names each by the id of the scope.

-- system: the rebuild of all files begins with the users that have rows, and how many
-- name: mirrored_users
SELECT scope_id, COUNT(*) FROM events
WHERE timeline_id IS NOT NULL AND (visibility IS NULL OR visibility <> 'hidden')
  AND (tenant_id = :tenant_id OR :tenant_id IS NULL) AND (app_id = :app_id OR :app_id IS NULL)
  AND (user_id = :user_id OR :user_id IS NULL)
GROUP BY scope_id
ORDER BY scope_id;

-- system: the rebuild goes from user to user
-- name: mirrored_timelines
SELECT DISTINCT timeline_id FROM events WHERE scope_id = :user AND timeline_id IS NOT NULL ORDER BY timeline_id;

-- system: the rebuild goes from user to user
-- Both halves come in order from their indexes after the last row that was read, each limited to one page: PostgreSQL would
-- sort all that is left otherwise.
-- name: mirrored_rows
SELECT * FROM (
    SELECT tenant_id, app_id, user_id, {event_columns} FROM events
    WHERE scope_id = :user AND timeline_id = :timeline_id AND kind <> 'chat.turn' AND position <= :through
      AND ts >= :after_time AND (ts > :after_time OR position > :after_position)
    ORDER BY ts, position
    LIMIT :limit
) AS recorded
UNION ALL
SELECT * FROM (
    SELECT tenant_id, app_id, user_id, {event_columns} FROM events
    WHERE scope_id = :user AND timeline_id = :timeline_id AND kind = 'chat.turn' AND position <= :through
      AND ts >= :after_time AND (ts > :after_time OR position > :after_position)
      AND (visibility IS NULL OR visibility <> 'hidden')
    ORDER BY ts, position
    LIMIT :limit
) AS said
ORDER BY ts, position
LIMIT :limit;
