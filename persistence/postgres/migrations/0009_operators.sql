-- Roles, suspended users, stopped agents; what an API key may do; an audit log of operators' acts.

ALTER TABLE users
    ADD role         text COLLATE "C" NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'auditor', 'operator')),
    ADD suspended_at bigint;

ALTER TABLE agents ADD stopped_at bigint;

-- `scopes` is JSON, `day_limit` a number of requests; both null for a session and for a key without restrictions.
ALTER TABLE credentials
    ADD scopes    text COLLATE "C",
    ADD day_limit bigint CHECK (day_limit > 0);

-- As quota_windows, of the keys with a limit of their own.
CREATE TABLE key_windows (
    credential_id text COLLATE "C" PRIMARY KEY REFERENCES credentials (id) ON DELETE CASCADE,
    day           bigint NOT NULL,
    reserved      bigint NOT NULL CHECK (reserved >= 0)
);

-- An operator's act has no `user_id`, so that its row outlives the user; `operator` is the user's name, or null where the
-- request had the internal secret instead.
ALTER TABLE audit
    ALTER user_id DROP NOT NULL,
    ADD operator text COLLATE "C";
CREATE INDEX audit_acts ON audit (credential_id, service, at) WHERE user_id IS NULL;

-- As in 0002: no samples of texts.
ALTER TABLE credentials
    ALTER scopes SET STATISTICS 0;
ALTER TABLE audit
    ALTER operator SET STATISTICS 0;
