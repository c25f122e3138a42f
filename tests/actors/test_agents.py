"""Agents, the roster, selection, chat and history (docs/contract.md, "Agents")."""

import asyncio
import base64
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import PASSWORD, Answer, Client
from tests.support.in_process import CommandClient, CoreGateway, commanded
from tests.support.operator import live_actor, on_plan

OWNER_S_COMMANDS = {
    "AP_Update": {"vx": {"name": "another-name", "description": "d"}},
    "AP_Modify": {"vx": {"description": "d"}},
    "AP_LogOn": {},
    "AP_LogOff": {},
    "AP_Destroy": {},
}


@pytest.fixture
async def other(sanic_client: Client, unique: str) -> Client:
    """A second user, logged on."""
    return await sanic_client.register(f"{unique}-other")


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"


def names_in(answer: Answer) -> list[str]:
    return [agent["name"] for agent in answer.ok().profile]


async def listed(user: Client, **body: Any) -> list[str]:
    return names_in(await user.command("AP_List", **body))


async def selected(user: Client) -> str | None:
    return (await user.command("US_Read")).ok().context["agent"]


async def record(user: Client, name: str) -> dict[str, Any]:
    return (await user.command("AP_Read", target={"agent": name})).ok().profile[0]


async def all_pages(user: Client, service: str, part: str, limit: int, **body: Any) -> list[list[Any]]:
    """Follow the cursors to the end."""
    pages: list[list[Any]] = []
    cursor = None
    while True:
        answer = (await user.command(service, page={"limit": limit, "cursor": cursor}, **body)).ok()
        pages.append(answer.body[part])
        if (cursor := answer.next) is None:
            return pages


# AP_Create


async def test_a_created_agent_is_the_user_s_offline_and_for_its_owner_alone(user: Client, name: str):
    answer = (await user.command("AP_Create", vx={"name": name, "description": "Finds things out"})).ok()
    (made,) = answer.profile
    assert re.fullmatch(r"agt_[0-9a-f]{32}", made.pop("id"))
    assert made.pop("created_at") == made.pop("updated_at")
    assert made == {
        "name": name,
        "owner": user.name,
        "description": "Finds things out",
        "profile": None,
        "access": "agent",
        "state": "offline",
    }
    assert answer.context["agent"] is None  # to create is not to select
    assert await listed(user) == [name]


@pytest.mark.parametrize("access", ["public", "domain", "bank", "agent"])
async def test_an_agent_keeps_the_access_and_profile_that_it_is_given(user: Client, name: str, access: str):
    made = await user.agent(name, access=access, profile="Knows a lot")
    assert (made["access"], made["profile"]) == (access, "Knows a lot")
    assert (await record(user, name))["access"] == access


async def test_target_user_of_a_creation_is_oneself_or_nobody(user: Client, other: Client, name: str):
    vx = {"name": name, "description": "d"}
    for owner in (other.name, "nobody-at-all"):
        (await user.command("AP_Create", target={"user": owner}, vx=vx)).refused(2003, 403)
    (await user.command("AP_Create", target={"user": user.name.upper()}, vx=vx)).ok()


async def test_agent_names_are_unique_in_the_gateway_in_any_case(user: Client, other: Client, name: str):
    await user.agent(name)
    for client in (user, other):
        for taken in (name, name.upper(), name.title()):
            vx = {"name": taken, "description": "d"}
            assert "taken" in (await client.command("AP_Create", vx=vx)).refused(3001, 409).note
    assert await listed(other) == []


async def test_two_hundred_concurrent_creations_of_one_name_make_one_agent(user: Client, name: str):
    await on_plan(user, "builder")
    vx = {"name": name, "description": "d"}
    answers = await asyncio.gather(*(user.command("AP_Create", vx=vx) for _ in range(200)))
    assert sorted(answer.code for answer in answers) == [0, *[3001] * 199]
    assert await listed(user) == [name]


# AP_Read, and who sees an agent


async def test_read_answers_one_agent_and_its_standing(user: Client, name: str):
    await user.agent(name, select=False)
    (await user.command("AP_Chat", target={"agent": name}, content="Hello")).ok()
    answer = (await user.command("AP_Read", target={"agent": name.upper()})).ok()
    assert [agent["name"] for agent in answer.profile] == [name]
    assert answer.content == [{"state": "online", "domains": [], "banks": [], "offers": [], "messages": 2}]


