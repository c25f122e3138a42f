-- What 0.2.0 kept of destroyed agents beside their names, which stand in what they said.
UPDATE agents SET description = '', profile = NULL WHERE destroyed_at IS NOT NULL;
UPDATE erasure SET due = due + 1 WHERE EXISTS (SELECT 1 FROM agents WHERE destroyed_at IS NOT NULL);
