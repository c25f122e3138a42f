"""Skills and documents as clients see them."""

from actors.wire import Record, iso
from persistence.documents import DocumentRow
from persistence.skills import SkillRow


def skill_record(skill: SkillRow) -> Record:
    """Return the record of an installed skill, without its body."""
    return {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": skill.metadata,
        "allowed_tools": skill.allowed_tools,
        "files": skill.files,
        "installed_at": iso(skill.installed_at),
    }


def document_record(document: DocumentRow) -> Record:
    """Return the record of a document with its status, without its text."""
    return {
        "id": document.id,
        "name": document.name,
        "media_type": document.media_type,
        "metadata": document.metadata,
        "size": document.size,
        "status": document.status,
        "error": document.error,
        "parts": document.parts,
        "created_at": iso(document.created_at),
        "updated_at": iso(document.updated_at),
    }
