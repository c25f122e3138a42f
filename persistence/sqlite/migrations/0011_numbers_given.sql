-- The last number of a domain's sequence that a destroyed zone had: it is not given again, or who comes back to a
-- stream with it would miss what has it then.
ALTER TABLE domains ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER zone_removed BEFORE DELETE ON zones BEGIN
    UPDATE domains
    SET numbered = max(numbered, coalesce((SELECT max(number) FROM zone_messages WHERE zone_id = old.id), 0))
    WHERE id = old.domain_id;
END;