@pytest.mark.parametrize("access", ["domain", "bank", "agent"])
async def test_an_agent_that_one_may_not_see_is_not_there(user: Client, other: Client, name: str, access: str):
    await user.agent(name, access=access)
    notes = set()
    for target in (name, "never-was"):
        for service in (*OWNER_S_COMMANDS, "AP_Read", "AP_Add", "AP_Remove", "AP_Select", "AP_Chat", "AP_History"):
            body = {"content": "Hello"} | OWNER_S_COMMANDS.get(service, {})
            answer = (await other.command(service, target={"agent": target}, **body)).refused(3000, 404)
            notes.add((service, answer.note))
    assert len(notes) == len(OWNER_S_COMMANDS) + 6  # both get the same note
    assert await listed(other, target={"user": user.name}) == []
    assert (await record(user, name))["state"] == "online"


@pytest.mark.parametrize(("service", "body"), OWNER_S_COMMANDS.items(), ids=OWNER_S_COMMANDS)
async def test_only_the_owner_changes_an_agent_that_others_see(
    user: Client, other: Client, name: str, service: str, body: dict[str, Any]
):
    await user.agent(name, access="public")
    before = await record(other, name)
    (await other.command(service, target={"agent": name}, **body)).refused(2003, 403)
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await other.command("AP_Select", target={"agent": name})).ok()
    (await other.command(service, **body)).refused(2003, 403)
    assert await record(other, name) == before


