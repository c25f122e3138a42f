"""Skills that users have installed, with their files."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from persistence.store import Params, Query, Write

NAME_TAKEN = "skills.user_id"
"""Refuses a skill whose name another of its user has."""


class SkillRow(NamedTuple):
    """An installed skill as listed, without its body; `files` are paths, `installed_at` is in ms since the epoch."""

    name: str
    description: str
    license: str | None
    compatibility: str | None
    metadata: dict[str, str]
    allowed_tools: list[str]
    files: list[str]
    installed_at: int


def install(user_id: str, skill: SkillRow, body: str, files: Mapping[str, bytes], most: int) -> tuple[Write, ...]:
    """Add a skill with its files.

    Refused as `NAME_TAKEN` if the user has one of its name, as `ROWS` if the user has `most` already, as
    `FOREIGN_KEY` without the user.
    """
    return (
        Write(
            "INSERT INTO skills (user_id, name, description, license, compatibility, metadata, allowed_tools, body,"
            " installed_at) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM skills WHERE user_id = ?) < ?",
            (
                user_id,
                skill.name,
                skill.description,
                skill.license,
                skill.compatibility,
                json.dumps(skill.metadata, ensure_ascii=False),
                json.dumps(skill.allowed_tools, ensure_ascii=False),
                body,
                skill.installed_at,
                user_id,
                most,
            ),
            rows=1,
        ),
        *(
            Write(
                "INSERT INTO skill_files (user_id, skill, path, content) VALUES (?, ?, ?, ?)",
                (user_id, skill.name, path, content),
            )
            for path, content in files.items()
        ),
    )


def uninstall(user_id: str, name: str) -> Write:
    """Remove a skill with its files; refused as `ROWS` when there is none of that name."""
    return Write("DELETE FROM skills WHERE user_id = ? AND name = ?", (user_id, name), rows=1)


def of_user(user_id: str) -> Query[SkillRow]:
    """List a user's skills, by name."""
    return Query(
        "SELECT name, description, license, compatibility, metadata, allowed_tools,"
        " (SELECT @json_array(path) FROM (SELECT path FROM skill_files"
        " WHERE user_id = skills.user_id AND skill = skills.name ORDER BY path) AS paths), installed_at"
        " FROM skills WHERE user_id = ? ORDER BY name",
        (user_id,),
        _row,
    )


def described(user_id: str) -> Query[tuple[str, str]]:
    """List the names and descriptions of a user's skills, by name."""
    return Query(
        "SELECT name, description FROM skills WHERE user_id = ? ORDER BY name",
        (user_id,),
        lambda row: (row[0], row[1]),
    )


def body_of(user_id: str, name: str) -> Query[str]:
    """Read the body of a skill."""
    return Query("SELECT body FROM skills WHERE user_id = ? AND name = ?", (user_id, name), lambda row: row[0])


def paths_of(user_id: str, name: str) -> Query[str]:
    """List the paths of a skill's files."""
    return Query(
        "SELECT path FROM skill_files WHERE user_id = ? AND skill = ? ORDER BY path",
        (user_id, name),
        lambda row: row[0],
    )


def file_of(user_id: str, name: str, path: str) -> Query[bytes]:
    """Read a file of a skill."""
    return Query(
        "SELECT content FROM skill_files WHERE user_id = ? AND skill = ? AND path = ?",
        (user_id, name, path),
        lambda row: row[0],
    )


def _row(row: Params) -> SkillRow:
    name, description, license, compatibility, metadata, allowed_tools, files, installed_at = row
    return SkillRow(
        name,
        description,
        license,
        compatibility,
        json.loads(metadata),
        json.loads(allowed_tools),
        json.loads(files),
        installed_at,
    )
