-- The whole schema, as SQLite's migrations make it (persistence/sqlite/migrations). Tables and columns have the same
-- names; integers are bigint, times are milliseconds since the epoch, UTC. Text compares by bytes, as in SQLite.

-- `name_key` is a name without regard to case. `development_plan`: a development start gave the user its plan.
CREATE TABLE users (
    id               text COLLATE "C" PRIMARY KEY,
    name             text COLLATE "C" NOT NULL,
    name_key         text COLLATE "C" NOT NULL UNIQUE,
    description      text COLLATE "C",
    profile          text COLLATE "C",
    secret_hash      text COLLATE "C" NOT NULL,
    plan             text COLLATE "C" NOT NULL CHECK (plan IN ('free', 'builder', 'scale', 'enterprise')),
    plan_limit       bigint CHECK (plan_limit > 0),
    created_at       bigint NOT NULL,
    development_plan bigint NOT NULL DEFAULT 0,
    CHECK (plan_limit IS NULL OR plan = 'enterprise')
);
CREATE INDEX users_development_plan ON users (created_at, id) WHERE development_plan = 1;

-- A destroyed agent's row stays for what it said; its name is free again and nobody owns it.
CREATE TABLE agents (
    id           text COLLATE "C" PRIMARY KEY,
    owner_id     text COLLATE "C" REFERENCES users (id) ON DELETE SET NULL,
    name         text COLLATE "C" NOT NULL,
    name_key     text COLLATE "C" NOT NULL,
    description  text COLLATE "C" NOT NULL,
    profile      text COLLATE "C",
    access       text COLLATE "C" NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    online       bigint NOT NULL DEFAULT 0 CHECK (online IN (0, 1)),
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    destroyed_at bigint,
    CHECK (destroyed_at IS NOT NULL OR owner_id IS NOT NULL)
);
CREATE UNIQUE INDEX agents_name ON agents (name_key) WHERE destroyed_at IS NULL;
CREATE INDEX agents_owner ON agents (owner_id, name_key);

CREATE TABLE roster (
    user_id  text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    since    bigint NOT NULL,
    PRIMARY KEY (user_id, agent_id)
);
CREATE INDEX roster_agent ON roster (agent_id);

-- `numbered` is the last number of the domain's sequence that a destroyed zone had; it is not given again.
CREATE TABLE domains (
    id          text COLLATE "C" PRIMARY KEY,
    founder_id  text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name        text COLLATE "C" NOT NULL,
    name_key    text COLLATE "C" NOT NULL UNIQUE,
    description text COLLATE "C" NOT NULL,
    profile     text COLLATE "C",
    access      text COLLATE "C" NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    numbered    bigint NOT NULL DEFAULT 0
);
CREATE INDEX domains_founder ON domains (founder_id);

CREATE TABLE memberships (
    domain_id text COLLATE "C" NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    agent_id  text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    state     text COLLATE "C" NOT NULL CHECK (state IN ('invited', 'member', 'banned')),
    since     bigint NOT NULL,
    PRIMARY KEY (domain_id, agent_id)
);
CREATE INDEX memberships_agent ON memberships (agent_id, state);

CREATE TABLE zones (
    id         text COLLATE "C" PRIMARY KEY,
    domain_id  text COLLATE "C" NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    name_key   text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    UNIQUE (domain_id, name_key)
);

-- Sessions and API keys, each with its selected context; what only keys have is null in a session.
CREATE TABLE credentials (
    id           text COLLATE "C" PRIMARY KEY,
    user_id      text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash   bytea NOT NULL UNIQUE,
    created_at   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    agent_id     text COLLATE "C" REFERENCES agents (id) ON DELETE SET NULL,
    domain_id    text COLLATE "C" REFERENCES domains (id) ON DELETE SET NULL,
    zone_id      text COLLATE "C" REFERENCES zones (id) ON DELETE SET NULL,
    kind         text COLLATE "C" NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'key', 'sandbox')),
    name         text COLLATE "C",
    prefix       text COLLATE "C",
    expires_at   bigint
);
CREATE INDEX credentials_user ON credentials (user_id, id);
CREATE INDEX credentials_agent ON credentials (agent_id);
CREATE INDEX credentials_last_used ON credentials (last_used_at);
CREATE INDEX credentials_domain ON credentials (domain_id);
CREATE INDEX credentials_zone ON credentials (zone_id);

