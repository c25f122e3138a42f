-- The endpoints of a shard's users, whose ids end in the two hex digits that name the shard.
CREATE INDEX endpoints_shard ON endpoints (substr(user_id, length(user_id) - 1));