async def test_target_user_must_be_the_agent_s_owner(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    (await other.command("AP_Read", target={"agent": name, "user": user.name.upper()})).ok()
    (await other.command("AP_Read", target={"agent": name, "user": "nobody"})).refused(3000, 404)


# AP_LogOn, AP_LogOff


async def test_log_on_and_log_off_change_the_state_once_and_succeed_again(user: Client, name: str):
    await user.agent(name, online=False)
    for service, state in (("AP_LogOn", "online"), ("AP_LogOff", "offline")):
        first, second = [(await user.command(service)).ok().profile[0] for _ in range(2)]
        assert first["state"] == state
        assert second == first  # nothing changed, updated_at neither
        assert (await record(user, name))["state"] == state


async def test_an_agent_stays_online_when_its_owner_logs_off(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    (await user.command("US_LogOff")).ok()
    assert (await record(other, name))["state"] == "online"
    (await other.command("AP_Chat", target={"agent": name}, content="Hello")).ok()


# AP_Update, AP_Modify


async def test_update_replaces_name_and_description_and_leaves_absent_profile_and_access(user: Client, name: str):
    made = await user.agent(name, profile="p", access="public")
    vx = {"name": f"{name}-2", "description": "new"}
    answer = (await user.command("AP_Update", vx=vx)).ok()
    (changed,) = answer.profile
    assert changed["updated_at"] > made["updated_at"]
    unchanged = made | {"name": f"{name}-2", "description": "new", "state": "online"}
    assert changed | {"updated_at": made["updated_at"]} == unchanged
    assert answer.context["agent"] == f"{name}-2"
    (changed,) = (await user.command("AP_Update", vx=vx | {"profile": "q", "access": "agent"})).ok().profile
    assert (changed["profile"], changed["access"]) == ("q", "agent")


@pytest.mark.parametrize(
    "vx",
    [{"description": "new"}, {"profile": "new"}, {"access": "public"}, {"name": "{name}-new"}],
    ids=lambda vx: next(iter(vx)),
)
async def test_modify_changes_just_what_is_given(user: Client, name: str, vx: dict[str, str]):
    made = await user.agent(name, profile="p", online=False)
    vx = {member: text.format(name=name) for member, text in vx.items()}
    (changed,) = (await user.command("AP_Modify", vx=vx)).ok().profile
    assert changed | {"updated_at": ""} == made | vx | {"updated_at": ""}
    assert await record(user, vx.get("name", name)) == changed


@pytest.mark.parametrize("body", [{}, {"vx": {}}, {"vx": {"name": "", "profile": None}}, {"vx": {"secret": PASSWORD}}])
async def test_modify_of_nothing_is_refused(user: Client, name: str, body: dict[str, Any]):
    await user.agent(name)
    assert "vx" in (await user.command("AP_Modify", **body)).refused(1003, 400).note


async def test_a_renamed_agent_is_found_by_its_new_name_alone_everywhere(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    (await user.command("AP_Chat", content="My dog is called Rex.")).ok()
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await other.command("AP_Select", target={"agent": name})).ok()
    (await user.command("AP_Modify", vx={"name": f"{name}-2"})).ok()
    for client in (user, other):
        (await client.command("AP_Read", target={"agent": name})).refused(3000, 404)
        assert (await client.command("AP_Read", target={"agent": f"{name}-2"})).ok().profile
        assert await selected(client) == f"{name}-2"
        assert await listed(client) == [f"{name}-2"]
    said = [message["name"] for message in (await user.command("AP_History")).ok().content]
    assert said == [user.name, name]  # the author's name at that time
    await other.agent(name)  # the old name is free


async def test_a_name_may_change_in_case_alone_but_not_to_another_s(user: Client, name: str):
    await user.agent(f"{name}-taken")
    await user.agent(name)
    (await user.command("AP_Modify", vx={"name": f"{name}-TAKEN"})).refused(3001, 409)
    (await user.command("AP_Modify", vx={"name": "-"})).refused(1003, 400)
    assert await selected(user) == name
    (await user.command("AP_Modify", vx={"name": name.upper()})).ok()
    assert (await record(user, name))["name"] == name.upper()


async def test_two_agents_that_swap_names_through_a_third_are_never_mixed_up(user: Client, unique: str):
    one, two = f"{unique}-one", f"{unique}-two"
    ids = {name: (await user.agent(name))["id"] for name in (one, two)}
    for old, new in ((one, f"{unique}-tmp"), (two, one), (f"{unique}-tmp", two)):
        (await user.command("AP_Modify", target={"agent": old}, vx={"name": new})).ok()
    assert (await record(user, one))["id"] == ids[two]
    assert (await record(user, two))["id"] == ids[one]


# the roster


async def test_another_s_public_agent_is_added_listed_and_removed(user: Client, other: Client, name: str):
    made = await user.agent(name, access="public", online=False)
    for _ in range(2):  # a repeat succeeds
        assert (await other.command("AP_Add", target={"agent": name.upper()})).ok().profile == [made]
    assert await listed(other) == [name]
    (await other.command("AP_Remove", target={"agent": name})).ok()
    assert await listed(other) == []
    (await other.command("AP_Remove", target={"agent": name})).refused(3002, 409)
    assert await listed(user) == [name]


async def test_a_removal_from_one_roster_leaves_the_others(
    user: Client, other: Client, sanic_client: Client, name: str
):
    await user.agent(name, access="public")
    third = await sanic_client.register(f"{name}-third")
    for client in (other, third):
        (await client.command("AP_Add", target={"agent": name})).ok()
        (await client.command("AP_Select", target={"agent": name})).ok()
    (await other.command("AP_Remove", target={"agent": name})).ok()
    assert await listed(third) == [name]
    assert await selected(third) == name


async def test_a_removal_from_a_roster_leaves_another_user_s_selection_over_a_restart(tmp_path: Path):
    async with commanded(tmp_path) as gateway, gateway.client() as client:
        owner, other, third = [await client.register(f"user-{number}") for number in range(3)]
        await owner.agent("scout-agent", access="public")
        for user in (other, third):
            (await user.command("AP_Add", target={"agent": "scout-agent"})).ok()
            (await user.command("AP_Select", target={"agent": "scout-agent"})).ok()
        (await other.command("AP_Remove", target={"agent": "scout-agent"})).ok()
    async with commanded(tmp_path) as gateway:
        again = [CommandClient(gateway, user.token, user.name) for user in (owner, other, third)]
        assert [await selected(user) for user in again] == ["scout-agent", None, "scout-agent"]
        assert [await listed(user) for user in again] == [["scout-agent"], [], ["scout-agent"]]


async def test_an_own_agent_needs_no_roster(user: Client, name: str):
    await user.agent(name)
    (await user.command("AP_Add", target={"agent": name})).ok()
    assert await listed(user) == [name]
    (await user.command("AP_Remove", target={"agent": name})).refused(3002, 409)
    assert await listed(user) == [name]


async def test_removal_from_the_roster_unselects_in_every_session_of_the_user(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    again = await other.log_on(other.name)
    (await other.command("AP_Add", target={"agent": name})).ok()
    for client in (other, again):
        (await client.command("AP_Select", target={"agent": name})).ok()
    assert (await other.command("AP_Remove", target={"agent": name})).ok().context["agent"] is None
    assert [await selected(client) for client in (other, again)] == [None, None]
    assert await selected(user) == name


async def test_an_agent_made_private_leaves_sight_and_comes_back_with_its_place_on_the_roster(
    user: Client, other: Client, name: str
):
    await user.agent(name, access="public")
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await other.command("AP_Select", target={"agent": name})).ok()
    (await user.command("AP_Modify", vx={"access": "agent"})).ok()
    assert await listed(other) == []
    assert await selected(other) is None
    (await other.command("AP_Chat", content="Hello")).refused(3003, 409)
    (await other.command("AP_Read", target={"agent": name})).refused(3000, 404)
    (await user.command("AP_Modify", vx={"access": "public"})).ok()
    assert await listed(other) == [name]


async def test_an_agent_out_of_sight_can_still_be_taken_off_the_roster(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await user.command("AP_Modify", vx={"access": "agent"})).ok()
    (await other.command("AP_Remove", target={"agent": name})).ok()
    (await user.command("AP_Modify", vx={"access": "public"})).ok()
    assert await listed(other) == []


async def test_the_selected_agent_is_the_target_only_if_it_is_the_named_user_s(user: Client, name: str, unique: str):
    made = await user.agent(name)
    for service in ("AP_Read", "AP_History", "AP_Update", "AP_Modify", "AP_Destroy"):
        vx = {"name": f"{name}-new", "description": "d"}
        (await user.command(service, target={"user": f"{unique}-nobody"}, vx=vx)).refused(3000, 404)
    assert (await user.command("AP_Read", target={"user": user.name.upper()})).ok().profile[0]["id"] == made["id"]
    assert await selected(user) == name


@pytest.mark.parametrize("access", ["public", "agent"])
async def test_only_an_agent_of_the_named_user_is_taken_off_the_roster(
    user: Client, other: Client, name: str, unique: str, access: str
):
    await user.agent(name, access="public")
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await user.command("AP_Modify", vx={"access": access})).ok()
    for owner in (f"{unique}-third", "x"):  # whether there is such a user or not
        (await other.command("AP_Remove", target={"agent": name, "user": owner})).refused(3000, 404)
    (await user.command("AP_Modify", vx={"access": "public"})).ok()
    assert await listed(other) == [name]
    (await other.command("AP_Remove", target={"agent": name, "user": user.name.upper()})).ok()
    assert await listed(other) == []
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await other.command("AP_Remove", target={"agent": name, "user": other.name})).ok()


