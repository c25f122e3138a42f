"""The resources and prompts of MCP (docs/mcp.md): the banks, zones and skills that a user may read.

Each is read with the checks of the command that reads the same: MB_Read, ZN_Read, GET /api/skills. Censored memories
are left out.
"""

from typing import NamedTuple

from actors.banks.messages import no_such_memory
from actors.calls.bank_targets import target_bank
from actors.calls.call import Call
from actors.calls.request import parse
from actors.calls.targets import domain_names_in_scope, target_zone
from actors.conversations.stored import from_row
from actors.domains.messages import DomainView, no_member
from actors.engines.message import Utterance
from actors.errors import NotFound
from actors.library.messages import no_such_skill, no_such_skill_file
from actors.sessions.scopes import GATEWAY_ROUTE, listed_ids
from persistence import banks, domains, memories, skills, zones
from persistence.banks import BankRow
from persistence.domains import ZoneName, ZoneRow
from persistence.memories import Choice, MemoryRow
from persistence.skills import SkillRow
from persistence.users import name_key

PAGE = 50
"""The largest number of memories or messages in one answer."""

PAGE_CHARS = 131_072
"""The number of characters of their texts after which an answer ends, so that writing it never blocks the loop."""

NEWEST = 2**62
"""Higher than any seq."""


async def readable_banks(call: Call, after_key: str, limit: int, prefix: str = "") -> list[BankRow]:
    """List the banks that the caller may read, by name: its own, and those that its agents are attached to."""
    if not _allows(call, "MB_List"):
        return []
    ids = listed_ids(call.scopes, "banks")
    return await call.core.store.fetch(banks.listed_for(call.user.user_id, prefix, after_key, limit, ids))


async def readable_zones(call: Call, after: tuple[str, str], limit: int) -> list[ZoneName]:
    """List the zones that the caller may read, by names: those of domains where it has a member agent."""
    found: list[ZoneName] = []
    if not _allows(call, "ZN_List"):
        return found
    while True:
        rows = await call.core.store.fetch(domains.zones_of_member(call.user.user_id, after, limit))
        shown = set(await domain_names_in_scope(call, [row.domain for row in rows]))
        found += [row for row in rows if row.domain in shown]
        if len(rows) < limit or len(found) >= limit:
            return found[:limit]
        after = rows[-1].domain_key, rows[-1].zone_key


def _allows(call: Call, service: str) -> bool:
    """Return whether the sender's API key may use a service, so that lists show what it gives."""
    return call.scopes is None or call.scopes.allow_service(service)


def _require(call: Call, service: str) -> None:
    """Refuse what a service gives to an API key that is not for it.

    Raises:
        NotPermitted: the key is not for it.
    """
    if call.scopes is not None:
        call.scopes.require_service(service, mutates=False)


class BankPage(NamedTuple):
    """A page of a bank's memories, oldest first; the next one begins after the position `next`."""

    bank: BankRow
    memories: list[MemoryRow]
    next: int | None


async def read_bank(call: Call, bank: str, after: int) -> BankPage:
    """Read the memories of a bank after a position.

    Raises:
        NotFound, NotPermitted: there is no such bank that the caller may see, or may read.
    """
    _require(call, "MB_Read")
    call.says(parse({"target": {"bank": bank}}))
    view, _ = await target_bank(call, "read")
    rows = await call.core.store.fetch(memories.uncensored_after(view.row.id, after, PAGE + 1))
    fit = _that_fit([len(row.text or "") for row in rows])
    return BankPage(view.row, rows[:fit], rows[fit - 1].position if fit < len(rows) else None)


async def read_memory(call: Call, bank: str, name: str) -> tuple[BankRow, list[MemoryRow]]:
    """Read the memory of a name, or the parts of the document of that name.

    Raises:
        NotFound, NotPermitted: there is no such bank that the caller may see, or may read, or no such memory in it; a
            censored one is none.
    """
    _require(call, "MB_Read")
    call.says(parse({"target": {"bank": bank}, "vx": {"name": name}}))
    view, _ = await target_bank(call, "read")
    rows = await call.core.store.fetch(memories.chosen(view.row.id, Choice(name)))
    found = [row for row in rows if not row.censored]
    exact = [row for row in found if row.name == name]
    if not found:
        raise no_such_memory()
    return view.row, exact or found


class ZonePage(NamedTuple):
    """A page of a zone's messages, newest last; the older ones are those before the seq `next`."""

    zone: ZoneRow
    domain: str
    messages: list[Utterance]
    next: int | None


async def read_zone(call: Call, domain: str, zone: str, before: int = NEWEST) -> ZonePage:
    """Read the newest messages of a zone, or the last ones before a seq.

    Raises:
        NotFound, NotPermitted: there is no such zone that the caller may see, or the caller has no member agent there.
    """
    view, row = await _readable_zone(call, domain, zone)
    rows = await call.core.store.fetch(zones.page_before(row.id, before, PAGE + 1))
    fit = _that_fit([len(message.content) for message in rows])
    page = [from_row(message) for message in rows[:fit]][::-1]
    return ZonePage(row, view.row.name, page, rows[fit - 1].seq if fit < len(rows) else None)


