-- `at` of an answer whose subjects were noted when it was kept; null, or another time, if an older version kept it.
ALTER TABLE kept_answers ADD noted_at bigint;
