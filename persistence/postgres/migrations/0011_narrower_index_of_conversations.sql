-- No query seeks an opening: without it the index is half as large, and each new conversation of a user with an agent
-- stands at the end of the user's part.
DROP INDEX conversations_agent;
CREATE INDEX conversations_agent ON conversations (agent_id, user_id);
