-- The tool servers (MCP) that users installed: an entry of the operator's catalog, or a URL with sealed headers.
-- `offers` is what it last said that it offers, as JSON; null before its first connection.
CREATE TABLE tool_servers (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    entry      TEXT,
    url        TEXT,
    headers    BLOB,
    offers     TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, name_key),
    CHECK ((entry IS NULL) <> (url IS NULL)),
    CHECK (headers IS NULL OR url IS NOT NULL)
) STRICT;
