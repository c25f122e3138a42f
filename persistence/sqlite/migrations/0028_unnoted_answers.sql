-- `at` of an answer whose subjects were noted when it was kept; null, or another time, if an older version kept it.
ALTER TABLE kept_answers ADD COLUMN noted_at INTEGER;

-- What older versions kept can't be searched, because it is sealed, so it is redacted, but for what has no such texts:
-- refusals, what was accepted (202), and private chats, which go with their conversation.
UPDATE erasure SET due = due + 1 WHERE EXISTS (SELECT 1 FROM kept_answers);
UPDATE kept_answers SET answer = NULL WHERE status IN (200, 201) AND conversation_id IS NULL;