# AP_Select


async def test_select_answers_the_agent_and_sets_the_session_s_context(user: Client, name: str):
    made = await user.agent(name, online=False, select=False)
    answer = (await user.command("AP_Select", target={"agent": name.upper()})).ok()
    assert answer.profile == [made]
    assert answer.context["agent"] == name
    await user.agent(f"{name}-2", online=False)
    assert await selected(user) == f"{name}-2"


async def test_select_needs_an_agent_of_one_s_own_or_of_the_roster(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    (await other.command("AP_Select", target={"agent": name})).refused(2003, 403)
    (await other.command("AP_Add", target={"agent": name})).ok()
    (await other.command("AP_Select", target={"agent": name})).ok()


async def test_a_new_session_has_nothing_selected(user: Client, name: str):
    await user.agent(name)
    (await user.command("US_LogOff")).ok()
    assert await selected(await user.log_on(user.name)) is None


async def test_a_target_is_for_one_request_and_leaves_the_selection(user: Client, unique: str):
    await user.agent(f"{unique}-one")
    await user.agent(f"{unique}-two", select=False)
    answer = (await user.command("AP_Chat", target={"agent": f"{unique}-two"}, content="Hello")).ok()
    assert answer.content[1]["name"] == f"{unique}-two"
    assert answer.context["agent"] == f"{unique}-one"
    assert (await user.command("AP_Chat", content="Hello")).ok().content[1]["name"] == f"{unique}-one"


# AP_Destroy


async def test_destroy_removes_the_agent_for_all(user: Client, other: Client, name: str):
    made = await user.agent(name, access="public")
    again = await user.log_on(user.name)
    (await other.command("AP_Add", target={"agent": name})).ok()
    for client in (again, other):
        (await client.command("AP_Select", target={"agent": name})).ok()
    (await other.command("AP_Chat", content="My dog is called Rex.")).ok()
    answer = (await user.command("AP_Destroy", target={"agent": name})).ok()
    assert (answer.profile, answer.content, answer.context["agent"]) == ([], [], None)
    for client in (user, again, other):
        assert await selected(client) is None
        assert await listed(client) == []
        (await client.command("AP_Read", target={"agent": name})).refused(3000, 404)
        (await client.command("AP_Chat", content="Hello")).refused(3003, 409)
    (await user.command("AP_Destroy", target={"agent": name})).refused(3000, 404)
    # The name is free, for another owner too, and brings nothing of the first.
    reborn = await other.agent(name, access="public")
    assert reborn["id"] != made["id"]
    assert (await other.command("AP_History")).ok().content == []
    assert await listed(user, target={"user": other.name}) == [name]


async def test_of_many_that_destroy_one_agent_at_once_one_is_served(user: Client, name: str):
    await user.agent(name, select=False)
    answers = await asyncio.gather(*(user.command("AP_Destroy", target={"agent": name}) for _ in range(20)))
    assert sorted(answer.code for answer in answers) == [0, *[3000] * 19]


async def test_a_name_goes_from_hand_to_hand(user: Client, other: Client, name: str):
    for client in (user, other) * 5:
        (await client.command("AP_Create", vx={"name": name, "description": "d"})).ok()
        assert (await record(client, name))["owner"] == client.name
        (await client.command("AP_Destroy", target={"agent": name})).ok()


# AP_List


async def test_list_answers_own_agents_and_the_roster_by_name(user: Client, other: Client, unique: str):
    for letter in "db":
        await user.agent(f"{unique}-{letter}")
    for letter in "ACE":
        await other.agent(f"{unique}-{letter}", access="public")
        (await user.command("AP_Add", target={"agent": f"{unique}-{letter}"})).ok()
    assert await listed(user) == [f"{unique}-{letter}" for letter in "AbCdE"]
    assert await listed(other) == [f"{unique}-{letter}" for letter in "ACE"]


async def test_list_takes_a_prefix_in_any_case_and_literally(user: Client, unique: str):
    for end in ("one", "on_e", "on.e", "two"):
        await user.agent(f"{unique}-{end}", online=False, select=False)
    for prefix, ends in (
        ("-ON", ["on.e", "on_e", "one"]),
        ("-on_", ["on_e"]),
        ("-%", []),
        ("-*", []),
        ("", 4),
        ("-two", 1),
    ):
        found = await listed(user, target={"agent": unique + prefix})
        assert found == [f"{unique}-{end}" for end in ends] if isinstance(ends, list) else len(found) == ends
    assert await listed(user, target={"agent": "one"}) == []


async def test_list_of_another_user_shows_what_one_may_see_of_its_own(user: Client, other: Client, unique: str):
    for access in ("public", "domain", "bank", "agent"):
        await user.agent(f"{unique}-{access}", access=access)
    await other.agent(f"{unique}-other-s", access="public")
    (await user.command("AP_Add", target={"agent": f"{unique}-other-s"})).ok()
    assert await listed(other, target={"user": user.name.upper()}) == [f"{unique}-public"]
    assert await listed(other, target={"user": user.name, "agent": f"{unique}-a"}) == []
    assert len(await listed(user, target={"user": user.name})) == 5


async def test_lists_come_in_pages_of_50_and_as_many_as_asked_for(user: Client, unique: str):
    await on_plan(user, "builder")
    made = [f"{unique}-{number:02}" for number in range(52)]
    await asyncio.gather(*(user.agent(name, online=False, select=False) for name in made))
    first = await user.command("AP_List")
    assert names_in(first) == made[:50]
    second = (await user.command("AP_List", page={"cursor": first.next})).ok()
    assert (names_in(second), second.next) == (made[50:], None)
    assert (await user.command("AP_List", page={"limit": 52})).ok().next is None
    pages = await all_pages(user, "AP_List", "profile", 10)
    assert [len(page) for page in pages] == [10, 10, 10, 10, 10, 2]
    assert [agent["name"] for page in pages for agent in page] == made


async def test_a_page_goes_on_where_the_last_one_ended_whatever_came_and_went(user: Client, unique: str):
    for letter in "bdf":
        await user.agent(f"{unique}-{letter}", online=False, select=False)
    first = (await user.command("AP_List", page={"limit": 2})).ok()
    (await user.command("AP_Destroy", target={"agent": f"{unique}-d"})).ok()
    for letter in "ae":
        await user.agent(f"{unique}-{letter}", online=False, select=False)
    assert await listed(user, page={"cursor": first.next}) == [f"{unique}-e", f"{unique}-f"]


def cursor_of(service: str, value: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([service, value])).decode()


async def test_a_cursor_that_the_command_did_not_make_is_refused(user: Client, unique: str):
    for letter in "ab":
        await user.agent(f"{unique}-{letter}")
        (await user.command("AP_Chat", content="Hello")).ok()
    of_list = (await user.command("AP_List", page={"limit": 1})).next
    of_history = (await user.command("AP_History", page={"limit": 1})).next
    assert of_list
    assert of_history
    for service, cursors in (
        ("AP_List", [of_history, cursor_of("AP_List", 1), cursor_of("AP_List", None)]),
        ("AP_History", [of_list, cursor_of("AP_History", "1"), cursor_of("AP_History", True)]),
        ("US_Sessions", [of_list, of_history, cursor_of("US_Sessions", 1)]),
    ):
        for cursor in (
            *cursors,
            "x",
            "====",
            "é",
            of_list[:-3],
            of_list[3:],
            base64.b64encode(b"[1]").decode(),
            "W10=",
        ):
            answer = (await user.command(service, page={"cursor": cursor})).refused(1003, 400)
            assert "page.cursor" in answer.note


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1, -(2**63), 0, -1], ids=str)
async def test_a_forged_history_cursor_is_no_internal_error(user: Client, name: str, value: int):
    await user.agent(name)
    (await user.command("AP_Chat", content="Hello")).ok()
    answer = await user.command("AP_History", page={"cursor": cursor_of("AP_History", value)})
    assert answer.code in (0, 1003), answer.body