-- Where a user has logged on from. `place` is a digest under the master key of an address.
CREATE TABLE logon_places (
    user_id text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    place   bytea NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (user_id, place)
);
CREATE INDEX logon_places_last ON logon_places (last_at);

-- Private conversations of a user with an agent. The last seq of one is that of its last message.
CREATE TABLE conversations (
    id       bigint PRIMARY KEY,
    user_id  text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    agent_id text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    UNIQUE (agent_id, user_id)
);
CREATE INDEX conversations_user ON conversations (user_id);

CREATE TABLE messages (
    place           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             bigint NOT NULL CHECK (seq > 0),
    id              text COLLATE "C" NOT NULL,
    role            text COLLATE "C" NOT NULL CHECK (role IN ('user', 'agent')),
    name            text COLLATE "C" NOT NULL,
    content         text COLLATE "C" NOT NULL,
    sources         text COLLATE "C",
    at              bigint NOT NULL,
    UNIQUE (conversation_id, seq)
);

-- `number` is the one sequence of a domain's messages and membership events.
CREATE TABLE zone_messages (
    place   bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    zone_id text COLLATE "C" NOT NULL REFERENCES zones (id) ON DELETE CASCADE,
    seq     bigint NOT NULL CHECK (seq > 0),
    number  bigint NOT NULL CHECK (number > 0),
    id      text COLLATE "C" NOT NULL,
    role    text COLLATE "C" NOT NULL CHECK (role IN ('user', 'agent')),
    name    text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    sources text COLLATE "C",
    at      bigint NOT NULL,
    UNIQUE (zone_id, seq)
);
CREATE INDEX zone_messages_number ON zone_messages (zone_id, number);

CREATE TABLE membership_events (
    domain_id text COLLATE "C" NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    number    bigint NOT NULL CHECK (number > 0),
    record    text COLLATE "C" NOT NULL,
    PRIMARY KEY (domain_id, number)
);

-- `memories` counts the bank's memories; triggers keep it.
CREATE TABLE banks (
    number      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    owner_id    text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name        text COLLATE "C" NOT NULL,
    name_key    text COLLATE "C" NOT NULL UNIQUE,
    description text COLLATE "C",
    access      text COLLATE "C" NOT NULL CHECK (access IN ('public', 'domain', 'bank', 'agent')),
    memories    bigint NOT NULL DEFAULT 0 CHECK (memories >= 0),
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL
);
CREATE INDEX banks_owner ON banks (owner_id, name_key);

CREATE TABLE attachments (
    bank_id    text COLLATE "C" NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    agent_id   text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    permission text COLLATE "C" NOT NULL CHECK (permission IN ('none', 'read', 'write', 'admin')),
    since      bigint NOT NULL,
    PRIMARY KEY (bank_id, agent_id)
);
CREATE INDEX attachments_agent ON attachments (agent_id, permission);

-- Attachments that an agent's owner has not accepted yet. An offer gives nobody a right.
CREATE TABLE offers (
    bank_id    text COLLATE "C" NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    agent_id   text COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    permission text COLLATE "C" NOT NULL CHECK (permission IN ('read', 'write', 'admin')),
    since      bigint NOT NULL,
    PRIMARY KEY (bank_id, agent_id)
);
CREATE INDEX offers_agent ON offers (agent_id);

