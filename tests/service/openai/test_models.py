"""Agents as models."""

import pytest
from openai import AsyncOpenAI, NotFoundError
from openai.types import Model

from actors.wire import iso
from tests.support.gateway import Client


async def ids_of(client: AsyncOpenAI) -> list[str]:
    return [model.id async for model in client.models.list()]


async def test_own_agents_and_those_of_the_roster_are_models_while_they_are_online(
    openai: AsyncOpenAI, agent: str, user: Client, sanic_client: Client, unique: str
):
    other = await sanic_client.register(f"{unique}-other")
    theirs = f"{unique}-theirs"
    await other.agent(theirs, access="public")
    assert await ids_of(openai) == [agent, f"{agent}:once"]
    (await user.command("AP_Add", target={"agent": theirs})).ok()
    assert await ids_of(openai) == [agent, f"{agent}:once", theirs, f"{theirs}:once"]
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    assert await ids_of(openai) == [theirs, f"{theirs}:once"]


async def test_a_model_has_its_owner_and_the_time_of_its_making(openai: AsyncOpenAI, agent: str, user: Client):
    model = await openai.models.retrieve(agent)
    record = (await user.command("AP_Read", target={"agent": agent})).ok().profile[0]
    assert (model.id, model.object, model.owned_by) == (agent, "model", user.name)
    assert iso(model.created * 1000)[:19] == record["created_at"][:19]
    assert (await openai.models.retrieve(f"{agent}:once")).id == f"{agent}:once"
    assert (await openai.models.retrieve(agent.upper())).id == agent


async def test_a_model_may_be_percent_encoded_in_the_path(openai: AsyncOpenAI, agent: str):
    for path in (f"{agent}%3Aonce", f"%{ord(agent[0]):x}{agent[1:]}%3aonce"):
        assert (await openai.get(f"/models/{path}", cast_to=Model)).id == f"{agent}:once"
    for path, name in ((f"{agent}%20", f"{agent} "), ("a%2Fb", "a/b"), ("a%00", "a%00"), ("%ff", "%ff")):
        with pytest.raises(NotFoundError) as refused:
            await openai.get(f"/models/{path}", cast_to=Model)
        assert f"`{name}`" in refused.value.message


async def test_a_public_agent_is_a_model_that_is_not_listed(openai: AsyncOpenAI, sanic_client: Client, unique: str):
    other = await sanic_client.register(f"{unique}-other")
    await other.agent(f"{unique}-theirs", access="public")
    await other.agent(f"{unique}-hidden")
    assert (await openai.models.retrieve(f"{unique}-theirs")).id == f"{unique}-theirs"
    for name in (f"{unique}-hidden", f"{unique}-hidden:once", "nobody", "x"):
        with pytest.raises(NotFoundError) as refused:
            await openai.models.retrieve(name)
        assert refused.value.code == "model_not_found"


async def test_an_offline_agent_is_no_model(openai: AsyncOpenAI, agent: str, user: Client):
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    with pytest.raises(NotFoundError):
        await openai.models.retrieve(agent)


async def test_reading_models_is_not_counted(openai: AsyncOpenAI, agent: str, user: Client):
    def used(profile: list[dict[str, dict[str, int]]]) -> int:
        return profile[0]["quota"]["used"]

    before = used((await user.command("US_Read")).ok().profile)
    await ids_of(openai)
    await openai.models.retrieve(agent)
    assert used((await user.command("US_Read")).ok().profile) == before + 1
