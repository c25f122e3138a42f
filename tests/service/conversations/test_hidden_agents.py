"""Conversations with an agent that its owner has hidden since (docs/contract.md, "Conversations")."""

from dataclasses import dataclass

import pytest

from tests.support.gateway import Client


@dataclass(slots=True)
class Talk:
    """A guest's conversations with another user's agent, which the guest has selected."""

    owner: Client
    guest: Client
    agent: str
    default: str
    silent: str
    """One without messages."""
    run: str

    async def hide(self, name: str | None = None) -> None:
        vx = {"access": "agent"} if name is None else {"access": "agent", "name": name}
        (await self.owner.command("AP_Modify", target={"agent": self.agent}, vx=vx)).ok()


@pytest.fixture
async def talk(user: Client, unique: str) -> Talk:
    agent, guest = f"{unique}-agent", await user.as_user().register(f"{unique}-guest")
    await user.agent(agent, access="public")
    (await guest.command("AP_Add", target={"agent": agent})).ok()
    (await guest.command("AP_Select", target={"agent": agent})).ok()
    chat = (await guest.command("AP_Chat", content="Hello")).ok()
    silent = (await guest.command("CV_Create")).ok().profile[0]["id"]
    return Talk(user, guest, agent, chat.content[0]["conversation"], silent, chat.headers["X-Run-Id"])


async def test_the_default_conversation_is_not_that_of_a_selected_agent_which_is_out_of_sight(talk: Talk):
    (await talk.guest.command("CV_Read", target={"conversation": "default"})).ok()
    await talk.hide()
    for service in ("AP_Chat", "AP_History", "CV_Read", "CV_Update", "CV_Search", "CV_Fork", "CV_Destroy"):
        body = {"target": {"conversation": "default"}, "content": "Hello", "vx": {"name": "A title"}}
        (await talk.guest.command(service, **body)).refused(3003, 409)
    record = (await talk.guest.command("CV_Read", target={"conversation": talk.default})).ok().profile[0]
    assert (record["title"], record["messages"]) == (None, 2)


async def test_the_new_name_of_an_agent_that_is_out_of_sight_is_not_told(talk: Talk, unique: str):
    new = f"{unique}-renamed"
    (await talk.owner.command("AP_Modify", target={"agent": talk.agent}, vx={"name": new})).ok()
    talk.agent = new
    for record in (await talk.guest.command("CV_List")).ok().profile:
        assert record["agent"] == new
    secret = f"{unique}-secret"
    await talk.hide(secret)
    answers = [await talk.guest.command("CV_List"), await talk.guest.command("CV_Search", content="Hello")]
    for conversation in (talk.default, talk.silent):
        target = {"conversation": conversation}
        services = ("CV_Read", "CV_Update", "CV_Fork", "AP_History", "AP_Chat")
        body = {"target": target, "content": "Hello", "vx": {"name": "A title"}}
        answers += [await talk.guest.command(service, **body) for service in services]
        answers.append(await talk.guest.command("CV_Read", target=target | {"agent": "another-agent"}))
    answers.append(await talk.guest.request("GET", f"/api/runs/{talk.run}"))
    answers.append(await talk.guest.request("GET", f"/v1/responses/{talk.run.replace('run_', 'resp_')}"))
    for answer in answers:
        assert secret not in str(answer.body)
    shown = {record["id"]: record["agent"] for record in answers[0].ok().profile}
    assert shown[talk.default] == f"{unique}-agent"
    mine = await talk.owner.command("AP_Chat", target={"agent": secret}, content="Hello")
    read = await talk.owner.command("CV_Read", target={"conversation": mine.ok().content[0]["conversation"]})
    assert read.ok().profile[0]["agent"] == secret