async def test_a_wrong_cursor_is_refused_in_an_empty_history_too(user: Client, name: str):
    await user.agent(name)
    (await user.command("AP_History", page={"cursor": "wrong"})).refused(1003, 400)


# AP_Chat


async def test_a_chat_answers_the_message_and_the_reply_as_they_are_kept(user: Client, name: str):
    await user.agent(name, profile="Rex is a dog of the lighthouse keeper.")
    answer = (await user.command("AP_Chat", content="Who is Rex?")).ok()
    message, reply = answer.content
    fields = {"id", "role", "name", "content", "at", "zone", "conversation", "seq", "mark", "sources"}
    assert message.keys() == reply.keys() == fields
    assert re.fullmatch(r"msg_[0-9a-f]{32}", message["id"])
    assert [message[field] for field in ("role", "name", "content", "zone", "seq", "sources")] == [
        *("user", user.name, "Who is Rex?", None, 1, [])
    ]
    assert (reply["role"], reply["name"], reply["seq"]) == ("agent", name, 2)
    assert reply["content"]
    for source in reply["sources"]:
        assert source["quote"]
    assert (await user.command("AP_History")).ok().content == [message, reply]


async def test_a_chat_needs_an_agent_that_is_online(user: Client, name: str):
    (await user.command("AP_Chat", content="Hello")).refused(3003, 409)
    await user.agent(name, online=False)
    for target in ({}, {"agent": name}):
        (await user.command("AP_Chat", target=target, content="Hello")).refused(3002, 409)
    (await user.command("AP_LogOn")).ok()
    (await user.command("AP_Chat", content="Hello")).ok()
    (await user.command("AP_LogOff")).ok()
    (await user.command("AP_Chat", content="Hello")).refused(3002, 409)
    assert len((await user.command("AP_History")).ok().content) == 2


