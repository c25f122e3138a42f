"""Users, credentials and sessions (docs/contract.md, "Users, credentials, sessions")."""

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from actors.sessions.tokens import token_kind
from tests.support.gateway import PASSWORD, Answer, Client, running
from tests.support.operator import on_plan, set_plan
from tests.support.workspaces import following

WRONG = "not the password"
OTHER = "another horse battery"
_numbers = itertools.count(1)
_addresses = (f"192.0.2.{number}" for number in itertools.count(10))


@pytest.fixture
def address() -> dict[str, str]:
    """Headers of a caller at an address that no other test uses (the proxied gateway believes them)."""
    return {"X-Forwarded-For": next(_addresses)}


async def log_on(client: Client, name: str, secret: str = PASSWORD, **headers: str) -> Answer:
    return await client.command("US_LogOn", target={"user": name}, vx={"secret": secret}, headers=headers)


async def works(client: Client) -> bool:
    """Tell whether a client's credential is accepted."""
    answer = await client.command("US_Read")
    assert answer.code in (0, 2001), answer.body
    return answer.code == 0


# US_Create


async def test_a_user_registers_without_a_credential_and_sees_its_own_record(sanic_client: Client, unique: str):
    vx = {"name": f"{unique}.Ada-L_1", "secret": PASSWORD, "description": "d", "profile": "p"}
    answer = (await sanic_client.command("US_Create", vx=vx)).ok()
    assert answer.context["user"] is None
    (record,) = answer.profile
    quota, counts = record.pop("quota"), record.pop("counts")
    assert re.fullmatch(r"usr_[0-9a-f]{32}", record.pop("id"))
    assert datetime.fromisoformat(record.pop("created_at"))
    assert record == {"name": f"{unique}.Ada-L_1", "description": "d", "profile": "p", "plan": "free"}
    assert quota.keys() == {"limit", "used", "remaining", "resets_at", "window"}
    assert (quota["limit"], quota["remaining"]) == (100, 100)
    assert quota["resets_at"].endswith("T00:00:00.000Z")
    assert counts == {"agents": 0, "domains": 0, "banks": 0, "api_keys": 0}
    assert answer.content == []


async def test_description_and_profile_may_be_left_out(sanic_client: Client, unique: str):
    record = (await sanic_client.command("US_Create", vx={"name": unique, "secret": PASSWORD})).ok().profile[0]
    assert (record["description"], record["profile"]) == (None, None)


@pytest.mark.parametrize(
    "name",
    [
        *("ab", "x" * 65, "-abcde", "abcde-", ".abcde", "abcde.", "_abcde", "abc de", "abc/de", "abc@de", "abc:de"),
        *(
            "äbcdef",
            "abcdé",
            "abcde\n",
            "abcde\u200b",
            "\uff41\uff42\uff43\uff44\uff45",
            "абвгде",
            "abcd\u0131",
            "%61bcde",
        ),
    ],
)
async def test_a_name_that_breaks_the_rule_is_refused(user: Client, sanic_client: Client, name: str):
    made = (
        await sanic_client.command("US_Create", vx={"name": name, "secret": PASSWORD}),
        await user.command("AP_Create", vx={"name": name, "description": "d"}),
    )
    for answer in made:
        assert "vx.name" in answer.refused(1003, 400).note


@pytest.mark.parametrize("shape", ["{0}", "{0}-a", "{0}_a", "{0}.a", "{0}A", "9{0}9", "{0}--..__9", "{0:x<64}"])
async def test_a_name_within_the_rule_is_taken_and_kept_as_written(sanic_client: Client, unique: str, shape: str):
    name = shape.format(unique)
    record = (await sanic_client.command("US_Create", vx={"name": name, "secret": PASSWORD})).ok().profile[0]
    assert record["name"] == name


@pytest.mark.parametrize("shape", ["sandbox-{0}", "SANDBOX-{0}", "Sandbox-{0}"])
async def test_names_of_sandbox_keys_users_are_not_to_be_registered(sanic_client: Client, unique: str, shape: str):
    vx = {"name": shape.format(unique), "secret": PASSWORD}
    note = (await sanic_client.command("US_Create", vx=vx)).refused(1003, 400).note
    assert "vx.name" in note
    assert "sandbox-" in note


