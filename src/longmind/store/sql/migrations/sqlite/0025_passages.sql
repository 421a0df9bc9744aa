-- What finds the messages of conversations themselves, beside the atoms that were made of them.

-- Each recall asks for the newest message of a user. Every index of SQLite holds the position.
CREATE INDEX events_newest_message ON events (scope_id) WHERE sequence IS NOT NULL;

-- The words and vectors of some messages of a user, in pieces, stamped with their embedder; without one the model is
-- empty and there are words alone. It has row ids: without them SQLite reads whole bodies, overflow pages and all, to
-- compare keys.
CREATE TABLE passage_segments (
    scope_id TEXT NOT NULL,
    model TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope_id, model, first, last)
) STRICT;

-- Messages that a forgotten fact has cited: no passage shows them any more.
CREATE TABLE unquotable_messages (
    scope_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    PRIMARY KEY (scope_id, message_id)
) STRICT, WITHOUT ROWID;

-- What tells a cache that something has changed besides the messages that were appended. It outlives the user, like the
-- epoch: a cache must see that it was raised.
CREATE TABLE passage_revisions (
    scope_id TEXT NOT NULL,
    forgotten INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    PRIMARY KEY (scope_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE binding_revisions (
    app_key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (app_key)
) STRICT, WITHOUT ROWID;
