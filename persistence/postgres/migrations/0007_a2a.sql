-- Where the ends of runs are told to clients of A2A; `target` is sealed. `due` is NULL once that is done or given up.
CREATE TABLE push_configs (
    message_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    target          bytea NOT NULL,
    due             bigint,
    failed          bigint NOT NULL DEFAULT 0,
    created_at      bigint NOT NULL,
    PRIMARY KEY (message_id, id)
);
CREATE INDEX push_configs_due ON push_configs (due) WHERE due IS NOT NULL;
CREATE INDEX push_configs_conversation ON push_configs (conversation_id);

-- Replies that are not right behind the message that they answer; and public agents, for their catalog.
CREATE INDEX messages_answers ON messages (conversation_id, answers) WHERE answers IS NOT NULL;
CREATE INDEX agents_public ON agents (name_key) WHERE access = 'public' AND destroyed_at IS NULL;

-- As in 0002: no samples of texts.
ALTER TABLE push_configs
    ALTER id SET STATISTICS 0,
    ALTER target SET STATISTICS 0;