-- Documents that users have handed in. `content` is there until it is split; `erased`: a part was censored.
CREATE TABLE documents (
    place      bigint PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    user_id    text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    metadata   text COLLATE "C",
    content    text COLLATE "C",
    size       bigint NOT NULL,
    status     text COLLATE "C" NOT NULL CHECK (status IN ('queued', 'processing', 'ready', 'failed')),
    error      text COLLATE "C",
    parts      bigint NOT NULL DEFAULT 0,
    erased     bigint NOT NULL DEFAULT 0 CHECK (erased IN (0, 1)),
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (user_id, name),
    CHECK ((content IS NULL) = (status IN ('ready', 'failed')))
);
CREATE INDEX documents_to_do ON documents (place) WHERE status IN ('queued', 'processing');

CREATE TABLE document_parts (
    document_id text COLLATE "C" NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    number      bigint NOT NULL,
    text        text COLLATE "C",
    PRIMARY KEY (document_id, number)
);

-- A censored memory is a tombstone: without text, for good.
CREATE TABLE memories (
    place         bigint PRIMARY KEY,
    bank_id       text COLLATE "C" NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    text          text COLLATE "C",
    author_id     text COLLATE "C" REFERENCES agents (id) ON DELETE SET NULL,
    censored      bigint NOT NULL DEFAULT 0 CHECK (censored IN (0, 1)),
    created_at    bigint NOT NULL,
    updated_at    bigint NOT NULL,
    document_id   text COLLATE "C" REFERENCES documents (id) ON DELETE SET NULL,
    document_part bigint,
    part_of       text COLLATE "C",
    UNIQUE (bank_id, name),
    CHECK ((text IS NULL) = (censored = 1))
);
CREATE INDEX memories_order ON memories (bank_id, place);
CREATE INDEX memories_author ON memories (author_id);
CREATE INDEX memories_part_of ON memories (bank_id, part_of) WHERE part_of IS NOT NULL;
CREATE INDEX memories_document ON memories (document_id) WHERE document_id IS NOT NULL;

-- Which message quotes which memory, as its `source`-th source: what a censoring redacts. `whole`: all of it.
CREATE TABLE quotes (
    memory          bigint NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    conversation_id bigint NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             bigint NOT NULL,
    source          bigint NOT NULL,
    whole           bigint NOT NULL DEFAULT 0 CHECK (whole IN (0, 1)),
    PRIMARY KEY (memory, conversation_id, seq, source)
);
CREATE INDEX quotes_conversation ON quotes (conversation_id);

CREATE TABLE zone_quotes (
    memory  bigint NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    zone_id text COLLATE "C" NOT NULL REFERENCES zones (id) ON DELETE CASCADE,
    seq     bigint NOT NULL,
    source  bigint NOT NULL,
    whole   bigint NOT NULL DEFAULT 0 CHECK (whole IN (0, 1)),
    PRIMARY KEY (memory, zone_id, seq, source)
);
CREATE INDEX zone_quotes_zone ON zone_quotes (zone_id);

-- The number of censorings whose text may still be in dead rows.
CREATE TABLE erasure (
    due bigint NOT NULL CHECK (due >= 0)
);
INSERT INTO erasure (due) VALUES (0);

-- The newest UTC day, in days since the epoch, in which a user's requests were counted.
CREATE TABLE quota_windows (
    user_id  text COLLATE "C" PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    day      bigint NOT NULL,
    reserved bigint NOT NULL CHECK (reserved >= 0),
    told     bigint NOT NULL DEFAULT 0 CHECK (told IN (0, 80, 100))
);

