"""Refusals tell nobody that there is something of a name that they may not see (docs/contract.md, "Errors")."""

from typing import Any

import pytest

from actors.commands.table import COMMANDS
from tests.support.gateway import Answer, Client
from tests.support.operator import Cast

OF_DOMAINS = ("DM_Destroy", "DM_Read", "DM_Select", "DM_Update")
"""Commands of a domain that take the name of an agent without using it."""

OF_AGENTS = sorted(
    command.service
    for command in COMMANDS.values()
    if "target.agent" in command.uses and command.follow is None and command.service not in OF_DOMAINS
)


@pytest.fixture
async def restricted(cast: Cast, unique: str) -> Client:
    """An API key for one of the user's agents, which has founded a domain and has a bank."""
    user, own = cast.user, f"{unique}-own"
    await user.agent(own)
    (await user.command("MB_Create", vx={"name": own})).ok()
    (await user.command("DM_Create", vx={"name": own, "description": "d"})).ok()
    made = await user.request("POST", "/api/api-keys", json={"name": "scoped", "scopes": {"agents": [own]}})
    assert made.http == 201, made.body
    return user.as_user(made.body["key"], user.name)


def refusal(answer: Answer, name: str) -> dict[str, Any]:
    """Return a refusal as it is for an agent of any name."""
    assert not answer.body["status"]["success"] or not answer.profile, answer.body
    return answer.body["status"] | {"note": answer.note.replace(name, "NAME")}


@pytest.mark.parametrize("service", OF_AGENTS)
async def test_a_key_for_some_agents_does_not_tell_hidden_ones_from_none(
    cast: Cast, restricted: Client, unique: str, service: str
):
    hidden, own = f"{unique}-hidden", f"{unique}-own"
    await cast.target.agent(hidden)
    vx = {"name": "thing", "description": "d", "seq": 1, "permission": "read"}
    for place in ({}, {"domain": own, "bank": own}, {"conversation": "default"}):
        told = [
            refusal(await restricted.command(service, target=place | {"agent": name}, content="Hello", vx=vx), name)
            for name in (hidden, f"{unique}-nobody")
        ]
        assert told[0] == told[1], (service, place)


async def test_whoever_may_not_read_a_bank_is_not_told_which_memories_it_has(cast: Cast, unique: str):
    bank, target = f"{unique}-bank", cast.target
    (await target.command("MB_Create", target={"agent": cast.agent}, vx={"name": bank, "access": "public"})).ok()
    memory = {"name": "secret-plan", "description": "The plan is to leave at noon."}
    (await target.command("MB_Load", target={"bank": bank, "agent": cast.agent}, vx=memory)).ok()
    for service in ("MB_Read", "MB_Censor", "MB_Delete"):
        told = [
            (await cast.user.command(service, target={"bank": bank}, vx={"name": name})).refused(2003, 403).note
            for name in ("secret-plan", "no-such-plan")
        ]
        assert told[0] == told[1], service
