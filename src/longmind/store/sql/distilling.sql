-- Summaries of events. They are rare among the rows of a timeline, and stand in an index of their own.

-- name: newest_summaries
SELECT {event_columns} FROM events
WHERE scope_id = :scope_id AND timeline_id = :timeline_id
  AND stage IN ('summary', 'summary_llm', 'meta_summary', 'meta_summary_llm') AND kind <> 'chat.turn' AND {in_window}
ORDER BY ts DESC, position DESC
LIMIT :limit;
