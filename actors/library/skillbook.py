"""The skills that users have installed, as an engine reads them."""

from persistence import skills
from persistence.store import Store


class StoredSkills:
    """A `Skillbook` over the store (actors/engines/openai/tools.py)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def skills(self, user_id: str) -> list[tuple[str, str]]:
        """List names and descriptions of a user's skills."""
        return await self._store.fetch(skills.described(user_id))

    async def read(self, user_id: str, name: str, path: str | None = None) -> str | None:
        """Read a skill's body with a list of its files, or one of these files as text."""
        if path is not None:
            found = await self._store.fetch(skills.file_of(user_id, name, path))
            return found[0].decode(errors="replace") if found else None
        bodies = await self._store.fetch(skills.body_of(user_id, name))
        if not bodies:
            return None
        paths = await self._store.fetch(skills.paths_of(user_id, name))
        return bodies[0] + (f"\n\nFiles of this skill: {', '.join(paths)}" if paths else "")
