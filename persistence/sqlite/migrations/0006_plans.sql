-- Quotas, API keys, events, the audit log, kept answers.

-- Sessions and API keys are credentials alike, each with its selected context; what only keys have is null in a session.
ALTER TABLE sessions RENAME TO credentials;
ALTER TABLE credentials ADD COLUMN kind TEXT NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'key', 'sandbox'));
ALTER TABLE credentials ADD COLUMN name TEXT;
ALTER TABLE credentials ADD COLUMN prefix TEXT;
ALTER TABLE credentials ADD COLUMN expires_at INTEGER;

-- The newest UTC day (in days since the epoch) that a user's requests were counted in. `reserved` is never below their
-- number; `told` is the highest threshold, in percent, that an event told of.
CREATE TABLE quota_windows (
    user_id  TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    day      INTEGER NOT NULL,
    reserved INTEGER NOT NULL CHECK (reserved >= 0),
    told     INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 80, 100))
) STRICT, WITHOUT ROWID;

-- The outbox: what happened that webhooks tell of, written with its cause. `data` is JSON.
CREATE TABLE events (
    place      INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    type       TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_user ON events (user_id, place);

-- Who changed what, on the plans that log it: written with the change. `target` is JSON: names, never texts.
CREATE TABLE audit (
    place         INTEGER PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    at            INTEGER NOT NULL,
    credential_id TEXT NOT NULL,
    address       TEXT NOT NULL,
    service       TEXT NOT NULL,
    target        TEXT NOT NULL,
    internal_code INTEGER NOT NULL,
    request_id    TEXT NOT NULL
) STRICT;
CREATE INDEX audit_user ON audit (user_id, place);

-- The first answers of requests with an Idempotency-Key, sealed. `answer` is null while the command is under way, and
-- once what it quotes was censored. `message_id` is the user's message of a chat that awaits its reply.
CREATE TABLE kept_answers (
    credential_id TEXT NOT NULL,
    key_hash      BLOB NOT NULL,
    user_id       TEXT NOT NULL,
    fingerprint   BLOB NOT NULL,
    at            INTEGER NOT NULL,
    status        INTEGER,
    answer        BLOB,
    message_id    TEXT,
    PRIMARY KEY (credential_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_answers_user ON kept_answers (user_id);
CREATE INDEX kept_answers_at ON kept_answers (at);

-- Which memories' texts stand in a kept answer: what a censoring has to withdraw.
CREATE TABLE kept_quotes (
    memory        INTEGER NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    credential_id TEXT NOT NULL,
    key_hash      BLOB NOT NULL,
    PRIMARY KEY (memory, credential_id, key_hash),
    FOREIGN KEY (credential_id, key_hash) REFERENCES kept_answers (credential_id, key_hash) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_quotes_key ON kept_quotes (credential_id, key_hash);

-- Something sealed with the master key, to know a wrong one by.
CREATE TABLE master_key (proof BLOB NOT NULL) STRICT;
