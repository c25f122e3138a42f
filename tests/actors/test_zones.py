"""Zones: the messages of a domain (docs/contract.md, "Zones")."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from actors.domains.messages import DOMAIN
from actors.runtime.notices import Reload
from tests.gateways.gate import Gate
from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.in_process import CoreGateway
from tests.support.operator import on_plan
from tests.support.workspaces import Workspace, move, opened, opened_with_a_guest, post, said_in


@pytest.fixture
async def workspace(sanic_client: Client, unique: str) -> Workspace:
    owner = await on_plan(await sanic_client.register(f"{unique}-owner"), "scale")
    return await opened(owner, await sanic_client.register(f"{unique}-guest"), f"{unique}-domain")


@pytest.fixture
async def stranger(sanic_client: Client, unique: str) -> Client:
    return await sanic_client.register(f"{unique}-stranger")


async def test_what_one_posts_all_members_read(workspace: Workspace):
    posted = (await post(workspace.guest, workspace.domain, "Clear skies.")).ok().content
    assert posted[0] | {"id": "", "at": ""} == {
        "id": "",
        "role": "user",
        "name": workspace.guest.name,
        "content": "Clear skies.",
        "at": "",
        "zone": "lobby",
        "conversation": None,
        "seq": 1,
        "mark": None,
        "sources": [],
    }
    read = (await workspace.owner.command("ZN_Read", target={"domain": workspace.domain})).ok()
    assert read.content == posted
    (zone,) = read.profile
    assert zone | {"created_at": ""} == {
        "id": zone["id"],
        "name": "lobby",
        "domain": workspace.domain,
        "messages": 1,
        "last_seq": 1,
        "created_at": "",
    }
    assert zone["id"].startswith("zon_")


async def test_many_posts_at_once_have_sequence_numbers_without_gaps(workspace: Workspace):
    texts = [f"message {number}" for number in range(60)]
    answers = await asyncio.gather(
        *(post((workspace.owner, workspace.guest)[n % 2], workspace.domain, text) for n, text in enumerate(texts))
    )
    posted = {answer.ok().content[0]["seq"]: answer.content[0]["content"] for answer in answers}
    assert sorted(posted) == list(range(1, 61))
    pages: list[tuple[int, str]] = []
    cursor = None
    for _ in range(3):
        page = {"limit": 25, "cursor": cursor}
        answer = (await workspace.owner.command("ZN_Read", target={"domain": workspace.domain}, page=page)).ok()
        pages = [(message["seq"], message["content"]) for message in answer.content] + pages
        cursor = answer.next
    assert cursor is None
    assert pages == sorted(posted.items())


async def test_a_zone_is_read_forward_from_a_seq(workspace: Workspace):
    target = {"domain": workspace.domain}
    for number in range(1, 8):
        (await post(workspace.owner, workspace.domain, f"message {number}")).ok()

    async def page(**page: Any) -> tuple[list[int], str | None]:
        answer = (await workspace.guest.command("ZN_Read", target=target, page=page)).ok()
        return [message["seq"] for message in answer.content], answer.next

    seqs, forward = await page(after=1, limit=3)
    assert seqs == [2, 3, 4]
    assert await page(after=4, limit=3) == ([5, 6, 7], None)
    seqs, last = await page(cursor=forward, limit=2)  # the cursor holds its direction
    assert seqs == [5, 6]
    assert await page(cursor=last, limit=2, after=1) == ([7], None)
    assert await page(after=7) == await page(after=99) == ([], None)
    assert await page(after=0) == await page() == (list(range(1, 8)), None)
    seqs, back = await page(limit=3)
    assert seqs == [5, 6, 7]
    assert (await page(limit=3, cursor=back, after=6))[0] == [2, 3, 4]
    for wrong in (-1, "1", 1.5, 2**60):
        answer = await workspace.guest.command("ZN_Read", target=target, page={"after": wrong})
        answer.refused(1003, 400)
        assert "page.after" in answer.note
    crafted = base64.urlsafe_b64encode(b'["ZN_Read","x"]').decode()
    (await workspace.guest.command("ZN_Read", target=target, page={"cursor": crafted})).refused(1003, 400)


async def test_a_chat_in_a_zone_goes_to_its_stream(workspace: Workspace):
    target = {"domain": workspace.domain, "agent": workspace.owner_agent}
    answer = await workspace.owner.command("AP_Chat", target=target, content="When is the telescope open?")
    message, reply = answer.ok().content
    assert (message["zone"], message["seq"], reply["zone"], reply["seq"]) == ("lobby", 1, "lobby", 2)
    assert (reply["role"], reply["name"]) == ("agent", workspace.owner_agent)
    assert "Friday" in reply["content"]
    assert reply["sources"]
    assert [said[1] for said in await said_in(workspace.guest, workspace.domain)] == [
        workspace.owner.name,
        workspace.owner_agent,
    ]
    private = (await workspace.owner.command("AP_History", target={"agent": workspace.owner_agent})).ok()
    assert private.content == []


async def test_an_agent_recalls_what_others_said_in_the_zone(workspace: Workspace):
    (await post(workspace.guest, workspace.domain, "The spare key is under the third stone.")).ok()
    target = {"domain": workspace.domain}
    answer = (await workspace.owner.command("AP_Chat", target=target, content="Where is the spare key?")).ok()
    assert "third stone" in answer.content[1]["content"]
    assert answer.content[1]["sources"][0]["conversation"] == "lobby"


async def test_a_message_that_names_an_online_member_gets_its_reply(workspace: Workspace):
    question = f"@{workspace.guest_agent} what does the dome need?"
    assert len((await post(workspace.owner, workspace.domain, question)).ok().content) == 1
    said = await said_in(workspace.owner, workspace.domain)
    assert [name for _, name, _ in said] == [workspace.owner.name, workspace.guest_agent]
    assert "oil" in said[1][2]
    target = {"domain": workspace.domain, "agent": workspace.owner_agent}
    both = (await workspace.owner.command("AP_Chat", target=target, content=question)).ok().content
    assert [message["seq"] for message in both] == [3, 4]
    said = await said_in(workspace.owner, workspace.domain)
    assert [name for _, name, _ in said[2:]] == [workspace.owner.name, workspace.owner_agent, workspace.guest_agent]


async def members_named(workspace: Workspace, count: int) -> list[str]:
    """Bring online agents of the owner into the domain; return their names."""
    names = [f"{workspace.domain}-m{number}" for number in range(count)]
    for name in names:
        await workspace.owner.agent(name)
        (await move(workspace.owner, "DM_Invite", workspace.domain, name)).ok()
        (await move(workspace.owner, "DM_Join", workspace.domain, name)).ok()
    return names


async def repliers(workspace: Workspace, said: int) -> list[str]:
    """Return the names of those who spoke after the first messages of the lobby."""
    return [name for _, name, _ in (await said_in(workspace.owner, workspace.domain))[said:]]


async def test_the_first_five_online_members_that_a_message_names_reply_in_that_order(workspace: Workspace):
    names = await members_named(workspace, 6)
    (await workspace.owner.command("AP_LogOff", target={"agent": names[0]})).ok()
    ghosts = " ".join(f"@ghost-{number}" for number in range(100))
    named = [workspace.guest_agent, *reversed(names), workspace.owner_agent]
    mentions = " ".join(f"@{name.upper()} @{name}" for name in named)
    (await post(workspace.owner, workspace.domain, f"{ghosts} {mentions} who is there?")).ok()
    assert await repliers(workspace, 1) == [workspace.guest_agent, *reversed(names[2:])]


async def test_the_agent_that_a_message_is_addressed_to_is_none_of_the_five_that_it_names(workspace: Workspace):
    names = await members_named(workspace, 5)
    named = {"agent": workspace.owner_agent, "domain": workspace.domain}
    content = " ".join(f"@{name}" for name in (workspace.owner_agent, *names))
    (await workspace.owner.command("AP_Chat", target=named, content=content)).ok()
    assert await repliers(workspace, 1) == [workspace.owner_agent, *names]


async def test_an_at_sign_within_a_word_or_an_address_names_nobody(workspace: Workspace):
    name = workspace.owner_agent
    text = f"mail@{name} x1@{name} ü@{name} _@{name} https://example.org/@{name}/post"
    (await post(workspace.owner, workspace.domain, text)).ok()
    assert await repliers(workspace, 1) == []
    (await post(workspace.owner, workspace.domain, f"(@{name}, are you there?)")).ok()
    assert await repliers(workspace, 2) == [name]


async def test_agents_that_are_offline_or_no_members_don_t_reply_to_their_names(workspace: Workspace, unique: str):
    outsider = f"{unique}-outsider"
    await workspace.owner.agent(outsider, select=False)
    (await workspace.guest.command("AP_LogOff", target={"agent": workspace.guest_agent})).ok()
    text = f"@{workspace.guest_agent} @{outsider} @nobody-at-all @ @@ who is there?"
    (await post(workspace.owner, workspace.domain, text)).ok()
    assert len(await said_in(workspace.owner, workspace.domain)) == 1


async def test_who_names_an_agent_that_is_elsewhere_leaves_the_selected_zone(workspace: Workspace, unique: str):
    owner = workspace.owner
    await owner.agent(f"{unique}-hermit", select=False)
    (await owner.command("DM_Select", target={"domain": workspace.domain})).ok()
    in_zone = (await owner.command("AP_Chat", content="Good evening.")).ok()
    assert in_zone.content[0]["zone"] == "lobby"
    private = (await owner.command("AP_Chat", target={"agent": f"{unique}-hermit"}, content="Just us.")).ok()
    assert [message["zone"] for message in private.content] == [None, None]
    named = {"agent": f"{unique}-hermit", "domain": workspace.domain}
    (await owner.command("AP_Chat", target=named, content="Here?")).refused(3002, 409)


async def test_a_selected_zone_that_its_user_has_left_keeps_no_other_chat(workspace: Workspace):
    owner, guest, domain = workspace.owner, workspace.guest, workspace.domain
    change = {"name": domain, "description": "d", "access": "public"}
    (await owner.command("DM_Update", target={"domain": domain}, vx=change)).ok()
    (await owner.command("AP_Modify", target={"agent": workspace.owner_agent}, vx={"access": "public"})).ok()
    (await guest.command("DM_Select", target={"domain": domain})).ok()
    (await owner.command("DM_Kick", target={"domain": domain, "agent": workspace.guest_agent})).ok()
    (await guest.command("AP_Chat", content="Hello")).refused(2003, 403)
    (await guest.command("AP_Chat", target={"agent": workspace.owner_agent}, content="Hello")).refused(2003, 403)
    private = (await guest.command("AP_Chat", target={"agent": workspace.guest_agent}, content="Just us.")).ok()
    assert [message["zone"] for message in private.content] == [None, None]
    named = {"agent": workspace.guest_agent, "domain": domain}
    (await guest.command("AP_Chat", target=named, content="Here?")).refused(2003, 403)


async def test_what_a_chat_in_a_zone_needs(workspace: Workspace, stranger: Client, unique: str):
    target = {"domain": workspace.domain}
    outsider = f"{unique}-outsider"
    await workspace.owner.agent(outsider, select=False)
    constraint_errors: list[tuple[Client, dict[str, str], int, int]] = [
        (workspace.owner, {"agent": outsider}, 3002, 409),
        (workspace.owner, {"zone": "no-such-zone"}, 3000, 404),
        (workspace.owner, {"domain": "no-such-domain"}, 3000, 404),
        (stranger, {"agent": workspace.guest_agent}, 3000, 404),
    ]
    for user, more, code, http_code in constraint_errors:
        (await user.command("AP_Chat", target=target | more, content="Hello")).refused(code, http_code)
    (await workspace.guest.command("AP_LogOff", target={"agent": workspace.guest_agent})).ok()
    offline = target | {"agent": workspace.guest_agent}
    (await workspace.owner.command("AP_Chat", target=offline, content="Hello")).refused(3002, 409)
    assert await said_in(workspace.owner, workspace.domain) == []


async def test_only_who_has_a_member_reads_and_posts(workspace: Workspace, stranger: Client):
    change = {"name": workspace.domain, "description": "d", "access": "public"}
    target = {"domain": workspace.domain}
    for service in ("ZN_Read", "ZN_Post", "ZN_Select"):
        (await stranger.command(service, target=target, content="x")).refused(3000, 404)
    (await workspace.owner.command("DM_Update", target=target, vx=change)).ok()
    for service in ("ZN_Read", "ZN_Post", "ZN_Select", "ZN_Create", "ZN_Destroy"):
        answer = await stranger.command(service, target=target, content="x", vx={"name": "strange-zone"})
        answer.refused(2003, 403)
    assert [zone["name"] for zone in (await stranger.command("ZN_List", target=target)).ok().profile] == ["lobby"]
    kicked = {"domain": workspace.domain, "agent": workspace.guest_agent}
    (await workspace.owner.command("DM_Kick", target=kicked)).ok()
    (await workspace.guest.command("ZN_Read", target=target)).refused(2003, 403)


async def test_zones_are_made_listed_and_destroyed(workspace: Workspace):
    target = {"domain": workspace.domain}
    for name in ("nightly", "nights-off", "daily"):
        made = (await workspace.guest.command("ZN_Create", target=target, vx={"name": name})).ok().profile[0]
        assert (made["name"], made["domain"], made["messages"]) == (name, workspace.domain, 0)
    (await workspace.guest.command("ZN_Create", target=target, vx={"name": "NIGHTLY"})).refused(3001, 409)
    (await workspace.guest.command("ZN_Create", target=target, vx={"name": "no"})).refused(1003, 400)
    (await workspace.guest.command("ZN_Create", target=target, vx={"name": "dusk"})).refused(2004, 403)
    (await workspace.guest.command("ZN_Create", target=target)).refused(1002, 400)
    (await workspace.owner.command("ZN_Create", target=target, vx={"name": "dusk"})).ok()

    async def names(**more: Any) -> list[str]:
        return [zone["name"] for zone in (await workspace.guest.command("ZN_List", **more)).ok().profile]

    assert await names(target=target) == ["lobby", "nightly", "nights-off", "daily", "dusk"]
    assert await names(target=target | {"zone": "NIGHT"}) == ["nightly", "nights-off"]
    assert await names(target=target, page={"limit": 2}) == ["lobby", "nightly"]
    (await post(workspace.guest, workspace.domain, "Hello", zone="Nightly")).ok()
    assert await said_in(workspace.owner, workspace.domain) == []
    gone = target | {"zone": "nightly"}
    (await workspace.guest.command("ZN_Destroy", target=gone)).refused(2003, 403)
    (await workspace.owner.command("ZN_Destroy", target=target | {"zone": "lobby"})).refused(3002, 409)
    (await workspace.owner.command("ZN_Destroy", target=gone)).ok()
    (await workspace.guest.command("ZN_Read", target=gone)).refused(3000, 404)
    (await workspace.owner.command("ZN_Create", target=target, vx={"name": "nightly"})).ok()
    assert await said_in(workspace.owner, workspace.domain, zone="nightly") == []


async def test_a_selected_zone_takes_what_is_said(workspace: Workspace):
    target = {"domain": workspace.domain, "zone": "nightly"}
    (await workspace.owner.command("ZN_Create", target={"domain": workspace.domain}, vx={"name": "nightly"})).ok()
    selected = (await workspace.owner.command("ZN_Select", target=target)).ok()
    assert (selected.context["domain"], selected.context["zone"]) == (workspace.domain, "nightly")
    assert (await workspace.owner.command("AP_Chat", content="Hello")).ok().content[1]["zone"] == "nightly"
    assert (await workspace.owner.command("ZN_Post", content="Bye")).ok().content[0]["seq"] == 3
    assert (await workspace.owner.command("ZN_Read")).ok().profile[0]["name"] == "nightly"
    (await workspace.owner.command("ZN_Destroy")).ok()
    assert (await workspace.owner.command("US_Read")).ok().context["zone"] is None
    assert (await workspace.owner.command("AP_Chat", content="Hello")).ok().content[1]["zone"] is None
    (await workspace.owner.command("DM_Select", target={"domain": workspace.domain})).ok()
    assert (await workspace.owner.command("AP_Chat", content="Hello")).ok().content[1]["zone"] == "lobby"
    (await workspace.owner.command("DM_Destroy")).ok()
    assert (await workspace.owner.command("AP_Chat", content="Hello")).ok().content[1]["zone"] is None
    (await workspace.owner.command("ZN_Post", content="Hello")).refused(3003, 409)


# slow engines


async def test_while_an_engine_is_at_work_others_speak(scripted_user: Client, gate: Gate, unique: str):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain}
    slow = asyncio.create_task(scripted_user.command("AP_Chat", target=target, content=f"wait:{gate} say:done"))
    await gate.reached()
    quick = (await workspace.guest.command("AP_Chat", target=target, content="say:quick")).ok()
    assert [message["seq"] for message in quick.content] == [2, 3]
    assert (await post(workspace.guest, workspace.domain, "meanwhile")).ok().content[0]["seq"] == 4
    gate.open()
    message, reply = (await slow).ok().content
    assert (message["seq"], reply["seq"], reply["content"]) == (1, 5, "done")
    assert [seq for seq, *_ in await said_in(workspace.guest, workspace.domain)] == [1, 2, 3, 4, 5]


async def test_a_domain_that_is_reloaded_answers_the_chats_that_wait(
    scripted_server: CoreGateway, scripted_user: Client, gate: Gate, unique: str
):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain}
    slow = asyncio.create_task(scripted_user.command("AP_Chat", target=target, content=f"wait:{gate} say:done"))
    await gate.reached()
    (domain,) = (await scripted_user.command("DM_Read", target=target)).ok().profile
    await scripted_server.core.directory.announce([Reload(DOMAIN, (domain["id"],))])
    answer = (await asyncio.wait_for(slow, 30)).refused(5003, 503)
    assert "ZN_Read" in answer.note
    gate.open()
    assert [seq for seq, *_ in await said_in(scripted_user, workspace.domain)] == [1]


@pytest.mark.parametrize("end", ["DM_Destroy", "AP_Destroy", "US_Destroy"])
async def test_chats_that_wait_in_a_domain_that_is_destroyed_end_as_those_that_come_later(
    scripted_user: Client, gate: Gate, unique: str, end: str
):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain, "agent": workspace.guest_agent}

    def chat(content: str) -> asyncio.Task[Answer]:
        return asyncio.create_task(workspace.guest.command("AP_Chat", target=target, content=content))

    waiting = chat(f"wait:{gate} say:done")
    await gate.reached()
    gone = {"DM_Destroy": {"domain": workspace.domain}, "AP_Destroy": {"agent": workspace.owner_agent}}.get(end, {})
    (await scripted_user.command(end, target=gone, vx={"secret": PASSWORD})).ok()
    ended, later = await waiting, await chat("say:never")
    assert ended.refused(3000, 404).note == later.refused(3000, 404).note


async def test_a_zone_that_is_destroyed_ends_the_chats_that_wait_there_and_only_them(
    scripted_user: Client, gate: Gate, tmp_path: Path, unique: str
):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target, other = {"domain": workspace.domain}, Gate(tmp_path / "other")
    (await scripted_user.command("ZN_Create", target=target, vx={"name": "nightly"})).ok()

    def chat(content: str, zone: str) -> asyncio.Task[Answer]:
        return asyncio.create_task(workspace.guest.command("AP_Chat", target=target | {"zone": zone}, content=content))

    in_lobby, waiting = chat(f"wait:{other} say:done", "lobby"), chat(f"wait:{gate} say:done", "nightly")
    for reached in (gate, other):
        await reached.reached()
    (await scripted_user.command("ZN_Destroy", target=target | {"zone": "nightly"})).ok()
    ended = await asyncio.wait_for(waiting, 30)  # the gate stays shut
    assert ended.refused(3000, 404).note == (await chat("say:never", "nightly")).refused(3000, 404).note
    other.open()
    assert (await in_lobby).ok().content[1]["content"] == "done"


async def test_an_agent_that_is_destroyed_elsewhere_cuts_no_chat(scripted_user: Client, gate: Gate, unique: str):
    workspace = await opened_with_a_guest(scripted_user, unique)
    await workspace.guest.agent(f"{unique}-elsewhere")
    target = {"domain": workspace.domain}
    slow = asyncio.create_task(scripted_user.command("AP_Chat", target=target, content=f"wait:{gate} say:done"))
    await gate.reached()
    (await workspace.guest.command("AP_Destroy", target={"agent": f"{unique}-elsewhere"})).ok()
    gate.open()
    assert (await slow).ok().content[1]["content"] == "done"


async def test_a_failed_engine_leaves_the_message(scripted_user: Client, unique: str):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain}
    (await scripted_user.command("AP_Chat", target=target, content="fail")).refused(5001, 502)
    assert [text for *_, text in await said_in(scripted_user, workspace.domain)] == ["fail"]


# banks


async def test_agents_recall_their_banks_in_zones_and_censored_words_leave_these_too(workspace: Workspace):
    owner, bank = workspace.owner, f"{workspace.domain}-bank"
    target = {"bank": bank, "agent": workspace.owner_agent}
    (await owner.command("MB_Create", target=target, vx={"name": bank, "description": "d"})).ok()
    fact = "The observatory's comet is called Zyzzyva."
    (await owner.command("MB_Load", target=target, vx={"name": "comet"}, content=fact)).ok()
    place = {"domain": workspace.domain, "agent": workspace.owner_agent}
    question = "What is the observatory's comet called?"
    _, reply = (await owner.command("AP_Chat", target=place, content=question)).ok().content
    assert reply["sources"] == [{"bank": bank, "name": "comet", "quote": fact}]
    (await owner.command("MB_Censor", target={"bank": bank}, vx={"name": "comet"})).ok()
    said = (await workspace.guest.command("ZN_Read", target=place)).ok()
    assert "Zyzzyva" not in str(said.content)
    assert said.content[1]["sources"][0]["quote"] == "[censored]"
    again = (await owner.command("AP_Chat", target=place, content=question)).ok()
    assert "Zyzzyva" not in str(again.content)


async def test_a_bank_that_the_speaker_may_not_see_is_not_quoted_to_it(workspace: Workspace):
    owner, bank = workspace.owner, f"{workspace.domain}-bank"
    target = {"bank": bank, "agent": workspace.owner_agent}
    (await owner.command("MB_Create", target=target, vx={"name": bank, "description": "d"})).ok()
    vx = {"name": "comet"}
    (await owner.command("MB_Load", target=target, vx=vx, content="The observatory's comet is called Zyzzyva.")).ok()
    question = f"@{workspace.owner_agent} what is the observatory's comet called?"
    (await post(workspace.guest, workspace.domain, question)).ok()
    (await post(owner, workspace.domain, question)).ok()
    replies = [text for _, name, text in await said_in(owner, workspace.domain) if name == workspace.owner_agent]
    assert ["Zyzzyva" in text for text in replies] == [False, True]
