-- The agents, domains, zones and banks of which a kept answer has texts: their end redacts it, whatever ends them.
CREATE TABLE kept_subjects (
    subject       TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    key_hash      BLOB NOT NULL,
    PRIMARY KEY (subject, credential_id, key_hash),
    FOREIGN KEY (credential_id, key_hash) REFERENCES kept_answers (credential_id, key_hash) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_subjects_key ON kept_subjects (credential_id, key_hash);

CREATE TRIGGER agent_leaves_answers AFTER UPDATE OF destroyed_at ON agents WHEN new.destroyed_at IS NOT NULL BEGIN
    UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN
        (SELECT credential_id, key_hash FROM kept_subjects WHERE subject = old.id);
END;
CREATE TRIGGER domain_leaves_answers AFTER DELETE ON domains BEGIN
    UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN
        (SELECT credential_id, key_hash FROM kept_subjects WHERE subject = old.id);
END;
CREATE TRIGGER zone_leaves_answers AFTER DELETE ON zones BEGIN
    UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN
        (SELECT credential_id, key_hash FROM kept_subjects WHERE subject = old.id);
END;
CREATE TRIGGER bank_leaves_answers AFTER DELETE ON banks BEGIN
    UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN
        (SELECT credential_id, key_hash FROM kept_subjects WHERE subject = old.id);
END;
