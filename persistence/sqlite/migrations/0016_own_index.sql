-- The full-text index in tables of our own: of memories, and of the messages that have left the windows of chats.

-- What is searched together: a bank, a private conversation or a zone. `version` names the tokenizer. Of a conversation
-- or zone, every message up to the seq `reached` is indexed (one that states nothing has no row). Of a bank, every
-- memory up to the place `reached` is; 2**63 - 1 if all are. `texts` and `words` are the number of texts and their
-- length together; `add` and the triggers below keep them.
CREATE TABLE collections (
    number          INTEGER PRIMARY KEY,
    bank_id         TEXT UNIQUE REFERENCES banks (id) ON DELETE CASCADE,
    conversation_id INTEGER UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
    zone_id         TEXT UNIQUE REFERENCES zones (id) ON DELETE CASCADE,
    version         TEXT NOT NULL,
    reached         INTEGER NOT NULL,
    texts           INTEGER NOT NULL DEFAULT 0 CHECK (texts >= 0),
    words           INTEGER NOT NULL DEFAULT 0 CHECK (words >= 0),
    CHECK ((bank_id IS NOT NULL) + (conversation_id IS NOT NULL) + (zone_id IS NOT NULL) = 1)
) STRICT;

-- The terms of a collection, each with the number of texts that have it; no row without a text.
CREATE TABLE vocabulary (
    number     INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    term       TEXT NOT NULL,
    documents  INTEGER NOT NULL CHECK (documents >= 0),
    UNIQUE (collection, term)
) STRICT;

-- Which texts have a term (its number in the vocabulary), how often, and how many terms each text has in all.
CREATE TABLE postings (
    term     INTEGER NOT NULL,
    document INTEGER NOT NULL,
    times    INTEGER NOT NULL,
    length   INTEGER NOT NULL,
    PRIMARY KEY (term, document)
) STRICT, WITHOUT ROWID;

-- The texts of a collection: `document` is a memory's place, or a message's seq. `whole` and `part`: of a memory `x/n`,
-- x and n; of a message, an empty text and the number of its turn. `terms` is a JSON array of the numbers of its terms.
CREATE TABLE indexed_texts (
    collection INTEGER NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
    document   INTEGER NOT NULL,
    length     INTEGER NOT NULL,
    whole      TEXT NOT NULL,
    part       INTEGER NOT NULL,
    terms      TEXT NOT NULL,
    PRIMARY KEY (collection, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX indexed_texts_parts ON indexed_texts (collection, whole, part);

-- A text goes with its postings. Without a vocabulary, its whole collection goes, and the postings have gone before.
CREATE TRIGGER indexed_text_removed AFTER DELETE ON indexed_texts
WHEN EXISTS (SELECT 1 FROM vocabulary WHERE collection = old.collection) BEGIN
    DELETE FROM postings WHERE term IN (SELECT value FROM json_each(old.terms)) AND document = old.document;
    UPDATE vocabulary SET documents = documents - 1 WHERE number IN (SELECT value FROM json_each(old.terms));
    DELETE FROM vocabulary WHERE number IN (SELECT value FROM json_each(old.terms)) AND documents = 0;
    UPDATE collections SET texts = texts - 1, words = words - old.length WHERE number = old.collection;
END;

-- A collection goes by ranges, not text by text; before its memories or messages, so that these find nothing to remove.
CREATE TRIGGER collection_removed BEFORE DELETE ON collections BEGIN
    DELETE FROM postings WHERE term IN (SELECT number FROM vocabulary WHERE collection = old.number);
    DELETE FROM vocabulary WHERE collection = old.number;
END;
CREATE TRIGGER bank_index_removed BEFORE DELETE ON banks BEGIN
    DELETE FROM collections WHERE bank_id = old.id;
END;
CREATE TRIGGER conversation_index_removed BEFORE DELETE ON conversations BEGIN
    DELETE FROM collections WHERE conversation_id = old.id;
END;
CREATE TRIGGER zone_index_removed BEFORE DELETE ON zones BEGIN
    DELETE FROM collections WHERE zone_id = old.id;
END;

-- The index follows the texts: what is deleted or changed is not found under its old words.
DROP TRIGGER memory_text_changed;
CREATE TRIGGER memory_text_changed AFTER UPDATE OF text ON memories BEGIN
    DELETE FROM memory_terms WHERE rowid = old.place;
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE bank_id = old.bank_id) AND document = old.place;
END;
DROP TRIGGER memory_removed;
CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
    DELETE FROM memory_terms WHERE rowid = old.place;
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE bank_id = old.bank_id) AND document = old.place;
    UPDATE banks SET memories = memories - 1 WHERE id = old.bank_id;
END;
CREATE TRIGGER message_text_changed AFTER UPDATE OF content ON messages BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE conversation_id = old.conversation_id)
        AND document = old.seq;
END;
CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE conversation_id = old.conversation_id)
        AND document = old.seq;
END;
CREATE TRIGGER zone_message_text_changed AFTER UPDATE OF content ON zone_messages BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE zone_id = old.zone_id) AND document = old.seq;
END;
CREATE TRIGGER zone_message_removed AFTER DELETE ON zone_messages BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE zone_id = old.zone_id) AND document = old.seq;
END;

-- Stored banks are indexed anew in the background (actors/jobs/indexing.py). Until then their memories are found by
-- the tables `memory_terms` and `memory_vocabulary`, to which nothing is added any more.
INSERT INTO collections (number, bank_id, version, reached) SELECT number, id, '', 0 FROM banks;
