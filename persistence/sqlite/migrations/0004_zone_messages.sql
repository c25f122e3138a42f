-- What is said in zones, and how memberships changed: `number` is the one sequence of both in their domain.

CREATE TABLE zone_messages (
    place   INTEGER PRIMARY KEY,
    zone_id TEXT NOT NULL REFERENCES zones (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL CHECK (seq > 0),
    number  INTEGER NOT NULL CHECK (number > 0),
    id      TEXT NOT NULL,
    role    TEXT NOT NULL CHECK (role IN ('user', 'agent')),
    name    TEXT NOT NULL,
    content TEXT NOT NULL,
    sources TEXT,
    at      INTEGER NOT NULL,
    UNIQUE (zone_id, seq)
) STRICT;

CREATE INDEX zone_messages_number ON zone_messages (zone_id, number);

CREATE TABLE membership_events (
    domain_id TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL CHECK (number > 0),
    record    TEXT NOT NULL,
    PRIMARY KEY (domain_id, number)
) STRICT, WITHOUT ROWID;
