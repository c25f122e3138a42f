"""Users, credentials and sessions (docs/contract.md, "Users, credentials, sessions")."""

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from actors.core import CoreOptions
from actors.sessions.tokens import token_kind
from actors.users import passwords
from actors.users.passwords import HashCost, PasswordHasher
from persistence.store import StoreUnavailable
from tests.support.clock import MovableClock
from tests.support.disk import Disk
from tests.support.gateway import PASSWORD, Client
from tests.support.in_process import commanded
from tests.support.log_ons import OTHER, WRONG, log_on, works
from tests.support.operator import live_actor, on_plan, set_plan

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
    """Return whether a list with a prefix finds a name."""
    lists = {"agent": "AP_List", "domain": "DM_List", "zone": "ZN_List", "bank": "MB_List"}
    return kind in lists and (await owner.command(lists[kind], target={kind: name})).ok().profile != []


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


async def test_more_registrations_at_once_than_may_wait_are_refused_as_overload(tmp_path: Path, unique: str):
    slow = PasswordHasher(threads=1, waiting=16)  # slower than any store, so that they do wait
    async with commanded(tmp_path, hasher=slow) as gateway, gateway.client() as nobody:
        vxs = [{"name": f"{unique}-{number}", "secret": PASSWORD} for number in range(40)]
        answers = await asyncio.gather(*(nobody.command("US_Create", vx=vx) for vx in vxs))
        refused = [answer.refused(5003, 503) for answer in answers if answer.code]
        assert refused
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
        for vx, answer in zip(vxs, answers, strict=True):
            again = await nobody.command("US_Create", vx=vx)  # nothing of a refused one is stored
            assert again.code == (0 if answer.code else 3001)


async def test_registrations_that_were_refused_as_overload_are_not_counted_against_the_address(
    tmp_path: Path, unique: str
):
    slow = PasswordHasher(threads=1, waiting=16)
    options = CoreOptions(registrations_per_hour=40)
    async with commanded(tmp_path, options=options, hasher=slow) as gateway, gateway.client() as nobody:
        numbers = itertools.count()

        async def register() -> int:
            vx = {"name": f"{unique}-{next(numbers)}", "secret": PASSWORD}
            return (await nobody.command("US_Create", vx=vx)).code

        refused = Counter(await asyncio.gather(*(register() for _ in range(40))))[5003]
        assert refused
        assert [await register() for _ in range(refused + 1)] == [*[0] * refused, 4001]


async def test_a_registration_that_could_not_be_stored_is_not_counted_and_a_taken_name_is(tmp_path: Path, disk: Disk):
    options = CoreOptions(registrations_per_hour=2, sandbox_keys=True, sandbox_keys_per_hour=1)
    async with (
        commanded(tmp_path, options=options, before_commit=disk.before_commit) as gateway,
        gateway.client() as nobody,
    ):
        registration = {"name": "lovelace", "secret": PASSWORD}
        disk.fails = lambda: True
        (await nobody.command("US_Create", vx=registration)).refused(5002, 503)
        (await nobody.command("US_Create", vx=registration)).refused(5002, 503)
        with pytest.raises(StoreUnavailable):  # the front door's 5002
            await nobody.request("POST", "/api/dev/sandbox-key")
        disk.fails = lambda: False
        (await nobody.command("US_Create", vx=registration)).ok()
        (await nobody.command("US_Create", vx=registration)).refused(3001, 409)
        (await nobody.command("US_Create", vx=registration | {"name": "babbage"})).refused(4001, 429)
        assert [(await nobody.request("POST", "/api/dev/sandbox-key")).http for _ in range(2)] == [201, 429]


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


@dataclass
class Hashing:
    """The parameters of each hash that the hasher verified, and the number of new hashes."""

    verified: list[str]
    made: int = 0


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    """Count the real hasher's work."""
    counted = Hashing([])
    verify, make = passwords._verify, passwords._hash

    def verified(secret: str, phc: str) -> bool:
        counted.verified.append(phc.rsplit("$", 2)[0])
        return verify(secret, phc)

    def made(secret: str, cost: HashCost) -> str:
        counted.made += 1
        return make(secret, cost)

    monkeypatch.setattr(passwords, "_verify", verified)
    monkeypatch.setattr(passwords, "_hash", made)
    return counted


