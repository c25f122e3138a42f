-- A user may have several conversations with an agent, one of which is the default.

ALTER TABLE conversations DROP CONSTRAINT conversations_agent_id_user_id_key;
ALTER TABLE conversations
    ADD is_default bigint NOT NULL DEFAULT 1 CHECK (is_default IN (0, 1)),
    ADD title      text COLLATE "C",
    ADD titled_at  bigint,
    -- Found by its beginning: `opening` is a digest of the first messages that a client sent, of which the first `cut`
    -- are not stored, `scope` of the end user whom that client named.
    ADD opening    text COLLATE "C",
    ADD cut        bigint NOT NULL DEFAULT 0,
    ADD scope      text COLLATE "C" NOT NULL DEFAULT '',
    -- The number of the conversation whose copy this one is, until the copy is complete; nobody sees it before.
    ADD copying    bigint;
CREATE UNIQUE INDEX conversations_default ON conversations (agent_id, user_id) WHERE is_default = 1;
DROP INDEX conversations_user;
CREATE INDEX conversations_user ON conversations (user_id, agent_id, opening);
CREATE INDEX conversations_agent ON conversations (agent_id);
CREATE INDEX conversations_copying ON conversations (copying) WHERE copying IS NOT NULL;

-- `answers` is the seq of the user's message that a reply belongs to, if others came between.
ALTER TABLE messages
    ADD mark    text COLLATE "C" CHECK (mark IN ('cancelled', 'imported')),
    ADD answers bigint;
CREATE INDEX messages_runs ON messages (id) WHERE role = 'user';

-- The conversations' ids of clients.
CREATE TABLE bindings (
    user_id         text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id        text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name            text COLLATE "C" NOT NULL,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, agent_id, name)
);
CREATE INDEX bindings_agent ON bindings (agent_id);
CREATE INDEX bindings_conversation ON bindings (conversation_id);

-- As in 0002: no samples of texts.
ALTER TABLE conversations
    ALTER title SET STATISTICS 0,
    ALTER opening SET STATISTICS 0,
    ALTER scope SET STATISTICS 0;
ALTER TABLE bindings
    ALTER name SET STATISTICS 0;

-- Runs by the keys under which clients may ask for them again.
CREATE TABLE run_keys (
    digest          text COLLATE "C" NOT NULL,
    message_id      text COLLATE "C" NOT NULL,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    fingerprint     text COLLATE "C" NOT NULL,
    at              bigint NOT NULL,
    PRIMARY KEY (digest, message_id)
);
CREATE INDEX run_keys_conversation ON run_keys (conversation_id);
CREATE INDEX run_keys_at ON run_keys (at);
ALTER TABLE run_keys
    ALTER digest SET STATISTICS 0,
    ALTER fingerprint SET STATISTICS 0;

-- The conversation of whose messages, or of whose title, a kept answer has texts: what its end has to withdraw.
ALTER TABLE kept_answers ADD conversation_id bigint;
CREATE INDEX kept_answers_conversation ON kept_answers (conversation_id) WHERE conversation_id IS NOT NULL;
