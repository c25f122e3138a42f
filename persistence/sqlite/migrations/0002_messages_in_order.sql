-- Messages lie in the order in which they came, so that a commit of many chats writes few pages; the index that finds
-- those of a conversation is small, as conversations are numbers. A conversation's last seq is that of its last message.

CREATE TABLE conversations_new (
    id       INTEGER PRIMARY KEY,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    UNIQUE (agent_id, user_id)
) STRICT;
INSERT INTO conversations_new (id, user_id, agent_id) SELECT rowid, user_id, agent_id FROM conversations;

CREATE TABLE messages_new (
    place           INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations_new (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL CHECK (seq > 0),
    id              TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('user', 'agent')),
    name            TEXT NOT NULL,
    content         TEXT NOT NULL,
    sources         TEXT,
    at              INTEGER NOT NULL,
    UNIQUE (conversation_id, seq)
) STRICT;
INSERT INTO messages_new (conversation_id, seq, id, role, name, content, sources, at)
    SELECT conversations.rowid, seq, messages.id, role, name, content, sources, at
    FROM messages JOIN conversations ON conversations.id = conversation_id ORDER BY at, conversation_id, seq;

DROP TABLE messages;
DROP TABLE conversations;
ALTER TABLE conversations_new RENAME TO conversations;
ALTER TABLE messages_new RENAME TO messages;
CREATE INDEX conversations_user ON conversations (user_id);
