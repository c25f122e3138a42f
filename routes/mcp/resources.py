"""Banks, zones and the files of skills as MCP's resources (docs/mcp.md, "Resources")."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import orjson

from actors.banks.records import bank_record, memory_record
from actors.calls.call import Call
from actors.commands import resources
from actors.conversations.records import message_record
from actors.domains.records import zone_record
from actors.errors import InvalidField, NotFound
from persistence.users import name_key
from routes.mcp.groups import offers_group
from routes.uris import Place, place_of, uri

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, ListResourcesResult, ReadResourceResult, TextResourceContents

    Contents = list[TextResourceContents | BlobResourceContents]

JSON = "application/json"
TEXT = "text/plain"
PAGE = 100
"""The number of resources on a page of a list."""

TEMPLATES: tuple[dict[str, str], ...] = (
    {
        "name": "bank",
        "title": "Memory bank",
        "uriTemplate": "parley://bank/{bank}",
        "description": "The memories of a bank, oldest first, as JSON; `next` is the URI of the next page.",
        "mimeType": JSON,
    },
    {
        "name": "memory",
        "title": "Memory",
        "uriTemplate": "parley://bank/{bank}/{memory}",
        "description": "The text of one memory, or of the parts of a document.",
        "mimeType": TEXT,
    },
    {
        "name": "zone",
        "title": "Zone",
        "uriTemplate": "parley://zone/{domain}/{zone}",
        "description": "The newest messages of a zone, newest last, as JSON; `next` is the URI of the older ones.",
        "mimeType": JSON,
    },
    {
        "name": "skill-file",
        "title": "File of a skill",
        "uriTemplate": "parley://skill/{skill}/{+path}",
        "description": "A file of one of your skills; the skill's prompt names them.",
    },
)


async def list_resources(call: Call, groups: frozenset[str], cursor: str | None) -> "ListResourcesResult":
    """List a page of the banks, then the zones, that the caller may read.

    Raises:
        InvalidField: no list has made this cursor.
    """
    from mcp_types import ListResourcesResult, Resource  # noqa: PLC0415

    kind, after = _position(cursor)
    listed: list[Resource] = []
    following: tuple[str, ...] | None = None
    if kind == "bank":
        found = await resources.readable_banks(call, after[0], PAGE + 1) if offers_group("bank", groups) else []
        listed = [
            Resource(
                uri=uri("bank", bank.name),
                name=bank.name,
                title=f"Memory bank {bank.name}",
                description=bank.description,
                mime_type=JSON,
            )
            for bank in found[:PAGE]
        ]
        if len(found) > PAGE:
            following = ("bank", name_key(found[PAGE - 1].name))
        else:
            kind, after = "zone", ("", "")
    if kind == "zone" and offers_group("zone", groups):
        room = PAGE - len(listed)
        zones = await resources.readable_zones(call, (after[0], after[1]), room + 1)
        listed += [
            Resource(
                uri=uri("zone", zone.domain, zone.zone),
                name=f"{zone.domain}/{zone.zone}",
                title=f"Zone {zone.zone} of {zone.domain}",
                description=f"The messages of the zone {zone.zone} in the domain {zone.domain}.",
                mime_type=JSON,
            )
            for zone in zones[:room]
        ]
        if len(zones) > room:
            following = ("zone", zones[room - 1].domain_key, zones[room - 1].zone_key) if room else ("zone", "", "")
    return ListResourcesResult(resources=listed, next_cursor=following and _cursor(following))


def _cursor(position: tuple[str, ...]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode()


def _position(cursor: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the kind of resources that a page begins with, and the names before it.

    Raises:
        InvalidField: no list has made this cursor.
    """
    if cursor is None:
        return "bank", ("",)
    try:
        value: Any = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, binascii.Error):
        value = None
    texts = cast(list[Any], value) if isinstance(value, list) else []
    match texts:
        case ["bank", str(name)] if "\x00" not in name:
            return "bank", (name,)
        case ["zone", str(domain), str(zone)] if "\x00" not in domain + zone:
            return "zone", (domain, zone)
        case _:
            raise InvalidField("Invalid value of cursor: send nextCursor of the page before, unchanged.")


