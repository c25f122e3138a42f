-- Where the ends of runs are told to clients of A2A; `target` is sealed. `due` is NULL once that is done or given up.
CREATE TABLE push_configs (
    message_id      TEXT NOT NULL,
    id              TEXT NOT NULL,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    target          BLOB NOT NULL,
    due             INTEGER,
    failed          INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (message_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_configs_due ON push_configs (due) WHERE due IS NOT NULL;
CREATE INDEX push_configs_conversation ON push_configs (conversation_id);

-- Replies that are not right behind the message that they answer; and public agents, for their catalog.
CREATE INDEX messages_answers ON messages (conversation_id, answers) WHERE answers IS NOT NULL;
CREATE INDEX agents_public ON agents (name_key) WHERE access = 'public' AND destroyed_at IS NULL;
