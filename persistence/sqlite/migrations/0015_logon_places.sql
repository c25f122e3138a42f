-- Where a user has logged on from in the last 30 days. `place` is a digest under the master key of an IPv4 address or
-- of an IPv6 address's /64.
CREATE TABLE logon_places (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    place   BLOB NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX logon_places_last ON logon_places (last_at);
