-- Turns that are being run: somebody waits for the rest of their answers. A row whose last sign of life is old was left by
-- a process that is gone.
CREATE TABLE running_turns (
    scope_id TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    turn_id TEXT NOT NULL,
    alive_at BIGINT NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, id)
);

ALTER TABLE running_turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE running_turns FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON running_turns
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
