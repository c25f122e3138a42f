"""Every command once, each through a node drawn by a seed: the answers are those of a single node."""

import random
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from actors.commands.table import COMMANDS
from actors.core import CoreOptions
from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.nodes import running
from tests.support.roaming import Roaming

OWNER, GUEST = "owner", "guest"
SCOUT = {"agent": "scout"}
DEFAULT = {"agent": "scout", "conversation": "default"}
VISITOR: dict[str, Any] = {"domain": "observatory", "agent": "visitor"}
NOTES: dict[str, Any] = {"bank": "field-notes", "agent": "visitor"}
HERE: dict[str, Any] = {"domain": "observatory"}

EVENING: list[tuple[str, str, dict[str, Any]]] = [
    (OWNER, "AP_Create", {"vx": {"name": "scout", "description": "Finds out", "access": "public"}}),
    (GUEST, "AP_Create", {"vx": {"name": "visitor", "description": "Comes by", "access": "public"}}),
    (OWNER, "AP_LogOn", {"target": SCOUT}),
    (GUEST, "AP_LogOn", {"target": {"agent": "visitor"}}),
    (GUEST, "AP_Add", {"target": SCOUT}),
    (OWNER, "AP_Select", {"target": SCOUT}),
    (GUEST, "AP_Select", {"target": SCOUT}),
    (OWNER, "AP_Chat", {"content": "The Moon is far away."}),
    (GUEST, "AP_Chat", {"content": "My name is Grace."}),
    (GUEST, "AP_History", {"target": SCOUT}),
    (OWNER, "CV_Create", {"target": SCOUT, "vx": {"name": "Moons"}}),
    (OWNER, "CV_Read", {"target": DEFAULT}),
    (OWNER, "CV_Update", {"target": DEFAULT, "vx": {"name": "Moon"}}),
    (OWNER, "CV_Fork", {"target": DEFAULT, "vx": {"seq": 1}}),
    (OWNER, "CV_Fork", {"target": DEFAULT, "vx": {"seq": 3}}),
    (OWNER, "CV_List", {}),
    (OWNER, "CV_Search", {"content": "the Moon"}),
    (OWNER, "CV_Destroy", {"target": DEFAULT}),
    (OWNER, "CV_List", {"target": SCOUT}),
    (OWNER, "AP_Modify", {"target": SCOUT, "vx": {"access": "public"}}),
    (OWNER, "AP_Update", {"target": SCOUT, "vx": {"name": "scout", "description": "Finds everything out"}}),
    (GUEST, "AP_Read", {"target": SCOUT}),
    (GUEST, "AP_List", {}),
    (OWNER, "DM_Create", {"target": SCOUT, "vx": {"name": "observatory", "description": "Up", "access": "public"}}),
    (OWNER, "DM_Update", {"target": HERE, "vx": {"name": "observatory", "description": "Further up"}}),
    (OWNER, "DM_Invite", {"target": VISITOR}),
    (GUEST, "DM_Join", {"target": VISITOR}),
    (GUEST, "DM_Leave", {"target": VISITOR}),
    (OWNER, "DM_Ban", {"target": VISITOR}),
    (GUEST, "DM_Join", {"target": VISITOR}),
    (OWNER, "DM_Unban", {"target": VISITOR}),
    (GUEST, "DM_Join", {"target": VISITOR}),
    (GUEST, "DM_Read", {"target": HERE}),
    (GUEST, "DM_List", {"target": {"domain": "obs"}}),
    (GUEST, "DM_Select", {"target": HERE}),
    (GUEST, "ZN_Create", {"target": HERE, "vx": {"name": "nightly"}}),
    (GUEST, "ZN_Select", {"target": HERE | {"zone": "nightly"}}),
    (GUEST, "ZN_Post", {"content": "Clear skies tonight."}),
    (GUEST, "AP_Chat", {"target": SCOUT, "content": "What of tonight?"}),
    (OWNER, "ZN_Read", {"target": HERE | {"zone": "nightly"}}),
    (OWNER, "ZN_List", {"target": HERE}),
    (OWNER, "ZN_Destroy", {"target": HERE | {"zone": "nightly"}}),
    (OWNER, "DM_Kick", {"target": VISITOR}),
    (GUEST, "ZN_Post", {"target": HERE, "content": "Am I in?"}),
    (OWNER, "MB_Create", {"target": SCOUT, "vx": {"name": "field-notes", "description": "Notes"}}),
    (OWNER, "MB_Update", {"target": {"bank": "field-notes"}, "vx": {"name": "field-notes", "description": "More"}}),
    (OWNER, "MB_Permissions", {"target": NOTES, "vx": {"permission": "write"}}),
    (GUEST, "MB_Accept", {"target": NOTES}),
    (GUEST, "MB_Load", {"target": NOTES, "vx": {"name": "moon"}, "content": "The Moon is 384,400 km away."}),
    (GUEST, "MB_Load", {"target": NOTES, "vx": {"name": "sun"}, "content": "The Sun is a star."}),
    (OWNER, "MB_Recall", {"target": {"bank": "field-notes"}, "content": "How far is the Moon?"}),
    (OWNER, "MB_Read", {"target": {"bank": "field-notes"}}),
    (OWNER, "MB_AgentList", {"target": {"bank": "field-notes"}}),
    (GUEST, "MB_List", {}),
    (OWNER, "MB_Censor", {"target": {"bank": "field-notes"}, "vx": {"name": "moon"}}),
    (OWNER, "MB_Delete", {"target": {"bank": "field-notes"}, "vx": {"name": "sun"}}),
    (GUEST, "MB_Unload", {"target": NOTES}),
    (OWNER, "MB_Destroy", {"target": {"bank": "field-notes"}}),
    (OWNER, "DM_Destroy", {"target": HERE}),
    (GUEST, "AP_Remove", {"target": SCOUT}),
    (OWNER, "AP_LogOff", {"target": SCOUT}),
    (OWNER, "AP_Destroy", {"target": SCOUT}),
    (OWNER, "US_Sessions", {}),
    (OWNER, "US_Update", {"vx": {"description": "Mathematician"}}),
    (OWNER, "US_Read", {}),
    (OWNER, "US_Revoke", {"vx": {"name": "all"}}),
    (GUEST, "US_LogOff", {}),
    (GUEST, "US_Read", {}),
    (OWNER, "US_Destroy", {"vx": {"secret": PASSWORD}}),
    (OWNER, "US_Read", {}),
]
"""Who sends which command, in order."""

