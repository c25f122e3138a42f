"""Skills: listing, installing and removing a user's own."""

import asyncio
from collections.abc import Callable

from actors.calls.call import A, Call
from actors.library import skill_package
from actors.library.messages import LIBRARY, InstallSkill, UninstallSkill
from actors.library.records import skill_record
from actors.library.skill import Skill, read_skill
from actors.wire import Record
from persistence import skills
from persistence.skills import SkillRow


async def list_skills(call: Call) -> list[Record]:
    """List the caller's skills, by name."""
    return [skill_record(row) for row in await call.core.store.fetch(skills.of_user(call.user.user_id))]


async def install_from_catalog(call: Call, name: str, answer: Callable[[SkillRow], A]) -> A:
    """Install a skill from the operator's catalog.

    Raises:
        NotFound: there is none of that name.
    """
    skill = await asyncio.to_thread(skill_package.from_catalog, call.core.options.skills_dir, name)
    return await _install(call, skill, answer)


async def install_text(call: Call, content: str, answer: Callable[[SkillRow], A]) -> A:
    """Install a skill that is a single SKILL.md."""
    # a megabyte of YAML would block the event loop
    return await _install(call, await asyncio.to_thread(read_skill, content.encode()), answer)


async def install_zip(call: Call, packed: bytes, answer: Callable[[SkillRow], A]) -> A:
    """Install a skill from a zip."""
    return await _install(call, await asyncio.to_thread(skill_package.from_zip, packed), answer)


async def _install(call: Call, skill: Skill, answer: Callable[[SkillRow], A]) -> A:
    return await call.carry_out(LIBRARY, call.user.user_id, InstallSkill(skill), answer)


async def uninstall(call: Call, name: str, answer: Callable[[None], A]) -> A:
    """Remove a skill.

    Raises:
        NotFound: the caller has none of that name.
    """
    return await call.carry_out(LIBRARY, call.user.user_id, UninstallSkill(name), answer)