async def test_other_names_with_sandbox_in_them_are_free(user: Client, sanic_client: Client, unique: str):
    await sanic_client.register(f"sandbox{unique}")
    await sanic_client.register(f"{unique}-sandbox-1")
    await user.agent(f"sandbox-{unique}")


KELVIN = "\u212a"
"""Its lower case is an ASCII k."""


async def test_a_look_up_of_a_name_that_is_not_ascii_finds_nothing(sanic_client: Client, unique: str):
    name = f"k{unique}"
    owner = await on_plan(await sanic_client.register(f"{name}-owner"), "enterprise")
    await owner.agent(f"{name}-agent", access="public")
    (await owner.command("DM_Create", vx={"name": f"{name}-domain", "description": "d"})).ok()
    (await owner.command("DM_Select", target={"domain": f"{name}-domain"})).ok()
    (await owner.command("ZN_Create", vx={"name": f"{name}-zone"})).ok()
    (await owner.command("MB_Create", vx={"name": f"{name}-bank"})).ok()
    for kind, services in {
        "user": ("AP_List", "MB_List"),
        "agent": ("AP_Read", "AP_Chat", "AP_Select", "AP_History", "AP_Add"),
        "domain": ("DM_Read", "DM_Select", "ZN_List", "AP_Chat"),
        "zone": ("ZN_Read", "ZN_Select", "AP_Chat"),
        "bank": ("MB_Read", "MB_Recall", "MB_Permissions"),
    }.items():
        written = f"{name}-owner" if kind == "user" else f"{name}-{kind}"
        for strange in (KELVIN + written[1:], f"{written}\u0301", "äöü", "\U0001f600"):
            for service in services:
                (await owner.command(service, target={kind: strange}, content="Hello")).refused(3000, 404)
            assert not await is_listed(owner, kind, strange)
            if kind == "user":
                (await set_plan(owner, quote(strange), "scale")).refused(3000, 404)


async def is_listed(owner: Client, kind: str, name: str) -> bool:
    """Tell whether a list that takes a prefix finds a name."""
    lists = {"agent": "AP_List", "domain": "DM_List", "zone": "ZN_List", "bank": "MB_List"}
    return kind in lists and (await owner.command(lists[kind], target={kind: name})).ok().profile != []