async def _readable_zone(call: Call, domain: str, zone: str) -> tuple[DomainView, ZoneRow]:
    _require(call, "ZN_Read")
    call.says(parse({"target": {"domain": domain, "zone": zone}}))
    if call.target.domain is None or call.target.zone is None:  # a blank name; nothing selected stands in for it
        raise NotFound("Name a domain and a zone.")
    view, row = await target_zone(call)
    if not view.is_member:
        raise no_member(view.row)
    return view, row


def _that_fit(lengths: list[int]) -> int:
    """Return the number of texts of these lengths that fit into one answer; at least one, if there is one."""
    total = 0
    for number, length in enumerate(lengths[:PAGE]):
        total += length
        if total > PAGE_CHARS:
            return max(number, 1)
    return min(len(lengths), PAGE)


class Watched(NamedTuple):
    """The signs by which a change of a resource is noticed.

    Attributes:
        key: the actor whose changes may concern it: the bank, domain or user.
        zone_id: the zone, if it is one.
        stamp: equal as long as its content is; None if every change of the actor or zone is one of the resource.
    """

    key: str
    zone_id: str | None = None
    stamp: int | None = None


async def watched(call: Call, kind: str, names: tuple[str, ...]) -> Watched:
    """Find a resource that the caller may read, to watch it.

    Raises:
        NotFound, NotPermitted: as reading it does.
    """
    match kind, names:
        case "bank", (bank,):
            _require(call, "MB_Read")
            call.says(parse({"target": {"bank": bank}}))
            view, _ = await target_bank(call, "read")
            return Watched(view.row.id)
        case "bank", (bank, name):
            row, found = await read_memory(call, bank, name)
            return Watched(row.id, stamp=hash(tuple((memory.position, memory.text) for memory in found)))
        case "zone", (domain, zone):
            view, row = await _readable_zone(call, domain, zone)
            return Watched(view.row.id, row.id)
        case _:
            return Watched(call.user.user_id, stamp=hash(await read_skill_file(call, *names)))


# skills


async def skills_of(call: Call) -> list[SkillRow]:
    """List the caller's skills, by name."""
    return await call.core.store.fetch(skills.of_user(call.user.user_id)) if _allows(call, GATEWAY_ROUTE) else []


async def read_skill(call: Call, name: str) -> tuple[SkillRow, str]:
    """Read one of the caller's skills with its body.

    Raises:
        NotFound: the caller has none of that name.
    """
    user_id = call.user.user_id
    found = [skill for skill in await skills_of(call) if skill.name == name]
    bodies = await call.core.store.fetch(skills.body_of(user_id, name)) if found else []
    if not bodies:
        raise no_such_skill()
    return found[0], bodies[0]


async def read_skill_file(call: Call, name: str, path: str) -> bytes:
    """Read a file of one of the caller's skills.

    Raises:
        NotFound: there is none.
    """
    _require(call, GATEWAY_ROUTE)
    fetch, user_id = call.core.store.fetch, call.user.user_id
    found = await fetch(skills.file_of(user_id, name, path))
    if not found:
        raise no_such_skill_file() if await fetch(skills.body_of(user_id, name)) else no_such_skill()
    return found[0]


# names that begin with a text, for completion


async def bank_names(call: Call, prefix: str, limit: int) -> list[str]:
    """List the names of the banks that the caller may read, by prefix."""
    return [bank.name for bank in await readable_banks(call, "", limit, prefix)]


async def memory_names(call: Call, bank: str, prefix: str, limit: int) -> list[str]:
    """List the names of a bank's memories, by prefix.

    Raises:
        NotFound, NotPermitted: there is no such bank that the caller may see, or may read.
    """
    _require(call, "MB_Read")
    call.says(parse({"target": {"bank": bank}}))
    view, _ = await target_bank(call, "read")
    names = await call.core.store.fetch(memories.uncensored_names(view.row.id, prefix, limit))
    return [name for name in names if name.startswith(prefix)]


async def domain_names(call: Call, prefix: str, limit: int) -> list[str]:
    """List the names of the domains whose zones the caller may read, by prefix."""
    if not _allows(call, "ZN_List"):
        return []
    names = await call.core.store.fetch(domains.names_of_member(call.user.user_id, prefix, limit))
    return await domain_names_in_scope(call, names)


async def zone_names(call: Call, domain: str, prefix: str, limit: int) -> list[str]:
    """List the names of the zones of a domain that the caller may read, by prefix."""
    key = name_key(domain)
    # in order of names, so the domain's zones come first after its own key
    listed = await readable_zones(call, (key, ""), limit)
    return [row.zone for row in listed if row.domain_key == key and row.zone_key.startswith(name_key(prefix))]
