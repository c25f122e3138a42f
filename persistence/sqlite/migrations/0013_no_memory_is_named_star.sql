-- `*` means all memories now, so it is no memory's name. Those that have it, and the documents that they come from or
-- that are sent again, get the first of `**`, `***` ... that none has, nor a memory that is named like a part of it.
-- Such a name has no words, as `*` has none: so what the full-text index holds of these memories stays right.
CREATE TEMP TABLE free_name AS
WITH RECURSIVE stars (name) AS (SELECT '**' UNION ALL SELECT name || '*' FROM stars)
SELECT name FROM stars
WHERE NOT EXISTS (
        SELECT 1 FROM memories
        WHERE memories.name = stars.name OR memories.part_of = stars.name OR memories.name LIKE stars.name || '/%'
    )
    AND NOT EXISTS (SELECT 1 FROM documents WHERE documents.name = stars.name)
LIMIT 1;

UPDATE memories SET name = (SELECT name FROM free_name) WHERE name = '*';
UPDATE memories SET name = (SELECT name FROM free_name) || substr(name, 2), part_of = (SELECT name FROM free_name)
WHERE part_of = '*';
UPDATE documents SET name = (SELECT name FROM free_name) WHERE name = '*';

DROP TABLE free_name;
