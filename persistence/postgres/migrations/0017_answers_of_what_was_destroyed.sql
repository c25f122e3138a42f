-- The agents, domains, zones and banks of which a kept answer has texts: their end redacts it, whatever ends them.
CREATE TABLE kept_subjects (
    subject       text COLLATE "C" NOT NULL,
    credential_id text COLLATE "C" NOT NULL,
    key_hash      bytea NOT NULL,
    PRIMARY KEY (subject, credential_id, key_hash),
    FOREIGN KEY (credential_id, key_hash) REFERENCES kept_answers (credential_id, key_hash) ON DELETE CASCADE
);
CREATE INDEX kept_subjects_key ON kept_subjects (credential_id, key_hash);

-- After the end, so that it sees the answers of the units that had to be waited for.
CREATE FUNCTION leaves_answers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE kept_answers SET answer = NULL FROM kept_subjects
    WHERE kept_subjects.subject = old.id AND kept_answers.credential_id = kept_subjects.credential_id
        AND kept_answers.key_hash = kept_subjects.key_hash;
    RETURN NULL;
END $$;
CREATE TRIGGER agent_leaves_answers AFTER UPDATE OF destroyed_at ON agents
    FOR EACH ROW WHEN (new.destroyed_at IS NOT NULL) EXECUTE FUNCTION leaves_answers();
CREATE TRIGGER domain_leaves_answers AFTER DELETE ON domains FOR EACH ROW EXECUTE FUNCTION leaves_answers();
CREATE TRIGGER zone_leaves_answers AFTER DELETE ON zones FOR EACH ROW EXECUTE FUNCTION leaves_answers();
CREATE TRIGGER bank_leaves_answers AFTER DELETE ON banks FOR EACH ROW EXECUTE FUNCTION leaves_answers();