ALSO = {"US_Create", "US_LogOn", "ZN_Stream"}
"""Registration is sent for both users; streams have their own tests."""

_VARYING = re.compile(
    r'"(?:[a-z]{3}_[0-9a-f]{32}|pls_\w+|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27})"'  # ids, tokens, times
)


def shown(answer: Answer) -> tuple[int, Any, str | None]:
    """Return an answer without what differs between two runs: ids, tokens and times."""
    body = _VARYING.sub('"*"', orjson.dumps(answer.body).decode())
    quota = re.sub(r";t=\d+", "", answer.headers["RateLimit"]) if "RateLimit" in answer.headers else None
    return answer.http, orjson.loads(body), quota


@asynccontextmanager
async def gateway(folder: Path, count: int, seed: int) -> AsyncIterator[Client]:
    """Run nodes, and open a client that goes through all of them."""
    options = CoreOptions(registrations_per_hour=0, default_plan="scale")
    async with running(folder, count, http=True, options=options) as nodes, AsyncExitStack() as stack:
        entries = [await stack.enter_async_context(nodes.client(index)) for index in range(count)]
        yield Roaming(entries, random.Random(seed))


async def evening(client: Client) -> list[tuple[str, Any]]:
    """Send every command, and return what is shown of the answers."""
    users = {name: await client.register(f"the-{name}") for name in (OWNER, GUEST)}
    return [(service, shown(await users[who].command(service, **body))) for who, service, body in EVENING]


@pytest.mark.parametrize("seed", range(3))
async def test_every_command_answers_through_any_node_as_on_a_single_one(tmp_path: Path, seed: int):
    assert {service for _, service, _ in EVENING} | ALSO == COMMANDS.keys()
    async with gateway(tmp_path / "one", 1, seed) as client:
        alone = await evening(client)
    async with gateway(tmp_path / "three", 3, seed) as client:
        together = await evening(client)
    assert sum(answer[0] == 200 for _, answer in alone) > len(alone) - 6
    for one, three in zip(alone, together, strict=True):
        assert three == one
