-- Every version of a conversation's rolling summary, so that it can be told what was known at an instant. The newest one
-- also stands in the conversation's row.
CREATE TABLE rolling_summaries (
    scope_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    until_sequence INTEGER NOT NULL,
    text TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, until_sequence)
) STRICT, WITHOUT ROWID;

-- Turns that have begun since the last summary, or since one was asked for.
ALTER TABLE conversations ADD COLUMN unsummarised_turns INTEGER NOT NULL DEFAULT 0;
