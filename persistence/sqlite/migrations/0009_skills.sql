-- Skills that users have installed. `metadata` is a JSON object of texts, `allowed_tools` a JSON array of texts.
CREATE TABLE skills (
    user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL,
    license       TEXT,
    compatibility TEXT,
    metadata      TEXT NOT NULL,
    allowed_tools TEXT NOT NULL,
    body          TEXT NOT NULL,
    installed_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT;

-- What a skill's folder holds beside its SKILL.md.
CREATE TABLE skill_files (
    user_id TEXT NOT NULL,
    skill   TEXT NOT NULL,
    path    TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (user_id, skill, path),
    FOREIGN KEY (user_id, skill) REFERENCES skills (user_id, name) ON DELETE CASCADE
) STRICT;
