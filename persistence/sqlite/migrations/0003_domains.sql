-- Domains, who belongs to them, their zones, and what of them is selected in a session.
-- A domain belongs to the owner of its founder; an agent that is destroyed keeps its row, so flows remove what hangs on it.

CREATE TABLE domains (
    id          TEXT PRIMARY KEY,
    founder_id  TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    profile     TEXT,
    access      TEXT NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX domains_founder ON domains (founder_id);

CREATE TABLE memberships (
    domain_id TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    agent_id  TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    state     TEXT NOT NULL CHECK (state IN ('invited', 'member', 'banned')),
    since     INTEGER NOT NULL,
    PRIMARY KEY (domain_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_agent ON memberships (agent_id, state);

CREATE TABLE zones (
    id         TEXT PRIMARY KEY,
    domain_id  TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (domain_id, name_key)
) STRICT;

ALTER TABLE sessions ADD COLUMN domain_id TEXT REFERENCES domains (id) ON DELETE SET NULL;
ALTER TABLE sessions ADD COLUMN zone_id TEXT REFERENCES zones (id) ON DELETE SET NULL;
CREATE INDEX sessions_domain ON sessions (domain_id);
CREATE INDEX sessions_zone ON sessions (zone_id);