async def test_each_user_has_a_conversation_of_its_own_with_an_agent(user: Client, other: Client, name: str):
    await user.agent(name, access="public")
    target = {"agent": name}
    (await user.command("AP_Chat", target=target, content="My cat is called Tom.")).ok()
    reply = (await other.command("AP_Chat", target=target, content="What is my cat called?")).ok().content[1]
    assert "Tom" not in str(reply)
    assert [m["seq"] for m in (await other.command("AP_History", target=target)).ok().content] == [1, 2]
    assert (
        "Tom"
        in (await user.command("AP_Chat", target=target, content="What is my cat called?")).ok().content[1]["content"]
    )
    counts = [(await who.command("AP_Read", target=target)).ok().content[0]["messages"] for who in (user, other)]
    assert counts == [4, 2]


async def test_concurrent_chats_of_one_conversation_are_strictly_in_order_without_gaps(user: Client, name: str):
    await user.agent(name)
    answers = await asyncio.gather(*(user.command("AP_Chat", content=f"Number {n}.") for n in range(30)))
    pairs = sorted([message["seq"] for message in answer.ok().content] for answer in answers)
    assert pairs == [[first, first + 1] for first in range(1, 61, 2)]
    history = (await user.command("AP_History", page={"limit": 200})).ok().content
    assert [message["seq"] for message in history] == list(range(1, 61))
    assert [message["role"] for message in history] == ["user", "agent"] * 30
    assert sorted(message["content"] for message in history[::2]) == sorted(f"Number {n}." for n in range(30))
    times = [message["at"] for message in history]
    assert times == sorted(times)


