"""The messages that a library's actor takes, and its replies."""

from typing import Any

from actors.errors import NotFound, StateConflict
from actors.library.skill import Skill
from actors.runtime.mailbox import Ask
from persistence.documents import DocumentRow
from persistence.skills import SkillRow

LIBRARY = "library"
"""The kind of libraries' actors."""

MAX_SKILLS = 100
"""The largest number of a user's skills; their descriptions go into every prompt."""


class InstallSkill(Ask[SkillRow], frozen=True):
    """Install a skill for the user."""

    skill: Skill


class UninstallSkill(Ask[None], frozen=True):
    """Remove one of the user's skills."""

    name: str


class AddDocument(Ask[DocumentRow], frozen=True):
    """Queue a document, replacing the user's document of that name."""

    name: str
    content: str
    media_type: str
    metadata: dict[str, Any] | None


class RemoveDocument(Ask[None], frozen=True):
    """Remove one of the user's documents."""

    document_id: str


def no_such_skill() -> NotFound:
    """Make the error for a skill that the user has not installed."""
    return NotFound("You have no skill of this name; list yours with GET /api/skills.")


def no_such_skill_file() -> NotFound:
    """Make the error for a file that a skill does not have."""
    return NotFound("The skill has no such file; its prompt has its instructions, and lists its files.")


def too_many_skills() -> StateConflict:
    """Make the error for a user with the largest number of skills."""
    return StateConflict(f"You have {MAX_SKILLS} skills, the limit for each user; remove one first.")


def no_such_document() -> NotFound:
    """Make the error for a document that the user does not have."""
    return NotFound(
        "You have no such document: list yours with GET /api/documents; a newer document of the same name may have"
        " replaced it."
    )
