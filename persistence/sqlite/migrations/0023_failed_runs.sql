-- Errors that runs ended with, by their users' messages; a run that goes on and gets its reply has none any more.
CREATE TABLE failed_runs (
    message_id      TEXT PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    internal_code   INTEGER NOT NULL,
    http_code       INTEGER NOT NULL,
    note            TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX failed_runs_conversation ON failed_runs (conversation_id);
