-- A new conversation has the highest number, so an index by users alone grows at the end of each user's part. One that
-- goes on with agents and digests writes to a page of its own for each conversation; one such index is enough.
DROP INDEX conversations_user;
DROP INDEX conversations_agent;
CREATE INDEX conversations_user ON conversations (user_id);
CREATE INDEX conversations_agent ON conversations (agent_id, user_id, opening);
