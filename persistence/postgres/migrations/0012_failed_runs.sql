-- Errors that runs ended with, by their users' messages; a run that goes on and gets its reply has none any more.
CREATE TABLE failed_runs (
    message_id      text COLLATE "C" PRIMARY KEY,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    internal_code   bigint NOT NULL,
    http_code       bigint NOT NULL,
    note            text COLLATE "C" NOT NULL
);
CREATE INDEX failed_runs_conversation ON failed_runs (conversation_id);

-- As in 0002: no samples of texts.
ALTER TABLE failed_runs ALTER note SET STATISTICS 0;