-- The outbox: what webhooks tell of, written with its cause. `data` is JSON.
CREATE TABLE events (
    place      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    user_id    text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    type       text COLLATE "C" NOT NULL,
    data       text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX events_user ON events (user_id, place);

-- Who changed what, written with the change. `target` is JSON: names, never texts.
CREATE TABLE audit (
    place         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    user_id       text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    at            bigint NOT NULL,
    credential_id text COLLATE "C" NOT NULL,
    address       text COLLATE "C" NOT NULL,
    service       text COLLATE "C" NOT NULL,
    target        text COLLATE "C" NOT NULL,
    internal_code bigint NOT NULL,
    request_id    text COLLATE "C" NOT NULL
);
CREATE INDEX audit_user ON audit (user_id, place);

-- The first answers of requests with an Idempotency-Key, sealed. `answer` is null while it is made, or redacted.
CREATE TABLE kept_answers (
    credential_id text COLLATE "C" NOT NULL,
    key_hash      bytea NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    fingerprint   bytea NOT NULL,
    at            bigint NOT NULL,
    status        bigint,
    answer        bytea,
    message_id    text COLLATE "C",
    PRIMARY KEY (credential_id, key_hash)
);
CREATE INDEX kept_answers_user ON kept_answers (user_id);
CREATE INDEX kept_answers_at ON kept_answers (at);

-- Which memories' texts stand in a kept answer.
CREATE TABLE kept_quotes (
    memory        bigint NOT NULL REFERENCES memories (place) ON DELETE CASCADE,
    credential_id text COLLATE "C" NOT NULL,
    key_hash      bytea NOT NULL,
    PRIMARY KEY (memory, credential_id, key_hash),
    FOREIGN KEY (credential_id, key_hash) REFERENCES kept_answers (credential_id, key_hash) ON DELETE CASCADE
);
CREATE INDEX kept_quotes_key ON kept_quotes (credential_id, key_hash);

-- Something sealed with the master key, by which a wrong one is recognized.
CREATE TABLE master_key (
    proof bytea NOT NULL
);

-- `events` is a JSON array of types and patterns, empty for all. A deleted endpoint stays for its deliveries.
CREATE TABLE endpoints (
    number          bigint PRIMARY KEY,
    id              text COLLATE "C" NOT NULL UNIQUE,
    user_id         text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url             text COLLATE "C" NOT NULL,
    events          text COLLATE "C" NOT NULL CHECK (CAST(events AS json) IS NOT NULL),
    active          bigint NOT NULL CHECK (active IN (0, 1)),
    deleted         bigint NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    description     text COLLATE "C",
    secrets         bytea NOT NULL,
    disabled_reason text COLLATE "C",
    failing_since   bigint,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    CHECK (active = 0 OR deleted = 0)
);
CREATE INDEX endpoints_user ON endpoints (user_id, number);

CREATE TABLE deliveries (
    place      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    user_id    text COLLATE "C" NOT NULL,
    endpoint   bigint NOT NULL REFERENCES endpoints (number) ON DELETE CASCADE,
    event      bigint NOT NULL REFERENCES events (place) ON DELETE CASCADE,
    state      text COLLATE "C" NOT NULL
               CHECK (state IN ('pending', 'retrying', 'succeeded', 'exhausted', 'cancelled')),
    attempts   bigint NOT NULL DEFAULT 0,
    due        bigint,
    created_at bigint NOT NULL,
    CHECK ((due IS NULL) = (state NOT IN ('pending', 'retrying')))
);
CREATE INDEX deliveries_due ON deliveries (endpoint, due, place) WHERE due IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (endpoint, place) WHERE state IN ('exhausted', 'cancelled');
CREATE INDEX deliveries_event ON deliveries (event, endpoint, place);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, place);
CREATE INDEX deliveries_user ON deliveries (user_id, place);

-- `status` is the receiver's, null where none came; `error` a stable code, null after success.
CREATE TABLE attempts (
    delivery   bigint NOT NULL REFERENCES deliveries (place) ON DELETE CASCADE,
    number     bigint NOT NULL,
    at         bigint NOT NULL,
    status     bigint,
    latency_ms bigint NOT NULL,
    error      text COLLATE "C",
    response   text COLLATE "C",
    PRIMARY KEY (delivery, number)
);

-- The failed deliveries of an endpoint after `cursor` and up to `upto` are still to be queued again.
CREATE TABLE recoveries (
    place    bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    endpoint bigint NOT NULL REFERENCES endpoints (number) ON DELETE CASCADE,
    since    bigint NOT NULL,
    cursor   bigint NOT NULL DEFAULT 0,
    upto     bigint NOT NULL
);
CREATE INDEX recoveries_endpoint ON recoveries (endpoint);