async def test_a_log_on_by_a_name_that_is_not_ascii_is_an_unknown_user_s(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(f"k{unique}")
    known = (await log_on(proxied, f"K{unique}", WRONG, **address)).refused(2002, 401)
    for strange in (f"{KELVIN}{unique}", "äöü", "\U0001f600" * 50, "\u0130"):
        assert (await log_on(proxied, strange, PASSWORD, **address)).refused(2002, 401).note == known.note


async def test_a_user_name_is_unique_in_any_case(sanic_client: Client, unique: str):
    await sanic_client.register(f"{unique}-Ada")
    for name in (f"{unique}-Ada", f"{unique}-ADA", f"{unique.upper()}-ada"):
        (await sanic_client.command("US_Create", vx={"name": name, "secret": PASSWORD})).refused(3001, 409)


async def test_a_user_and_an_agent_may_have_one_name(user: Client):
    await user.agent(user.name)


async def test_of_many_that_register_one_name_at_once_one_is_served(sanic_client: Client, unique: str):
    vx = {"name": unique, "secret": PASSWORD}
    answers = await asyncio.gather(*(sanic_client.command("US_Create", vx=vx) for _ in range(20)))
    assert sorted(answer.code for answer in answers) == [0, *[3001] * 19]


async def test_more_registrations_at_once_than_may_wait_are_refused_as_overload(sanic_client: Client, unique: str):
    vxs = [{"name": f"{unique}-{number}", "secret": PASSWORD} for number in range(100)]
    answers = await asyncio.gather(*(sanic_client.command("US_Create", vx=vx) for vx in vxs))
    refused = [answer.refused(5003, 503) for answer in answers if answer.code]
    assert refused
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
    for vx, answer in zip(vxs, answers, strict=True):
        again = await sanic_client.command("US_Create", vx=vx)  # of a refused one nothing was kept
        assert again.code == (0 if answer.code else 3001)


@pytest.mark.parametrize("secret", ["x" * 8, "x" * 256, "\U0001f600" * 8, " a space at both ends ", "\u0301" * 8])
async def test_passwords_of_8_to_256_characters_of_any_text_are_taken(sanic_client: Client, unique: str, secret: str):
    assert await works(await sanic_client.register(unique, secret))


@pytest.mark.parametrize("secret", ["x" * 7, "x" * 257, "x\0xxxxxxxx"])
async def test_other_passwords_are_refused(user: Client, sanic_client: Client, unique: str, secret: str):
    for answer in (
        await sanic_client.command("US_Create", vx={"name": unique, "secret": secret}),
        await user.command("US_Update", vx={"secret": secret}),
    ):
        note = answer.refused(1003, 400).note
        assert "vx.secret" in note
        assert secret not in note


@pytest.mark.parametrize(
    ("vx", "note"),
    [
        ({}, "missing name field"),
        ({"name": "abcde"}, "missing vx.secret field"),
        ({"secret": PASSWORD}, "missing name"),
    ],
)
async def test_registration_needs_a_name_and_a_password(sanic_client: Client, vx: dict[str, str], note: str):
    assert (await sanic_client.command("US_Create", vx=vx)).refused(1002, 400).note.startswith(note)


async def test_a_closed_gateway_takes_no_registrations_but_log_ons(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        await client.register("lovelace")
    async with running(tmp_path / "data", PARLEY_REGISTRATION="closed") as gateway, gateway.client() as client:
        (await client.command("US_Create", vx={"name": "babbage", "secret": PASSWORD})).refused(2003, 403)
        assert await works(await client.log_on("lovelace"))


async def test_a_new_user_is_on_the_default_plan(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="scale") as gateway, gateway.client() as client:
        user = await client.register("ada")  # a premium name
        record = (await user.command("US_Read")).ok().profile[0]
        assert (record["plan"], record["quota"]["limit"]) == ("scale", 50_000)


# US_LogOn, US_LogOff


async def test_a_log_on_answers_a_token_once_and_a_session(user: Client):
    answer = (await log_on(user, user.name)).ok()
    (token,), (session,) = answer.content, answer.profile
    assert token.keys() == {"token", "token_type", "expires_at"}
    assert (token["token_type"], token["expires_at"]) == ("Bearer", session["expires_at"])
    assert token_kind(token["token"]) == "pls"
    assert session.keys() == {"id", "created_at", "last_used_at", "expires_at", "current"}
    assert session["id"].startswith("ses_")
    assert session["current"] is True
    life = datetime.fromisoformat(session["expires_at"]) - datetime.fromisoformat(session["last_used_at"])
    assert life == timedelta(hours=24)
    assert answer.context["user"] == user.name


async def test_every_log_on_makes_a_session_of_its_own(user: Client):
    others = [await user.log_on(user.name) for _ in range(3)]
    assert len({client.token for client in (user, *others)}) == 4
    assert all([await works(client) for client in (user, *others)])


async def test_a_user_logs_on_in_any_case_and_is_named_as_registered(sanic_client: Client, unique: str):
    await sanic_client.register(f"{unique}-Ada")
    assert (await log_on(sanic_client, f"{unique}-aDA")).ok().context["user"] == f"{unique}-Ada"


async def test_an_unknown_user_and_a_wrong_password_are_told_the_same_and_take_the_same_time(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(unique)

    async def timed(name: str) -> tuple[float, str]:
        started = time.perf_counter()
        answer = (await log_on(proxied, name, WRONG, **address)).refused(2002, 401)
        return time.perf_counter() - started, answer.note

    known, unknown = [], []
    for _ in range(
        9
    ):  # in turns, so that the machine's speed is the same for both; the tenth failure would be the last
        known.append(await timed(unique))
        unknown.append(await timed(f"{unique}-no-one"))
    assert len({note for _, note in known + unknown}) == 1
    assert 0.5 < min(known)[0] / min(unknown)[0] < 2


@pytest.mark.parametrize("secret", [PASSWORD.upper(), PASSWORD + " ", PASSWORD[:-1], "short"])
async def test_a_password_that_is_nearly_right_is_wrong(
    proxied: Client, unique: str, address: dict[str, str], secret: str
):
    await proxied.register(unique)
    (await log_on(proxied, unique, secret, **address)).refused(2002, 401)


async def test_log_off_ends_this_session_alone(user: Client):
    other = await user.log_on(user.name)
    assert (await other.command("US_LogOff")).ok().context["user"] is None
    assert not await works(other)
    assert await works(user)


# US_Sessions, US_Revoke


async def sessions_of(user: Client, **body: Any) -> list[dict[str, Any]]:
    return (await user.command("US_Sessions", **body)).ok().profile


async def test_sessions_lists_the_user_s_own_in_order_and_marks_this_one(
    user: Client, sanic_client: Client, unique: str
):
    await sanic_client.register(f"{unique}-other")
    second, third = await user.log_on(user.name), await user.log_on(user.name)
    for position, client in enumerate((user, second, third)):
        listed = await sessions_of(client)
        assert [session["current"] for session in listed] == [place == position for place in range(3)]
    assert [session["created_at"] for session in listed] == sorted(session["created_at"] for session in listed)


async def test_sessions_come_in_pages(user: Client):
    for _ in range(4):
        await user.log_on(user.name)
    every, cursor, sizes = [], None, []
    while True:
        answer = (await user.command("US_Sessions", page={"limit": 2, "cursor": cursor})).ok()
        every += [session["id"] for session in answer.profile]
        sizes.append(len(answer.profile))
        if (cursor := answer.next) is None:
            break
    assert sizes == [2, 2, 1]
    assert every == [session["id"] for session in await sessions_of(user)]


async def test_revoke_ends_one_session_by_its_id(user: Client):
    second, third = await user.log_on(user.name), await user.log_on(user.name)
    revoked = (await sessions_of(second))[1]["id"]
    (await user.command("US_Revoke", vx={"name": revoked})).ok()
    assert [await works(client) for client in (user, second, third)] == [True, False, True]
    (await user.command("US_Revoke", vx={"name": revoked})).refused(3000, 404)
    assert revoked not in {session["id"] for session in await sessions_of(user)}


async def test_revoke_of_the_session_itself_is_a_log_off(user: Client):
    own = (await sessions_of(user))[0]["id"]
    assert (await user.command("US_Revoke", vx={"name": own})).ok().context["user"] is None
    assert not await works(user)


async def test_revoke_all_ends_all_others(user: Client):
    others = [await user.log_on(user.name) for _ in range(3)]
    (await user.command("US_Revoke", vx={"name": "all"})).ok()
    assert not any([await works(client) for client in others])
    assert len(await sessions_of(user)) == 1


async def test_nobody_revokes_another_s_session(user: Client, sanic_client: Client, unique: str):
    other = await sanic_client.register(f"{unique}-other")
    (foreign,) = await sessions_of(other)
    (await user.command("US_Revoke", vx={"name": foreign["id"]})).refused(3000, 404)
    (await user.command("US_Revoke", vx={"name": "all"})).ok()
    assert await works(other)


async def test_the_201st_session_ends_the_oldest_and_its_streams(proxied: Client, unique: str):
    oldest = await on_plan(await proxied.register(unique), "enterprise")
    second = await proxied.log_on(unique)
    await oldest.agent(f"{unique}-agent")
    (await oldest.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    for _ in range(22):
        await asyncio.gather(*(proxied.log_on(unique) for _ in range(9)))
    assert len(await sessions_of(second, page={"limit": 200})) == 200
    async with following(oldest, f"{unique}-domain") as ending, following(second, f"{unique}-domain") as staying:
        newest = await proxied.log_on(unique)
        assert await ending.next() == {"end": "revoked"}
        assert [await works(client) for client in (oldest, second, newest)] == [False, True, True]
        assert len(await sessions_of(second, page={"limit": 200})) == 200
        (await newest.command("ZN_Post", target={"domain": f"{unique}-domain"}, content="still there")).ok()
        assert (await staying.next())["message"]["content"] == "still there"


# the life of a session


@pytest.fixture(scope="module")
async def hasty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A gateway whose sessions end after two seconds without use."""
    data = tmp_path_factory.mktemp("hasty") / "data"
    async with running(data, PARLEY_SESSION_TTL_S="2") as gateway, gateway.client() as client:
        yield client


async def test_a_session_lives_while_it_is_used_and_ends_after_its_ttl_without(hasty: Client, unique: str):
    user, idle = await hasty.register(unique), await hasty.log_on(unique)
    for _ in range(3):
        await asyncio.sleep(0.9)
        assert await works(user)
    assert not await works(idle)
    await asyncio.sleep(2.1)
    assert not await works(user)


async def test_sessions_lists_those_that_live_and_no_other_with_their_last_use(hasty: Client, unique: str):
    user, _idle = await hasty.register(unique), await hasty.log_on(unique)
    for _ in range(3):
        await asyncio.sleep(0.9)
        assert await works(user)
    assert [session["current"] for session in await sessions_of(user)] == [True]


# US_Read, US_Update


async def test_read_answers_the_own_record_with_counts(user: Client, unique: str):
    await user.agent(f"{unique}-one")
    await user.agent(f"{unique}-two")
    (record,) = (await user.command("US_Read")).ok().profile
    assert record["name"] == user.name
    assert record["counts"]["agents"] == 2
    (await user.command("AP_Destroy", target={"agent": f"{unique}-two"})).ok()
    assert (await user.command("US_Read")).ok().profile[0]["counts"]["agents"] == 1


async def test_update_changes_only_what_is_given(user: Client):
    for vx, expected in (
        ({"description": "one"}, ("one", None)),
        ({"profile": "two"}, ("one", "two")),
        ({"description": "three", "profile": "", "name": "ignored"}, ("three", "two")),
    ):
        (record,) = (await user.command("US_Update", vx=vx)).ok().profile
        assert (record["description"], record["profile"]) == expected
        (now,) = (await user.command("US_Read")).ok().profile
        assert now.pop("quota")["used"] == record.pop("quota")["used"] + 1
        assert now == record
        assert record["name"] == user.name


async def test_update_of_nothing_is_refused(user: Client):
    for body in ({}, {"vx": {}}, {"vx": {"description": " ", "secret": None}}, {"vx": {"name": "another"}}):
        assert "vx" in (await user.command("US_Update", **body)).refused(1003, 400).note


async def test_a_new_password_ends_the_other_sessions_and_is_the_only_one(
    proxied: Client, unique: str, address: dict[str, str]
):
    user = await proxied.register(unique)
    others = [await proxied.log_on(unique) for _ in range(2)]
    (await user.command("US_Update", vx={"secret": OTHER})).ok()
    assert await works(user)
    assert not any([await works(other) for other in others])
    (await log_on(proxied, unique, PASSWORD, **address)).refused(2002, 401)
    assert await works(await proxied.log_on(unique, OTHER))


async def test_a_change_without_a_password_ends_no_session(user: Client):
    other = await user.log_on(user.name)
    (await user.command("US_Update", vx={"description": "d"})).ok()
    assert await works(other)


async def test_a_log_on_that_races_a_change_of_password_leaves_no_session_of_the_old_one(
    proxied: Client, unique: str, address: dict[str, str]
):
    user = await proxied.register(unique)
    update = user.command("US_Update", vx={"secret": OTHER})
    *log_ons, changed = await asyncio.gather(*(log_on(proxied, unique, **address) for _ in range(8)), update)
    changed.ok()
    assert {answer.code for answer in log_ons} <= {0, 2002}
    tokens = [answer.content[0]["token"] for answer in log_ons if answer.code == 0]
    assert not any([await works(Client(proxied.http, proxied.base, token)) for token in tokens])


# US_Destroy


async def test_destroy_needs_the_password(user: Client):
    assert (await user.command("US_Destroy")).refused(1002, 400).note.startswith("missing vx.secret field")
    assert await works(user)


async def test_a_wrong_password_destroys_nothing(proxied: Client, unique: str):
    user = await proxied.register(unique)
    (await user.command("US_Destroy", vx={"secret": WRONG})).refused(2002, 401)
    assert await works(user)


async def test_destroy_removes_the_user_and_ends_its_sessions(proxied: Client, unique: str, address: dict[str, str]):
    user, other = await proxied.register(unique), await proxied.log_on(unique)
    assert (await user.command("US_Destroy", vx={"secret": PASSWORD})).ok().context["user"] is None
    assert not await works(user)
    assert not await works(other)
    (await log_on(proxied, unique, **address)).refused(2002, 401)


async def test_destroy_removes_the_user_s_agents_from_rosters_selections_and_sight(
    user: Client, sanic_client: Client, unique: str
):
    owner = await sanic_client.register(f"{unique}-owner")
    await owner.agent(f"{unique}-agent", access="public")
    target = {"agent": f"{unique}-agent"}
    (await user.command("AP_Add", target=target)).ok()
    (await user.command("AP_Select", target=target)).ok()
    (await user.command("AP_Chat", content="My dog is called Rex.")).ok()
    (await owner.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    assert (await user.command("AP_List")).ok().profile == []
    assert (await user.command("US_Read")).ok().context["agent"] is None
    for service in ("AP_Read", "AP_Chat", "AP_History", "AP_Add", "AP_Select"):
        (await user.command(service, target=target, content="Hello")).refused(3000, 404)
    (await user.command("AP_List", target={"user": owner.name})).refused(3000, 404)


async def test_after_destroy_every_name_is_free_again_and_nothing_is_inherited(sanic_client: Client, unique: str):
    first = await sanic_client.register(unique, description="the first")
    await first.agent(f"{unique}-agent")
    (await first.command("AP_Chat", content="My dog is called Rex.")).ok()
    before = (await first.command("US_Read")).ok().profile[0]
    (await first.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    second = await sanic_client.register(unique, OTHER)
    record = (await second.command("US_Read")).ok().profile[0]
    assert record["id"] != before["id"]
    assert (record["description"], record["counts"]["agents"]) == (None, 0)
    await second.agent(f"{unique}-agent")
    assert (await second.command("AP_History")).ok().content == []
    assert not await works(first)


async def test_another_s_agent_forgets_the_conversation_with_a_destroyed_user(
    user: Client, sanic_client: Client, unique: str
):
    await user.agent(f"{unique}-agent", access="public")
    guest = await sanic_client.register(f"{unique}-guest")
    target = {"agent": f"{unique}-agent"}
    (await guest.command("AP_Chat", target=target, content="Hello")).ok()
    (await user.command("AP_Chat", target=target, content="Hello")).ok()
    assert (await user.command("AP_Read")).ok().content[0]["messages"] == 4
    (await guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    assert (await user.command("AP_Read")).ok().content[0]["messages"] == 2
    again = await sanic_client.register(f"{unique}-guest")
    assert (await again.command("AP_History", target=target)).ok().content == []


# throttles


async def test_ten_failed_log_ons_stop_a_user_from_an_address_even_with_the_right_password(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(unique)
    await proxied.register(f"{unique}-other")
    for number in range(10):
        name = unique if number % 2 else unique.upper()
        (await log_on(proxied, name, WRONG, **address)).refused(2002, 401)
    for secret in (WRONG, PASSWORD):
        answer = (await log_on(proxied, unique, secret, **address)).refused(4001, 429)
        assert answer.http == 429
        assert 200 <= int(answer.headers["Retry-After"]) <= 300
    (await log_on(proxied, f"{unique}-other", **address)).ok()
    (await log_on(proxied, unique, **{"X-Forwarded-For": next(_addresses)})).ok()


async def test_log_ons_that_succeed_are_not_counted(proxied: Client, unique: str, address: dict[str, str]):
    await proxied.register(unique)
    for _ in range(9):
        (await log_on(proxied, unique, WRONG, **address)).refused(2002, 401)
    for _ in range(12):
        (await log_on(proxied, unique, **address)).ok()
    (await log_on(proxied, unique, WRONG, **address)).refused(2002, 401)
    (await log_on(proxied, unique, **address)).refused(4001, 429)


async def test_thirty_failed_log_ons_stop_an_address_for_all_users(
    proxied: Client, unique: str, address: dict[str, str]
):
    await proxied.register(unique)
    for number in range(30):
        (await log_on(proxied, f"{unique}-{number}", WRONG, **address)).refused(2002, 401)
    (await log_on(proxied, unique, **address)).refused(4001, 429)
    (await log_on(proxied, unique, **{"X-Forwarded-For": next(_addresses)})).ok()


async def test_tries_at_once_don_t_slip_through(proxied: Client, unique: str, address: dict[str, str]):
    await proxied.register(unique)
    tries = await asyncio.gather(*(log_on(proxied, unique, WRONG, **address) for _ in range(25)))
    assert sorted(answer.code for answer in tries) == [*[2002] * 10, *[4001] * 15]


async def test_registrations_are_limited_per_address(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "3", "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:

        async def register(name: str, address: str) -> Answer:
            vx = {"name": name, "secret": PASSWORD}
            return await client.command("US_Create", vx=vx, headers={"X-Forwarded-For": address})

        for wrong in ("-", "x"):  # what is refused as wrong uses nothing up
            (await register(wrong, "192.0.2.1")).refused(1003, 400)
        for number in range(3):
            (await register(f"user-{number}", "192.0.2.1")).ok()
        refused = (await register("user-3", "192.0.2.1")).refused(4001, 429)
        assert 3_500 <= int(refused.headers["Retry-After"]) <= 3_600
        (await register("user-3", "192.0.2.2")).ok()
        assert await works(await client.log_on("user-1"))


# the address behind proxies, seen through one registration per address

TRUSTED = "127.0.0.1,10.0.0.0/8,fd00::/8"


async def registers(client: Client, **headers: str) -> bool:
    """Tell whether the address that these headers make is one that has not registered anybody yet."""
    vx = {"name": f"user-{next(_numbers)}", "secret": PASSWORD}
    answer = await client.command(
        "US_Create", vx=vx, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    assert answer.code in (0, 4001), answer.body
    return answer.code == 0


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A gateway behind trusted proxies that allows one registration per address."""
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "1", "PARLEY_TRUSTED_PROXIES": TRUSTED}
    data = tmp_path_factory.mktemp("guarded") / "data"
    async with running(data, **settings) as gateway, gateway.client() as client:
        yield client


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("198.51.100.1", {"X_Forwarded_For": "203.0.113.9, 198.51.100.1"}),
        ("198.51.100.2", {"X_Forwarded_For": "198.51.100.2, 10.1.2.3"}),
        ("198.51.100.3", {"X_Forwarded_For": "203.0.113.9,198.51.100.3,10.1.2.3,fd00::7"}),
        ("198.51.100.4", {"X_Forwarded_For": "198.51.100.4:51234"}),
        ("198.51.100.5", {"Forwarded": "for=198.51.100.5"}),
        ("198.51.100.6", {"Forwarded": 'For="198.51.100.6:4711";proto=https;by=10.0.0.1'}),
        ("198.51.100.7", {"Forwarded": "for=203.0.113.9, for=198.51.100.7, for=10.0.0.2"}),
        ("198.51.100.8", {"Forwarded": "for=198.51.100.8", "X_Forwarded_For": "203.0.113.9"}),
        ("2001:db8:1::1", {"Forwarded": 'for="[2001:db8:1::1]:4711"'}),
        ("2001:db8:2::2", {"X_Forwarded_For": "[2001:db8:2::2]"}),
        ("2001:db8:3::3", {"X_Forwarded_For": "2001:DB8:3:0::3"}),
        ("2001:db8:4::1", {"X_Forwarded_For": "2001:db8:4:0:ffff::1"}),
        ("10.9.8.7", {"X_Forwarded_For": "198.51.100.99, unknown, 10.9.8.7"}),
        ("198.51.100.9", {"X_Forwarded_For": "::ffff:198.51.100.9"}),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value.values()),
)
async def test_headers_of_trusted_proxies_name_the_caller(guarded: Client, address: str, headers: dict[str, str]):
    assert await registers(guarded, X_Forwarded_For=address)
    assert not await registers(guarded, **headers)


async def test_what_stands_left_of_the_first_untrusted_address_is_not_believed(guarded: Client):
    assert await registers(guarded, X_Forwarded_For="198.51.100.30")
    assert await registers(guarded, X_Forwarded_For="2001:db8:5:1::1")
    assert await registers(guarded, X_Forwarded_For="2001:db8:5:2::1")
    for spoofed in ("203.0.113.50", "10.0.0.1", "127.0.0.1", "unknown", "'; --"):
        assert not await registers(guarded, X_Forwarded_For=f"{spoofed}, 198.51.100.30")
    assert await registers(guarded, X_Forwarded_For="203.0.113.50")


async def test_without_trusted_proxies_the_headers_mean_nothing(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_REGISTRATIONS_PER_HOUR": "1"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        assert await registers(client, X_Forwarded_For="198.51.100.1")
        assert not await registers(client, X_Forwarded_For="198.51.100.2")
        assert not await registers(client, Forwarded="for=198.51.100.3")
        assert not await registers(client)
