-- Whether a development start (`make run`) gave the user its plan. A start for production tells the operator of these
-- users; the first plan that the billing hook sets ends the mark.
ALTER TABLE users ADD COLUMN development_plan INTEGER NOT NULL DEFAULT 0;
CREATE INDEX users_development_plan ON users (created_at, id) WHERE development_plan = 1;