-- An entry of the operator's catalog, or a URL with sealed headers. `offers` is JSON, null before it is known.
CREATE TABLE tool_servers (
    id         text COLLATE "C" PRIMARY KEY,
    user_id    text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    name_key   text COLLATE "C" NOT NULL,
    entry      text COLLATE "C",
    url        text COLLATE "C",
    headers    bytea,
    offers     text COLLATE "C",
    created_at bigint NOT NULL,
    UNIQUE (user_id, name_key),
    CHECK ((entry IS NULL) <> (url IS NULL)),
    CHECK (headers IS NULL OR url IS NOT NULL)
);

-- `metadata` is a JSON object of texts, `allowed_tools` a JSON array of texts.
CREATE TABLE skills (
    user_id       text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          text COLLATE "C" NOT NULL,
    description   text COLLATE "C" NOT NULL,
    license       text COLLATE "C",
    compatibility text COLLATE "C",
    metadata      text COLLATE "C" NOT NULL,
    allowed_tools text COLLATE "C" NOT NULL,
    body          text COLLATE "C" NOT NULL,
    installed_at  bigint NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE skill_files (
    user_id text COLLATE "C" NOT NULL,
    skill   text COLLATE "C" NOT NULL,
    path    text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (user_id, skill, path),
    FOREIGN KEY (user_id, skill) REFERENCES skills (user_id, name) ON DELETE CASCADE
);

-- What is searched together: a bank, a private conversation or a zone. `version` names the tokenizer; texts up to
-- `reached` are indexed.
CREATE TABLE collections (
    number          bigint PRIMARY KEY,
    bank_id         text COLLATE "C" UNIQUE REFERENCES banks (id) ON DELETE CASCADE,
    conversation_id bigint UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
    zone_id         text COLLATE "C" UNIQUE REFERENCES zones (id) ON DELETE CASCADE,
    version         text COLLATE "C" NOT NULL,
    reached         bigint NOT NULL,
    texts           bigint NOT NULL DEFAULT 0 CHECK (texts >= 0),
    words           bigint NOT NULL DEFAULT 0 CHECK (words >= 0),
    CHECK (num_nonnulls(bank_id, conversation_id, zone_id) = 1)
);

-- The terms of a collection, each with the number of texts that have it; no row without a text.
CREATE TABLE vocabulary (
    number     bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection bigint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    documents  bigint NOT NULL CHECK (documents >= 0),
    UNIQUE (collection, term)
);

-- Which texts have a term (its number), how often, and how many terms each text has in all.
CREATE TABLE postings (
    term     bigint NOT NULL,
    document bigint NOT NULL,
    times    bigint NOT NULL,
    length   bigint NOT NULL,
    PRIMARY KEY (term, document) INCLUDE (times, length)
);

-- The texts of a collection: `document` is a memory's place, or a message's seq. `terms`: a JSON array of numbers.
CREATE TABLE indexed_texts (
    collection bigint NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
    document   bigint NOT NULL,
    length     bigint NOT NULL,
    whole      text COLLATE "C" NOT NULL,
    part       bigint NOT NULL,
    terms      text COLLATE "C" NOT NULL,
    PRIMARY KEY (collection, document)
);
CREATE INDEX indexed_texts_parts ON indexed_texts (collection, whole, part);

-- The row that the health check writes.
CREATE TABLE health (
    checks bigint NOT NULL
);
INSERT INTO health (checks) VALUES (0);

-- The writer of a gateway. `batch` is the number of its last transaction, by which it learns after a lost connection
-- whether that committed. Without its row a writer is fenced: another gateway has taken over.
CREATE TABLE fences (
    node  text COLLATE "C" PRIMARY KEY,
    batch bigint NOT NULL
) WITH (fillfactor = 10);

-- The first statement of each transaction of a writer. Transactions that commute share the lock; any other has it alone,
-- so that it sees what all others have stored, as on SQLite. SQLSTATE PF001: fenced.
CREATE FUNCTION parley_begin(node_ text, batch_ bigint, shared boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE fences SET batch = batch_ WHERE node = node_;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another gateway has taken over this database' USING ERRCODE = 'PF001';
    END IF;
    IF shared THEN
        PERFORM pg_advisory_xact_lock_shared(7);
    ELSE
        PERFORM pg_advisory_xact_lock(7);
    END IF;
END $$;

-- The highest number of a destroyed zone stays its domain's.
CREATE FUNCTION zone_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains
    SET numbered = greatest(numbered, coalesce((SELECT max(number) FROM zone_messages WHERE zone_id = old.id), 0))
    WHERE id = old.domain_id;
    DELETE FROM collections WHERE zone_id = old.id;
    RETURN old;
END $$;
CREATE TRIGGER zone_removed BEFORE DELETE ON zones FOR EACH ROW EXECUTE FUNCTION zone_removed();

-- The index follows the texts: what is deleted or changed is not found under its old words.
-- A text goes with its postings. Without a vocabulary, its whole collection goes, and the postings have gone before.
CREATE FUNCTION indexed_text_removed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    numbers bigint[];
BEGIN
    IF EXISTS (SELECT 1 FROM vocabulary WHERE collection = old.collection) THEN
        numbers := ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(old.terms AS json)));
        DELETE FROM postings WHERE term = ANY (numbers) AND document = old.document;
        UPDATE vocabulary SET documents = documents - 1 WHERE number = ANY (numbers);
        DELETE FROM vocabulary WHERE number = ANY (numbers) AND documents = 0;
        UPDATE collections SET texts = texts - 1, words = words - old.length WHERE number = old.collection;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER indexed_text_removed AFTER DELETE ON indexed_texts FOR EACH ROW EXECUTE FUNCTION indexed_text_removed();

