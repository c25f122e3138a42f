-- Gateways that share this database (nodes), the users that each serves (shards), and what they tell one another
-- (notices). One gateway alone has only its row in fences.
CREATE TABLE nodes (
    id       text COLLATE "C" PRIMARY KEY,      -- its name and 8 random digits, so never used twice
    number   smallint NOT NULL,                 -- 0 to 255, in numbers that nodes make by themselves
    version  text COLLATE "C" NOT NULL,
    protocol integer NOT NULL,                  -- of the messages between nodes
    catalogs text COLLATE "C" NOT NULL,         -- a digest of its catalogues, which should be equal
    expires  timestamptz NOT NULL,              -- the end of its lease, by this server's clock
    seen     bigint NOT NULL,                   -- the place of the last notice that it has acted on
    draining boolean NOT NULL DEFAULT false,
    live     boolean NOT NULL DEFAULT true      -- never true again
) WITH (fillfactor = 10);
CREATE UNIQUE INDEX nodes_number ON nodes (number) WHERE live;

CREATE TABLE shards (
    id    smallint PRIMARY KEY,
    owner text COLLATE "C" REFERENCES nodes,
    epoch bigint NOT NULL DEFAULT 0             -- goes up with each change of the owner
) WITH (fillfactor = 50);
INSERT INTO shards (id) SELECT generate_series(0, 255);

CREATE TABLE notices (
    place   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind    text COLLATE "C" NOT NULL,
    target  jsonb NOT NULL,
    message bytea NOT NULL,
    at      bigint NOT NULL
);
ALTER TABLE notices
    ALTER target SET STATISTICS 0,
    ALTER message SET STATISTICS 0;

ALTER TABLE fences ADD live boolean NOT NULL DEFAULT true;

CREATE OR REPLACE FUNCTION parley_begin(node_ text, batch_ bigint, shared boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE fences SET batch = batch_ WHERE node = node_ AND live;  -- waits for a take-over, as that does for it
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another gateway has taken over this database' USING ERRCODE = 'PF001';
    END IF;
    IF shared THEN
        PERFORM pg_advisory_xact_lock_shared(7);
    ELSE
        PERFORM pg_advisory_xact_lock(7);
    END IF;
END $$;
