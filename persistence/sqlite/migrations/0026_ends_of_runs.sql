-- The times of these errors, which are also noted of runs that were cancelled before a word; NULL of older ones.
ALTER TABLE failed_runs ADD COLUMN at INTEGER;