-- A collection goes by ranges, not text by text; before its memories or messages, so that these find nothing to remove.
CREATE FUNCTION collection_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM postings WHERE term IN (SELECT number FROM vocabulary WHERE collection = old.number);
    DELETE FROM vocabulary WHERE collection = old.number;
    RETURN old;
END $$;
CREATE TRIGGER collection_removed BEFORE DELETE ON collections FOR EACH ROW EXECUTE FUNCTION collection_removed();

CREATE FUNCTION bank_index_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM collections WHERE bank_id = old.id;
    RETURN old;
END $$;
CREATE TRIGGER bank_index_removed BEFORE DELETE ON banks FOR EACH ROW EXECUTE FUNCTION bank_index_removed();

CREATE FUNCTION conversation_index_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM collections WHERE conversation_id = old.id;
    RETURN old;
END $$;
CREATE TRIGGER conversation_index_removed BEFORE DELETE ON conversations
    FOR EACH ROW EXECUTE FUNCTION conversation_index_removed();

CREATE FUNCTION memory_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE banks SET memories = memories + 1 WHERE id = new.bank_id;
    RETURN NULL;
END $$;
CREATE TRIGGER memory_added AFTER INSERT ON memories FOR EACH ROW EXECUTE FUNCTION memory_added();

CREATE FUNCTION memory_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE bank_id = old.bank_id) AND document = old.place;
    IF TG_OP = 'DELETE' THEN
        UPDATE banks SET memories = memories - 1 WHERE id = old.bank_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER memory_text_changed AFTER UPDATE OF text ON memories FOR EACH ROW EXECUTE FUNCTION memory_text_changed();
CREATE TRIGGER memory_removed AFTER DELETE ON memories FOR EACH ROW EXECUTE FUNCTION memory_text_changed();

CREATE FUNCTION message_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE conversation_id = old.conversation_id)
        AND document = old.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER message_text_changed AFTER UPDATE OF content OR DELETE ON messages
    FOR EACH ROW EXECUTE FUNCTION message_text_changed();

CREATE FUNCTION zone_message_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE zone_id = old.zone_id) AND document = old.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER zone_message_text_changed AFTER UPDATE OF content OR DELETE ON zone_messages
    FOR EACH ROW EXECUTE FUNCTION zone_message_text_changed();
