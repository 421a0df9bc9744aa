-- Events that are recorded on timelines, beside the messages of conversations that have been there.
ALTER TABLE events ADD COLUMN embedding TEXT;
ALTER TABLE events ADD COLUMN pii_flags TEXT;
-- Which state a row is a snapshot of, as its tags say.
ALTER TABLE events ADD COLUMN state_key TEXT;

-- What was said and what else was recorded are apart, so that each row stands in one of the two.
CREATE INDEX events_said ON events (scope_id, timeline_id, ts) WHERE kind = 'chat.turn';
CREATE INDEX events_recorded ON events (scope_id, timeline_id, ts) WHERE timeline_id IS NOT NULL AND kind <> 'chat.turn';
CREATE INDEX events_of_kind ON events (scope_id, timeline_id, kind, ts)
    WHERE timeline_id IS NOT NULL AND kind <> 'chat.turn';
CREATE INDEX events_on_topic ON events (scope_id, timeline_id, topic, ts) WHERE topic IS NOT NULL;
CREATE INDEX events_of_state ON events (scope_id, timeline_id, state_key, ts) WHERE state_key IS NOT NULL;
-- Every prompt asks for the newest summaries of a timeline, which may have many other rows.
CREATE INDEX events_summarised ON events (scope_id, timeline_id, ts)
    WHERE stage IN ('summary', 'summary_llm', 'meta_summary', 'meta_summary_llm');
