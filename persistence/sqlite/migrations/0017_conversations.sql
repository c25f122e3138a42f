-- foreign keys: off
-- A user may have several conversations with an agent, one of which is the default. The table is made anew, because
-- SQLite can't drop its UNIQUE (agent_id, user_id).

CREATE TABLE conversations_new (
    id         INTEGER PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    is_default INTEGER NOT NULL DEFAULT 1 CHECK (is_default IN (0, 1)),
    title      TEXT,
    titled_at  INTEGER,
    -- Found by its beginning: `opening` is a digest of the first messages that a client sent, of which the first `cut`
    -- are not stored, `scope` of the end user whom that client named.
    opening    TEXT,
    cut        INTEGER NOT NULL DEFAULT 0,
    scope      TEXT NOT NULL DEFAULT '',
    -- The number of the conversation whose copy this one is, until the copy is complete; nobody sees it before.
    copying    INTEGER
) STRICT;
INSERT INTO conversations_new (id, user_id, agent_id) SELECT id, user_id, agent_id FROM conversations;
DROP TABLE conversations;
ALTER TABLE conversations_new RENAME TO conversations;
CREATE UNIQUE INDEX conversations_default ON conversations (agent_id, user_id) WHERE is_default = 1;
CREATE INDEX conversations_user ON conversations (user_id, agent_id, opening);
CREATE INDEX conversations_agent ON conversations (agent_id);
CREATE INDEX conversations_copying ON conversations (copying) WHERE copying IS NOT NULL;
CREATE TRIGGER conversation_index_removed BEFORE DELETE ON conversations BEGIN
    DELETE FROM collections WHERE conversation_id = old.id;
END;

-- `answers` is the seq of the user's message that a reply belongs to, if others came between.
ALTER TABLE messages ADD COLUMN mark TEXT CHECK (mark IN ('cancelled', 'imported'));
ALTER TABLE messages ADD COLUMN answers INTEGER;
CREATE INDEX messages_runs ON messages (id) WHERE role = 'user';

-- The conversations' ids of clients.
CREATE TABLE bindings (
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id        TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, agent_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX bindings_agent ON bindings (agent_id);
CREATE INDEX bindings_conversation ON bindings (conversation_id);

-- Runs by the keys under which clients may ask for them again.
CREATE TABLE run_keys (
    digest          TEXT NOT NULL,
    message_id      TEXT NOT NULL,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    fingerprint     TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (digest, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_keys_conversation ON run_keys (conversation_id);
CREATE INDEX run_keys_at ON run_keys (at);

-- The conversation of whose messages, or of whose title, a kept answer has texts: what its end has to withdraw.
ALTER TABLE kept_answers ADD COLUMN conversation_id INTEGER;
CREATE INDEX kept_answers_conversation ON kept_answers (conversation_id) WHERE conversation_id IS NOT NULL;
