-- What is removed leaves the index, and its bank's count, once for each statement. Once for each row, it looked through
-- all the versions that the rows before had left behind: 4,000 memories took half a minute, and eight times as many
-- sixty-four times as long.

-- A text goes with its postings. A collection that goes as a whole has none any more: it is gone, or counts no text.
DROP TRIGGER indexed_text_removed ON indexed_texts;
DROP FUNCTION indexed_text_removed();
CREATE FUNCTION indexed_texts_removed() RETURNS trigger LANGUAGE plpgsql
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off -- its plans are kept, for one text and for many
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM gone JOIN collections ON collections.number = gone.collection WHERE texts > 0) THEN
        RETURN NULL;
    END IF;
    DELETE FROM postings USING (
        SELECT CAST(value AS bigint) AS term, document
        FROM gone CROSS JOIN LATERAL json_array_elements_text(CAST(terms AS json))
    ) AS theirs
    WHERE postings.term = theirs.term AND postings.document = theirs.document;
    UPDATE vocabulary SET documents = documents - theirs.texts FROM (
        SELECT CAST(value AS bigint) AS number, count(*) AS texts
        FROM gone CROSS JOIN LATERAL json_array_elements_text(CAST(terms AS json)) GROUP BY 1
    ) AS theirs
    WHERE vocabulary.number = theirs.number;
    DELETE FROM vocabulary USING (
        SELECT DISTINCT CAST(value AS bigint) AS number
        FROM gone CROSS JOIN LATERAL json_array_elements_text(CAST(terms AS json))
    ) AS theirs
    WHERE vocabulary.number = theirs.number AND documents = 0;
    UPDATE collections SET texts = collections.texts - theirs.texts, words = collections.words - theirs.words FROM (
        SELECT collection, count(*) AS texts, sum(length) AS words FROM gone GROUP BY collection
    ) AS theirs
    WHERE collections.number = theirs.collection AND collections.texts > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER indexed_texts_removed AFTER DELETE ON indexed_texts
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION indexed_texts_removed();

DROP TRIGGER memory_removed ON memories;
CREATE FUNCTION memories_removed() RETURNS trigger LANGUAGE plpgsql
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM indexed_texts USING gone JOIN collections ON collections.bank_id = gone.bank_id
    WHERE indexed_texts.collection = collections.number AND indexed_texts.document = gone.place;
    UPDATE banks SET memories = memories - theirs.memories_gone FROM (
        SELECT bank_id, count(*) AS memories_gone FROM gone GROUP BY bank_id
    ) AS theirs
    WHERE banks.id = theirs.bank_id;
    RETURN NULL;
END $$;
CREATE TRIGGER memories_removed AFTER DELETE ON memories
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION memories_removed();

CREATE OR REPLACE FUNCTION memory_text_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM indexed_texts
    WHERE collection = (SELECT number FROM collections WHERE bank_id = old.bank_id) AND document = old.place;
    RETURN NULL;
END $$;