async def test_chats_that_race_a_log_off_are_answered_whole_or_refused(user: Client, name: str):
    await user.agent(name)
    chats = [user.command("AP_Chat", content=f"Number {n}.") for n in range(20)]
    *answers, off = await asyncio.gather(*chats, user.command("AP_LogOff"))
    off.ok()
    served = [answer for answer in answers if answer.code == 0]
    assert {answer.code for answer in answers} <= {0, 3002}
    assert len((await user.command("AP_History")).ok().content) == 2 * len(served)


# slow engines: the order of ends


async def test_while_an_engine_is_slow_in_one_conversation_everything_else_goes_on(
    scripted_server: CoreGateway, scripted_user: Client, unique: str, name: str, gate: Gate
):
    user = scripted_user
    await user.agent(name, access="public")
    await user.agent(f"{name}-2", select=False)
    guest = await user.register(f"{unique}-guest")
    slow = asyncio.create_task(user.command("AP_Chat", content=f"say:one wait:{gate} say:two"))
    await gate.reached()
    behind = asyncio.create_task(user.command("AP_Chat", content="say:behind"))

    target = {"agent": name}
    for n in range(3):  # another user's conversation with the same agent
        (await guest.command("AP_Chat", target=target, content=f"say:guest-{n}")).ok()
    (await user.command("AP_Chat", target={"agent": f"{name}-2"}, content="say:elsewhere")).ok()
    assert (await user.command("AP_Read", target=target)).ok().content[0]["state"] == "online"
    assert [m["content"] for m in (await user.command("AP_History")).ok().content] == [f"say:one wait:{gate} say:two"]
    (await user.command("AP_Modify", vx={"description": "changed meanwhile"})).ok()
    (await guest.command("AP_Add", target=target)).ok()
    for service in ("AP_LogOff", "AP_LogOn", "AP_List", "US_Read"):
        (await user.command(service)).ok()
    assert not slow.done()
    assert not behind.done()

    gate.open()
    assert [message["content"] for message in (await slow).ok().content][1] == "onetwo"
    assert (await behind).ok().content[1]["content"] == "behind"
    history = (await user.command("AP_History")).ok().content
    assert [message["seq"] for message in history] == [1, 2, 3, 4]
    assert [message["content"] for message in history[1::2]] == ["onetwo", "behind"]


async def test_messages_that_wait_are_answered_in_the_order_in_which_they_came(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    first = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:0"))
    await gate.reached()
    chats = [first]
    for n in range(1, 11):
        chats.append(asyncio.create_task(scripted_user.command("AP_Chat", content=f"say:{n}")))
        await until_waiting(scripted_user, name, n)
    gate.open()
    replies = [(await chat).ok().content[1] for chat in chats]
    assert [reply["content"] for reply in replies] == [str(n) for n in range(11)]
    assert [reply["seq"] for reply in replies] == list(range(2, 24, 2))


async def until_waiting(user: Client, name: str, count: int) -> None:
    """Wait until this number of messages wait in the agent's one conversation, as the debug routes show."""
    agent_id = (await record(user, name))["id"]
    for _ in range(3_000):
        state = (await live_actor(user, "agent", agent_id)).body["state"]
        if sum(conversation["waiting"] for conversation in state["conversations"]) == count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"there were never {count} messages waiting")


