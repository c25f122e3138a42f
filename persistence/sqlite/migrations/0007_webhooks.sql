-- Webhooks: endpoints, their deliveries with the log of attempts, recoveries under way.

-- `events` is a JSON array of types and group patterns, empty for all. `secrets` is sealed. A deleted endpoint keeps its
-- row, without URL and secrets, for as long as deliveries name it. `failing_since` is the first failure after the last success.
CREATE TABLE endpoints (
    number          INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url             TEXT NOT NULL,
    events          TEXT NOT NULL CHECK (json_valid(events)),
    active          INTEGER NOT NULL CHECK (active IN (0, 1)),
    deleted         INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    description     TEXT,
    secrets         BLOB NOT NULL,
    disabled_reason TEXT,
    failing_since   INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    CHECK (NOT (active AND deleted))
) STRICT;
CREATE INDEX endpoints_user ON endpoints (user_id, number);

-- `due` is when the next attempt is, null once there is none. AUTOINCREMENT: recoveries and pages of
-- the log go on after a place, so none may be given twice.
CREATE TABLE deliveries (
    place      INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    user_id    TEXT NOT NULL,
    endpoint   INTEGER NOT NULL REFERENCES endpoints (number) ON DELETE CASCADE,
    event      INTEGER NOT NULL REFERENCES events (place) ON DELETE CASCADE,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'retrying', 'succeeded', 'exhausted', 'cancelled')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    due        INTEGER,
    created_at INTEGER NOT NULL,
    CHECK ((due IS NULL) = (state NOT IN ('pending', 'retrying')))
) STRICT;
CREATE INDEX deliveries_due ON deliveries (endpoint, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (endpoint) WHERE state IN ('exhausted', 'cancelled');
CREATE INDEX deliveries_event ON deliveries (event, endpoint);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint);
CREATE INDEX deliveries_user ON deliveries (user_id);

-- `status` is the receiver's, null where none came; `error` a stable code, null after success.
CREATE TABLE attempts (
    delivery   INTEGER NOT NULL REFERENCES deliveries (place) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    status     INTEGER,
    latency_ms INTEGER NOT NULL,
    error      TEXT,
    response   TEXT,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

-- Recoveries under way: the failed deliveries of an endpoint after `cursor` and up to `upto` are still to be queued again.
CREATE TABLE recoveries (
    place    INTEGER PRIMARY KEY,
    endpoint INTEGER NOT NULL REFERENCES endpoints (number) ON DELETE CASCADE,
    since    INTEGER NOT NULL,
    cursor   INTEGER NOT NULL DEFAULT 0,
    upto     INTEGER NOT NULL
) STRICT;
CREATE INDEX recoveries_endpoint ON recoveries (endpoint);
