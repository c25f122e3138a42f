-- Documents that users have handed in, and the queue of those that are to be taken apart: the rows that are not done.
-- `content` is there until then; `parts` counts the parts that were made of it; `erased` tells that a part was censored.
CREATE TABLE documents (
    place      INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    metadata   TEXT,
    content    TEXT,
    size       INTEGER NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('queued', 'processing', 'ready', 'failed')),
    error      TEXT,
    parts      INTEGER NOT NULL DEFAULT 0,
    erased     INTEGER NOT NULL DEFAULT 0 CHECK (erased IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (user_id, name),
    CHECK ((content IS NULL) = (status IN ('ready', 'failed')))
) STRICT;
CREATE INDEX documents_to_do ON documents (place) WHERE status IN ('queued', 'processing');

-- The texts that a document was taken apart into, counted from 1; null once censored.
CREATE TABLE document_parts (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    text        TEXT,
    PRIMARY KEY (document_id, number)
) STRICT;

-- Where a memory came from, where it was a document. `part_of` is the document's name in `name/1`, `name/2` ...
ALTER TABLE memories ADD COLUMN document_id TEXT REFERENCES documents (id) ON DELETE SET NULL;
ALTER TABLE memories ADD COLUMN document_part INTEGER;
ALTER TABLE memories ADD COLUMN part_of TEXT;
CREATE INDEX memories_part_of ON memories (bank_id, part_of) WHERE part_of IS NOT NULL;
CREATE INDEX memories_document ON memories (document_id) WHERE document_id IS NOT NULL;

-- `whole`: the reply may hold the memory's words anywhere, so a censoring takes all of it.
ALTER TABLE quotes ADD COLUMN whole INTEGER NOT NULL DEFAULT 0 CHECK (whole IN (0, 1));
ALTER TABLE zone_quotes ADD COLUMN whole INTEGER NOT NULL DEFAULT 0 CHECK (whole IN (0, 1));