async def test_an_agent_that_goes_offline_refuses_what_waits_and_finishes_what_runs(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    at_work = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:done"))
    await gate.reached()
    waiting = asyncio.create_task(scripted_user.command("AP_Chat", content="say:never"))
    await until_waiting(scripted_user, name, 1)
    (await scripted_user.command("AP_LogOff")).ok()
    gate.open()
    assert (await at_work).ok().content[1]["content"] == "done"
    (await waiting).refused(3002, 409)
    assert len((await scripted_user.command("AP_History")).ok().content) == 2


async def test_an_agent_destroyed_in_the_middle_of_a_chat_ends_it(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:done"))
    await gate.reached()
    (await scripted_user.command("AP_Destroy")).ok()
    gate.open()
    assert (await chat).code in (3000, 5003)
    await scripted_user.agent(name)
    assert (await scripted_user.command("AP_History")).ok().content == []


async def test_the_agent_of_a_destroyed_user_in_the_middle_of_a_chat_lives_on(
    scripted_user: Client, unique: str, name: str, gate: Gate
):
    await scripted_user.agent(name, access="public")
    guest = await scripted_user.register(f"{unique}-guest")
    chat = asyncio.create_task(guest.command("AP_Chat", target={"agent": name}, content=f"wait:{gate} say:done"))
    await gate.reached()
    (await guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    gate.open()
    assert (await chat).code != 5000
    (await scripted_user.command("AP_Chat", content="say:well")).ok()


async def test_a_user_that_is_destroyed_cuts_no_other_s_chat(scripted_user: Client, unique: str, name: str, gate: Gate):
    await scripted_user.agent(name, access="public")
    guest = await scripted_user.register(f"{unique}-guest")
    (await guest.command("AP_Chat", target={"agent": name}, content="say:hello")).ok()
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:done"))
    await gate.reached()
    (await guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    gate.open()
    assert (await chat).ok().content[1]["content"] == "done"
    assert (await scripted_user.command("AP_Read")).ok().content[0]["messages"] == 2


async def test_banks_and_domains_that_an_agent_gets_cut_no_chat_with_it(
    scripted_user: Client, unique: str, name: str, gate: Gate
):
    user = scripted_user
    await user.agent(name, access="public")
    await user.agent(f"{unique}-founder", select=False)
    bank, vx = {"bank": f"{unique}-bank", "agent": name}, {"description": "d"}
    founded = {"agent": f"{unique}-founder"}
    (await user.command("DM_Create", target=founded, vx={"name": f"{unique}-joined", **vx})).ok()
    guest = await user.register(f"{unique}-guest")
    chat = asyncio.create_task(guest.command("AP_Chat", target={"agent": name}, content=f"wait:{gate} say:done"))
    await gate.reached()
    (await user.command("MB_Create", vx={"name": f"{unique}-bank", **vx})).ok()
    (await user.command("MB_Load", target=bank, vx={"name": "comet"}, content="The comet is called Zyzzyva.")).ok()
    recalled = (await user.command("AP_Chat", target={"agent": name}, content="recall:comet")).ok()
    assert recalled.content[1]["content"] == "comet"
    (await user.command("MB_Permissions", target=bank, vx={"permission": "read"})).ok()
    (await user.command("DM_Create", vx={"name": f"{unique}-founded", **vx})).ok()
    (await user.command("DM_Invite", target={"domain": f"{unique}-joined", "agent": name})).ok()
    assert set((await user.command("AP_Read")).ok().content[0]["domains"]) == {f"{unique}-founded", f"{unique}-joined"}
    (await user.command("MB_Destroy", target={"bank": f"{unique}-bank"})).ok()
    gate.open()
    assert (await chat).ok().content[1]["content"] == "done"


async def test_an_agent_that_is_destroyed_while_it_is_selected_is_not_there(user: Client, unique: str):
    for number in range(8):
        name = f"{unique}-{number}"
        await user.agent(name, select=False)
        selecting = [user.command("AP_Select", target={"agent": name}) for _ in range(4)]
        *selected, destroyed = await asyncio.gather(*selecting, user.command("AP_Destroy", target={"agent": name}))
        destroyed.ok()
        assert {answer.code for answer in selected} <= {0, 3000}


# AP_History


async def test_history_comes_in_pages_newest_last_from_the_newest_back(user: Client, name: str):
    await user.agent(name)
    for n in range(7):
        (await user.command("AP_Chat", content=f"Number {n}.")).ok()
    pages = await all_pages(user, "AP_History", "content", 5)
    assert [[message["seq"] for message in page] for page in pages] == [
        [10, 11, 12, 13, 14],
        [5, 6, 7, 8, 9],
        [1, 2, 3, 4],
    ]
    (agent,) = (await user.command("AP_History")).ok().profile
    assert agent["name"] == name


async def test_a_page_of_history_is_not_moved_by_new_messages(user: Client, name: str):
    await user.agent(name)
    for n in range(3):
        (await user.command("AP_Chat", content=f"Number {n}.")).ok()
    first = (await user.command("AP_History", page={"limit": 2})).ok()
    (await user.command("AP_Chat", content="A new one.")).ok()
    second = (await user.command("AP_History", page={"limit": 2, "cursor": first.next})).ok()
    assert [message["seq"] for message in second.content + first.content] == [3, 4, 5, 6]


async def test_a_history_that_never_began_is_empty(user: Client, name: str):
    await user.agent(name)
    answer = (await user.command("AP_History")).ok()
    assert (answer.content, answer.next) == ([], None)
