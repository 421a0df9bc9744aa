-- Every version of a conversation's rolling summary, so that it can be told what was known at an instant. The newest one
-- also stands in the conversation's row.
CREATE TABLE rolling_summaries (
    scope_id TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    until_sequence BIGINT NOT NULL,
    text TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, until_sequence)
);

-- Turns that have begun since the last summary, or since one was asked for.
ALTER TABLE conversations ADD COLUMN unsummarised_turns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE rolling_summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE rolling_summaries FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON rolling_summaries
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
