-- Responses of OpenAI's API whose ids their clients have deleted, by the user's messages that they answer.
CREATE TABLE deleted_responses (
    message_id      text COLLATE "C" PRIMARY KEY,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE INDEX deleted_responses_conversation ON deleted_responses (conversation_id);
