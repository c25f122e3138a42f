-- Users, their sessions and rosters, agents, private conversations.
-- Times are milliseconds since the epoch, UTC. `name_key` is the name without regard to case.

CREATE TABLE users (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL UNIQUE,
    description TEXT,
    profile     TEXT,
    secret_hash TEXT NOT NULL,
    plan        TEXT NOT NULL CHECK (plan IN ('free', 'builder', 'scale', 'enterprise')),
    plan_limit  INTEGER CHECK (plan_limit > 0),
    created_at  INTEGER NOT NULL,
    CHECK (plan_limit IS NULL OR plan = 'enterprise')
) STRICT;

-- A destroyed agent's row stays for what it said; its name is free again and nobody owns it.
CREATE TABLE agents (
    id           TEXT PRIMARY KEY,
    owner_id     TEXT REFERENCES users (id) ON DELETE SET NULL,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    description  TEXT NOT NULL,
    profile      TEXT,
    access       TEXT NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    online       INTEGER NOT NULL DEFAULT 0 CHECK (online IN (0, 1)),
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    destroyed_at INTEGER,
    CHECK (destroyed_at IS NOT NULL OR owner_id IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX agents_name ON agents (name_key) WHERE destroyed_at IS NULL;
CREATE INDEX agents_owner ON agents (owner_id, name_key);

CREATE TABLE roster (
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    since    INTEGER NOT NULL,
    PRIMARY KEY (user_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX roster_agent ON roster (agent_id);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash   BLOB NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    agent_id     TEXT REFERENCES agents (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_agent ON sessions (agent_id);
CREATE INDEX sessions_last_used ON sessions (last_used_at);

-- The private conversation of a user with an agent. `last_seq` is also the number of its messages.
CREATE TABLE conversations (
    id       TEXT PRIMARY KEY,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    last_seq INTEGER NOT NULL CHECK (last_seq >= 0),
    UNIQUE (agent_id, user_id)
) STRICT;
CREATE INDEX conversations_user ON conversations (user_id);

CREATE TABLE messages (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL CHECK (seq > 0),
    id              TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('user', 'agent')),
    name            TEXT NOT NULL,
    content         TEXT NOT NULL,
    sources         TEXT,
    at              INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, seq)
) STRICT, WITHOUT ROWID;

-- The row that the health check writes, to know that the store takes commits.
CREATE TABLE health (checks INTEGER NOT NULL) STRICT;
INSERT INTO health (checks) VALUES (0);
