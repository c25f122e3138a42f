-- Banks that agents are offered by another than their owner, who accepts or declines. An offer gives nobody a right: no
-- query of sight or recall reads this table. It is above what the agent is attached with already, if it is.
CREATE TABLE offers (
    bank_id    TEXT NOT NULL REFERENCES banks (id) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    permission TEXT NOT NULL CHECK (permission IN ('read', 'write', 'admin')),
    since      INTEGER NOT NULL,
    PRIMARY KEY (bank_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX offers_agent ON offers (agent_id);

-- So far anybody could attach an agent that they saw. Where its owner had it write in the bank, that was consent.
INSERT INTO offers (bank_id, agent_id, permission, since)
    SELECT attachments.bank_id, attachments.agent_id, attachments.permission, attachments.since
    FROM attachments
    JOIN banks ON banks.id = attachments.bank_id
    JOIN agents ON agents.id = attachments.agent_id
    WHERE agents.owner_id <> banks.owner_id AND attachments.permission <> 'none'
        AND NOT EXISTS (
            SELECT 1 FROM memories
            WHERE memories.bank_id = attachments.bank_id AND memories.author_id = attachments.agent_id);
DELETE FROM attachments
    WHERE (SELECT owner_id FROM agents WHERE id = agent_id) <> (SELECT owner_id FROM banks WHERE id = bank_id)
        AND NOT EXISTS (
            SELECT 1 FROM memories
            WHERE memories.bank_id = attachments.bank_id AND memories.author_id = attachments.agent_id);
