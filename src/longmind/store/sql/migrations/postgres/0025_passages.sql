-- What finds the messages of conversations themselves, beside the atoms that were made of them.

-- Each recall asks for the newest message of a user, and reads those that came since.
CREATE INDEX events_newest_message ON events (scope_id, position) WHERE sequence IS NOT NULL;

-- The words and vectors of some messages of a user, in pieces, stamped with their embedder; without one the model is
-- empty and there are words alone.
CREATE TABLE passage_segments (
    scope_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scope_id, model, first, last)
);
ALTER TABLE passage_segments ALTER COLUMN body SET STORAGE EXTERNAL;

-- Messages that a forgotten fact has cited: no passage shows them any more.
CREATE TABLE unquotable_messages (
    scope_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, message_id)
);

-- What tells a cache that something has changed besides the messages that were appended. It outlives the user, like the
-- epoch: a cache must see that it was raised.
CREATE TABLE passage_revisions (
    scope_id TEXT COLLATE "C" NOT NULL,
    forgotten BIGINT NOT NULL,
    stored BIGINT NOT NULL,
    PRIMARY KEY (scope_id)
);

CREATE TABLE binding_revisions (
    app_key TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (app_key)
);

ALTER TABLE passage_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE passage_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON passage_segments
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE unquotable_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE unquotable_messages FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON unquotable_messages
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE passage_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE passage_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY own_scope ON passage_revisions
    USING ((SELECT current_setting('longmind.scope', true)) IN (scope_id, '*'));
ALTER TABLE binding_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE binding_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY own_app ON binding_revisions
    USING ((SELECT current_setting('longmind.app', true)) IN (app_key, '*'));
