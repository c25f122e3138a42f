-- The agent that said a message, so that it can be told from a later one of its name; null for a user's message, and for
-- what was said before, or through an older node. It refers to no row, because agents keep theirs, and a check costs
-- each message a seek.
ALTER TABLE zone_messages ADD COLUMN agent_id TEXT;
