"""The library actor: the skills and documents of one user."""

from typing import Any

from actors.errors import NameTaken
from actors.ids import Clock, new_id, new_number
from actors.library.messages import (
    LIBRARY,
    MAX_SKILLS,
    AddDocument,
    InstallSkill,
    RemoveDocument,
    UninstallSkill,
    no_such_document,
    no_such_skill,
    too_many_skills,
)
from actors.names import no_such_user
from actors.runtime.actor import handles
from actors.runtime.changes import Changes
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from persistence import censoring, documents, idempotency_records, skills
from persistence.documents import DocumentRow
from persistence.skills import SkillRow
from persistence.store import FOREIGN_KEY, ROWS, Store


class LibraryActor(DurableActor):
    """Owns a user's skills and documents; its key is the user's id. The texts stay in the store."""

    kind = LIBRARY
    __slots__ = ("_changes", "_clock", "_skills")

    def __init__(self, key: str, store: Store, clock: Clock, changes: Changes) -> None:
        super().__init__(key, store)
        self._changes = changes
        self._clock = clock
        self._skills: set[str] = set()

    async def on_begin(self) -> None:
        """Load the names of the user's skills."""
        self._skills = {name for name, _ in await self.store.fetch(skills.described(self.key))}

    def on_stored(self) -> None:
        """Tell those who watch what the user has."""
        self._changes.changed(self.key)

    @handles(InstallSkill)
    def _install(self, message: InstallSkill) -> AsyncFuture[SkillRow]:
        skill = message.skill
        if skill.name in self._skills:
            raise _installed_already(skill.name)
        row = SkillRow(
            skill.name,
            skill.description,
            skill.license,
            skill.compatibility,
            dict(skill.metadata),
            list(skill.allowed_tools),
            sorted(skill.files),
            self._clock(),
        )
        # The store counts, because skills whose units are under way are not in memory yet.
        return self.commit_or_refuse(
            *skills.install(self.key, row, skill.body, skill.files, MAX_SKILLS),
            reply=lambda: row,
            applied=lambda: self._skills.add(skill.name),
            constraint_errors={
                skills.NAME_TAKEN: lambda: _installed_already(skill.name),
                FOREIGN_KEY: no_such_user,
                ROWS: too_many_skills,
            },
        )

    @handles(UninstallSkill)
    def _uninstall(self, message: UninstallSkill) -> AsyncFuture[None]:
        return self.commit_or_refuse(
            skills.uninstall(self.key, message.name),
            applied=lambda: self._skills.discard(message.name),
            constraint_errors={ROWS: no_such_skill},
        )

    @handles(AddDocument)
    def _add_document(self, message: AddDocument) -> AsyncFuture[DocumentRow]:
        now = self._clock()
        document = DocumentRow(
            position=new_number(),
            id=new_id("doc", near=self.key),
            user_id=self.key,
            name=message.name,
            media_type=message.media_type,
            metadata=message.metadata,
            size=len(message.content),
            status="queued",
            error=None,
            parts=0,
            erased=0,
            created_at=now,
            updated_at=now,
        )
        return self.commit_or_refuse(
            *documents.add(document, message.content),
            reply=lambda: document,
            constraint_errors={FOREIGN_KEY: no_such_user},
        )

    @handles(RemoveDocument)
    def _remove_document(self, message: RemoveDocument) -> AsyncFuture[None]:
        return self.commit_or_refuse(
            documents.remove(self.key, message.document_id),
            idempotency_records.redact_showing(message.document_id),
            censoring.DUE,
            constraint_errors={ROWS: no_such_document},
        )

    def concerns(self, user_id: str) -> bool:
        """Return whether the library belongs to this user."""
        return user_id == self.key

    def snapshot(self) -> dict[str, Any]:
        """Show the names of the skills."""
        return {"skills": sorted(self._skills)}


def _installed_already(name: str) -> NameTaken:
    return NameTaken(f"You have a skill {name} already; remove it first with DELETE /api/skills/{name}.")
