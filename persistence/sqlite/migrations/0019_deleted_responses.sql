-- Responses of OpenAI's API whose ids their clients have deleted, by the user's messages that they answer.
CREATE TABLE deleted_responses (
    message_id      TEXT PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_responses_conversation ON deleted_responses (conversation_id);
