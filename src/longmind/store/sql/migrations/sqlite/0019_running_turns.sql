-- Turns that are being run: somebody waits for the rest of their answers. A row whose last sign of life is old was left by
-- a process that is gone.
CREATE TABLE running_turns (
    scope_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    alive_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, id)
) STRICT, WITHOUT ROWID;