async def read_resource(call: Call, groups: frozenset[str], text: str) -> "ReadResourceResult":
    """Read the resource of a URI.

    Raises:
        NotFound, NotPermitted: there is none that the caller may see, or may read, or this address does not offer it.
        InvalidField: its names or its cursor break their rules.
    """
    from mcp_types import ReadResourceResult  # noqa: PLC0415

    read, place = readable(groups, text)
    return ReadResourceResult(contents=await read(call, place, text))


Read = Callable[[Call, Place, str], "Awaitable[Contents]"]


def readable(groups: frozenset[str], text: str) -> tuple[Read, Place]:
    """Return the function that reads the resource of a URI, and the URI's parts.

    Raises:
        NotFound: it is no URI of a resource, or none that this address offers.
    """
    place = place_of(text)
    reads = None if place is None else _READS.get((place.kind, len(place.names)))
    if place is None or reads is None:
        raise NotFound("There is no such resource: resources/templates/list shows the forms of URIs.")
    if place.kind != "skill" and not offers_group(place.kind, groups):
        raise NotFound(f"This address does not offer the group {place.kind}: add {place.kind} to ?groups=.")
    return reads, place


async def _bank(call: Call, place: Place, asked: str) -> "Contents":
    call.service = "MB_Read"
    page = await resources.read_bank(call, place.names[0], _number(place.cursor, 0))
    name = page.bank.name
    value = {
        "bank": bank_record(page.bank),
        "memories": [memory_record(memory) | {"uri": uri("bank", name, memory.name)} for memory in page.memories],
        "next": None if page.next is None else uri("bank", name, cursor=str(page.next)),
    }
    return [_text(asked, orjson.dumps(value).decode(), JSON)]


async def _memory(call: Call, place: Place, asked: str) -> "Contents":
    call.service = "MB_Read"
    bank, found = await resources.read_memory(call, *place.names)
    exact = len(found) == 1 and found[0].name == place.names[1]
    return [_text(asked if exact else uri("bank", bank.name, memory.name), memory.text or "", TEXT) for memory in found]


async def _zone(call: Call, place: Place, asked: str) -> "Contents":
    call.service = "ZN_Read"
    page = await resources.read_zone(call, *place.names, before=_number(place.cursor, resources.NEWEST))
    value = {
        "zone": zone_record(page.zone, page.domain),
        "messages": [message_record(message, page.zone.name) for message in page.messages],
        "next": None if page.next is None else uri("zone", page.domain, page.zone.name, cursor=str(page.next)),
    }
    return [_text(asked, orjson.dumps(value).decode(), JSON)]


async def _skill_file(call: Call, place: Place, asked: str) -> "Contents":
    from mcp_types import BlobResourceContents  # noqa: PLC0415

    content = await resources.read_skill_file(call, *place.names)
    try:
        return [_text(asked, content.decode(), TEXT)]
    except UnicodeDecodeError:
        blob = base64.b64encode(content).decode()
        return [BlobResourceContents(uri=asked, mime_type="application/octet-stream", blob=blob)]


_READS: dict[tuple[str, int], Read] = {
    ("bank", 1): _bank,
    ("bank", 2): _memory,
    ("zone", 2): _zone,
    ("skill", 2): _skill_file,
}


def _text(asked: str, text: str, media_type: str) -> "TextResourceContents":
    from mcp_types import TextResourceContents  # noqa: PLC0415

    return TextResourceContents(uri=asked, mime_type=media_type, text=text)


def _number(cursor: str, otherwise: int) -> int:
    if not cursor:
        return otherwise
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 19 or int(cursor) >= 2**63:
        raise InvalidField("Invalid value of cursor: read the URI that the page before named as `next`, unchanged.")
    return int(cursor)
