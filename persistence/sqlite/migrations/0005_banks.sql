-- Memory banks: who may do what in them, their memories, and what finds those by their words.

-- `number` stands in the terms of the bank's memories. `memories` counts them; triggers keep it.
CREATE TABLE banks (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    owner_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL UNIQUE,
    description TEXT,
    access      TEXT NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    memories    INTEGER NOT NULL DEFAULT 0 CHECK (memories >= 0),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX banks_owner ON banks (owner_id, name_key);

CREATE TABLE attachments (
    bank_id    TEXT NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    permission TEXT NOT NULL CHECK (permission IN ('none', 'read', 'write', 'admin')),
    since      INTEGER NOT NULL,
    PRIMARY KEY (bank_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_agent ON attachments (agent_id, permission);

-- A censored memory is a tombstone: without text, for good.
CREATE TABLE memories (
    place      INTEGER PRIMARY KEY,
    bank_id    TEXT NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    text       TEXT,
    author_id  TEXT REFERENCES agents (id) ON DELETE SET NULL,
    censored   INTEGER NOT NULL DEFAULT 0 CHECK (censored IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (bank_id, name),
    CHECK ((text IS NULL) = (censored = 1))
) STRICT;
CREATE INDEX memories_order ON memories (bank_id, place);
CREATE INDEX memories_author ON memories (author_id);

-- The terms of each memory's name and text, each with the number of its bank in front: so a term's list holds just the
-- memories of one bank, and its frequency is that in the bank. Rows are written with the memory's and go by trigger.
CREATE VIRTUAL TABLE memory_terms USING fts5 (
    terms,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_terms, 'row');

CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
    UPDATE banks SET memories = memories + 1 WHERE id = new.bank_id;
END;
CREATE TRIGGER memory_text_changed AFTER UPDATE OF text ON memories BEGIN
    DELETE FROM memory_terms WHERE rowid = old.place;
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
    DELETE FROM memory_terms WHERE rowid = old.place;
    UPDATE banks SET memories = memories - 1 WHERE id = old.bank_id;
END;

-- Which message quotes which memory, as the `source`-th of its sources: what a censoring has to redact.
CREATE TABLE quotes (
    memory          INTEGER NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    source          INTEGER NOT NULL,
    PRIMARY KEY (memory, conversation_id, seq, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX quotes_conversation ON quotes (conversation_id);

-- The same for messages in zones.
CREATE TABLE zone_quotes (
    memory  INTEGER NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    zone_id TEXT NOT NULL REFERENCES zones (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    source  INTEGER NOT NULL,
    PRIMARY KEY (memory, zone_id, seq, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX zone_quotes_zone ON zone_quotes (zone_id);

-- How many censorings may still have left text in freed parts of the files.
CREATE TABLE erasure (due INTEGER NOT NULL CHECK (due >= 0)) STRICT;
INSERT INTO erasure (due) VALUES (0);