async def test_an_unknown_user_and_a_wrong_password_are_told_the_same_and_take_the_same_time(
    tmp_path: Path, hashing: Hashing, unique: str
):
    """The time is that of the hashes: each attempt verifies one, of production's cost."""
    async with commanded(tmp_path, hasher=PasswordHasher()) as gateway, gateway.client() as client:
        await client.register(unique)
        notes: list[str] = []
        for _ in range(9):  # the tenth failure would be the last
            for name in (unique, f"{unique}-no-one"):
                hashing.verified.clear()
                hashing.made = 0
                notes.append((await log_on(client, name, WRONG)).refused(2002, 401).note)
                assert (hashing.verified, hashing.made) == (["$argon2id$v=19$m=19456,t=2,p=1"], 0)
        assert len(set(notes)) == 1


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
    assert [session["id"] for session in await sessions_of(other)] == [foreign["id"]]  # also where it is stored


@pytest.mark.parametrize("way", ["US_Revoke", "US_Update", "reset-secret", "suspend"])
async def test_keys_stay_where_the_sessions_of_their_user_end(
    user: Client, sanic_client: Client, unique: str, way: str
):
    other = await on_plan(await sanic_client.register(f"{unique}-other"), "builder")
    await on_plan(user, "builder")
    keys: list[Client] = []
    for each in (user, other):
        made = (await each.request("POST", "/api/api-keys", json={"name": "a key"})).body
        keys.append(each.as_user(made["key"], each.name))
    session = (await sessions_of(other))[0]["id"]
    if way == "US_Revoke":
        (await user.command(way, vx={"name": "all"})).ok()
    elif way == "US_Update":
        (await user.command(way, vx={"secret": f"{PASSWORD} 2"})).ok()
    else:
        assert (await user.request("POST", f"/api/admin/users/{user.name}/{way}")).http == 200
        assert (await user.request("POST", f"/api/admin/users/{user.name}/resume")).http == 200
    for key in keys:
        assert (await key.command("US_Read")).ok().profile[0]["counts"]["api_keys"] == 1
    assert [one["id"] for one in await sessions_of(other)] == [session]


# the lifetime of a session


@pytest.fixture
async def hasty(tmp_path: Path, clock: MovableClock) -> AsyncIterator[Client]:
    """A client of a core whose sessions end after two seconds without use, by a clock that the test moves."""
    options = CoreOptions(registrations_per_hour=0, session_ttl_s=2)
    async with commanded(tmp_path, options=options, clock=clock) as gateway, gateway.client() as client:
        yield client


async def test_a_session_lives_while_it_is_used_and_ends_after_its_ttl_without(
    hasty: Client, clock: MovableClock, unique: str
):
    user, idle = await hasty.register(unique), await hasty.log_on(unique)
    for _ in range(3):
        clock.now += 900
        assert await works(user)
    assert not await works(idle)
    clock.now += 2_100
    assert not await works(user)


async def test_sessions_lists_those_that_live_and_no_other_with_their_last_use(
    hasty: Client, clock: MovableClock, unique: str
):
    user, _idle = await hasty.register(unique), await hasty.log_on(unique)
    for _ in range(3):
        clock.now += 900
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


async def test_a_change_without_a_password_ends_no_session(user: Client):
    other = await user.log_on(user.name)
    (await user.command("US_Update", vx={"description": "d"})).ok()
    assert await works(other)


# US_Destroy


async def test_destroy_needs_the_password(user: Client):
    assert (await user.command("US_Destroy")).refused(1002, 400).note.startswith("missing vx.secret field")
    assert await works(user)


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
    agent = await user.agent(f"{unique}-agent", access="public")
    guest = await sanic_client.register(f"{unique}-guest")
    target = {"agent": f"{unique}-agent"}
    (await guest.command("AP_Chat", target=target, content="Hello")).ok()
    (await user.command("AP_Chat", target=target, content="Hello")).ok()
    assert (await live_actor(user, "agent", agent["id"])).body["state"]["messages"] == 4
    (await guest.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    assert (await user.command("AP_Read")).ok().content[0]["messages"] == 2
    assert (await live_actor(user, "agent", agent["id"])).body["state"]["messages"] == 2
    again = await sanic_client.register(f"{unique}-guest")
    assert (await again.command("AP_History", target=target)).ok().content == []
