-- Roles, suspended users, stopped agents; what an API key may do; an audit log of operators' acts.

ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'auditor', 'operator'));
ALTER TABLE users ADD COLUMN suspended_at INTEGER;

ALTER TABLE agents ADD COLUMN stopped_at INTEGER;

-- `scopes` is JSON, `day_limit` a number of requests; both null for a session and for a key without restrictions.
ALTER TABLE credentials ADD COLUMN scopes TEXT;
ALTER TABLE credentials ADD COLUMN day_limit INTEGER CHECK (day_limit > 0);

-- As quota_windows, of the keys with a limit of their own.
CREATE TABLE key_windows (
    credential_id TEXT PRIMARY KEY REFERENCES credentials (id) ON DELETE CASCADE,
    day           INTEGER NOT NULL,
    reserved      INTEGER NOT NULL CHECK (reserved >= 0)
) STRICT, WITHOUT ROWID;

-- An operator's act has no `user_id`, so that its row outlives the user; `operator` is the user's name, or null where the
-- request had the internal secret instead. The table is made anew, because SQLite can't drop a NOT NULL.
CREATE TABLE audit_new (
    place         INTEGER PRIMARY KEY,
    user_id       TEXT REFERENCES users (id) ON DELETE CASCADE,
    at            INTEGER NOT NULL,
    credential_id TEXT NOT NULL,
    address       TEXT NOT NULL,
    service       TEXT NOT NULL,
    target        TEXT NOT NULL,
    internal_code INTEGER NOT NULL,
    request_id    TEXT NOT NULL,
    operator      TEXT
) STRICT;
INSERT INTO audit_new SELECT place, user_id, at, credential_id, address, service, target, internal_code, request_id, NULL
FROM audit;
DROP TABLE audit;
ALTER TABLE audit_new RENAME TO audit;
CREATE INDEX audit_user ON audit (user_id, place);
CREATE INDEX audit_acts ON audit (credential_id, service, at) WHERE user_id IS NULL;
